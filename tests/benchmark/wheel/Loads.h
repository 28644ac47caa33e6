#pragma once

#include "Contender.h"
#include "Script.h"
#include "VirtualTime.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace timingwheel::bench {

/// Everything is inlined into a load, for every contender: left to itself the compiler stops when
/// the file has grown by so much, which says nothing about a contender.
#define TIMINGWHEEL_ALL_INLINE [[gnu::flatten, gnu::noinline]]

/// What a contender must offer. Timers are numbered, and told the time: `due(i)`, which may
/// schedule i again, is called for each one when the clock reaches its deadline.
///
///     next()          if it can tell: when to come back, never later than the earliest deadline;
///                     negative when nothing waits
///     jump(due)       instead of next(): moves on to where it would wake up by itself
///     lateness(delay) if it may be late: by how much, at most
template <class T>
concept TimerQueue = requires(T queue, T const& constant, std::size_t i, std::int64_t tick,
                              void (*due)(std::size_t)) {
    { constant.now() } -> std::same_as<std::int64_t>;
    queue.schedule(i, tick);
    queue.reschedule(i, tick);
    queue.advanceTo(tick, due);
};

template <class T>
concept TellsNext = requires(T const& queue) {
    { queue.next() } -> std::same_as<std::int64_t>;
};

/// Nanoseconds per operation. How many there were may be known only once the work is done.
class Stopwatch {
public:
    template <class Work>
    void operator()(char const* load, std::size_t const& operations, Work&& work) {
        auto const begin = realTime();
        work();
        auto const taken = realTime() - begin;
        result[load] = static_cast<double>(taken.count()) / static_cast<double>(operations);
    }

    Result result;
};

/// Bytes that malloc has handed out, its own headers included.
inline double heapBytes() {
    struct mallinfo2 const info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

/// The loads. Nothing is pending before each run and after it, but between runFill and runCore.
template <TimerQueue Queue, class Meter>
class Loads {
public:
    Loads(Queue& queue, Script const& script, Meter& meter)
        : queue_{queue}, script_{script}, meter_{meter} {}

    void runFill() {
        meter_("W2", script_.pending(), [&] { fill(); });
    }

    /// After runFill().
    void runCore() {
        std::size_t const pending = script_.pending();
        meter_("W1", script_.moves().size(), [&] { rescheduleAll(); });
        meter_("W3a", pending, [&] { expireByTick(); });
        fill();
        meter_("W3b", pending, [&] { expireByJump(pending); });
        fill();
        if constexpr (TellsNext<Queue>) meter_("next", kAsked, [&] { askForNext(); });
        meter_("W4", kMixedPasses * script_.moves().size(), [&] { mix(); });
        expireByJump(pending);
    }

    void runShort() {
        std::size_t next = 0;
        auto const& delays = script_.shortDelays();
        std::int64_t const now = queue_.now();
        script_.eachFill([&](std::uint32_t entry, std::uint32_t) {
            queue_.schedule(entry, now + delays[next++ % delays.size()]);
        });
        std::size_t done = 0;
        meter_("W7", done, [&] { keepScheduling(done); });
        expireByJump(script_.pending());
    }

    /// W5. Wake-ups are moves to another expiration.
    double runFar() {
        std::size_t const operations = script_.farDelays().size();
        std::size_t wakeUps = 0;
        auto delay = script_.farDelays().begin();
        auto const fillFar = [&] {
            std::int64_t const now = queue_.now();
            for (std::size_t i = 0; i < Script::kFarTimers; ++i) queue_.schedule(i, now + *delay++);
        };
        fillFar();
        if constexpr (TellsNext<Queue>) meter_("W5 next", kAsked, [&] { askForNext(); });
        expireByJump(Script::kFarTimers);
        delay = script_.farDelays().begin();
        meter_("W5", operations, [&] {
            while (delay != script_.farDelays().end()) {
                fillFar();
                wakeUps += expireByJump(Script::kFarTimers);
            }
        });
        return static_cast<double>(wakeUps) / static_cast<double>(operations);
    }

    TIMINGWHEEL_ALL_INLINE void fill() {
        std::int64_t const now = queue_.now();
        script_.eachFill(
            [&](std::uint32_t entry, std::uint32_t delay) { queue_.schedule(entry, now + delay); });
    }

    TIMINGWHEEL_ALL_INLINE void rescheduleAll() {
        std::int64_t const now = queue_.now();
        for (auto const [entry, delay] : script_.moves()) queue_.reschedule(entry, now + delay);
    }

    /// Moves on to where the queue wants to wake up.
    template <class Due>
    void jump(Due&& due) {
        if constexpr (TellsNext<Queue>) {
            queue_.advanceTo(queue_.next(), due);
        } else {
            queue_.jump(due);
        }
    }

private:
    static constexpr std::size_t kAsked = 10'000;
    // Enough for the coarse levels to cascade as well.
    static constexpr std::size_t kMixedPasses = 2;

    TIMINGWHEEL_ALL_INLINE void expireByTick() {
        std::size_t left = script_.pending();
        while (left > 0) queue_.advanceTo(queue_.now() + 1, [&](std::size_t) { --left; });
    }

    /// Returns how often it woke up.
    TIMINGWHEEL_ALL_INLINE std::size_t expireByJump(std::size_t left) {
        std::size_t wakeUps = 0;
        while (left > 0) {
            jump([&](std::size_t) { --left; });
            ++wakeUps;
        }
        return wakeUps;
    }

    TIMINGWHEEL_ALL_INLINE void askForNext() {
        for (std::size_t i = 0; i < kAsked; ++i) {
            std::int64_t next = queue_.next();
            asm volatile("" : "+r"(next) : : "memory");
        }
    }

    /// Of ten steps one is an expiry, after which its entry is scheduled again; nine reschedule.
    TIMINGWHEEL_ALL_INLINE void mix() {
        auto const& moves = script_.moves();
        std::size_t const steps = kMixedPasses * moves.size();
        std::size_t done = 0;
        std::size_t at = 0;
        auto const next = [&] {
            Script::Step const step = moves[at];
            if (++at == moves.size()) at = 0;
            ++done;
            return step;
        };
        while (done < steps) {
            std::size_t const before = done;
            queue_.advanceTo(queue_.now() + 1, [&](std::size_t entry) {
                queue_.schedule(entry, queue_.now() + next().delay);
            });
            for (std::size_t left = 9 * (done - before); left > 0; --left) {
                Script::Step const step = next();
                queue_.reschedule(step.entry, queue_.now() + step.delay);
            }
        }
    }

    /// Whatever expires is scheduled again within a turn of the finest level.
    TIMINGWHEEL_ALL_INLINE void keepScheduling(std::size_t& done) {
        auto const& delays = script_.shortDelays();
        while (done < delays.size())
            queue_.advanceTo(queue_.now() + 1, [&](std::size_t entry) {
                queue_.schedule(entry, queue_.now() + delays[done++ % delays.size()]);
            });
    }

    Queue& queue_;
    Script const& script_;
    Meter& meter_;
};

/// That each timer fires once, neither early nor later than it may.
template <TimerQueue Queue>
class Check {
public:
    Check(Queue& queue, Script const& script)
        : queue_{queue},
          script_{script},
          loads_{queue, script, meter_},
          timers_(script.pending()) {}

    void run() {
        for (bool const jumps : {false, true}) {
            schedule();
            std::int64_t const end = queue_.now() + 2 * Script::kFarthest;
            std::size_t left = timers_.size();
            auto const due = [&](std::size_t i) {
                expectDue(i);
                --left;
            };
            while (left > 0) {
                if (queue_.now() > end)
                    throw std::runtime_error{std::to_string(left) + " timers have not fired"};
                if (jumps) {
                    loads_.jump(due);
                } else {
                    queue_.advanceTo(queue_.now() + 1, due);
                }
            }
            // Whatever fires now has fired before.
            queue_.advanceTo(end, due);
        }
    }

private:
    struct Timer {
        std::int64_t deadline = 0;
        std::int64_t latest = 0;
        bool isPending = false;
    };

    void schedule() {
        std::int64_t const now = queue_.now();
        script_.eachFill([&](std::uint32_t i, std::uint32_t delay) {
            queue_.schedule(i, now + delay);
            expect(i, now, delay);
        });
        for (auto const [i, delay] : script_.moves()) {
            queue_.reschedule(i, now + delay);
            expect(i, now, delay);
        }
    }

    void expect(std::size_t i, std::int64_t now, std::int64_t delay) {
        std::int64_t lateness = 0;
        if constexpr (requires { queue_.lateness(delay); }) lateness = queue_.lateness(delay);
        timers_[i] = {now + delay, now + delay + lateness, true};
    }

    void expectDue(std::size_t i) {
        Timer& timer = timers_.at(i);
        std::int64_t const now = queue_.now();
        if (!timer.isPending || now < timer.deadline || now > timer.latest)
            throw std::runtime_error{
                "timer " + std::to_string(i) + ", due at " + std::to_string(timer.deadline) +
                (timer.isPending ? ", fires at " : ", fires again at ") + std::to_string(now)};
        timer.isPending = false;
    }

    Queue& queue_;
    Script const& script_;
    Stopwatch meter_;
    Loads<Queue, Stopwatch> loads_;
    std::vector<Timer> timers_;
};

/// How often timers move down a level: for queues that have levels.
template <class Queue>
Result countCascades(Queue& queue, Script const& script) {
    Stopwatch meter;
    Loads<Queue, Stopwatch> loads{queue, script, meter};
    Result result;
    std::vector<std::uint32_t> cascades(script.pending());
    std::size_t left = 0;
    std::size_t wakeUps = 0;
    auto const expire = [&] {
        while (left > 0) {
            queue.advanceCounting(
                queue.next(), [&](std::size_t) { --left; }, [&](std::size_t i) { ++cascades[i]; });
            ++wakeUps;
        }
    };
    auto const report = [&](std::string const& load, std::size_t timers) {
        auto const sum = std::accumulate(cascades.begin(), cascades.end(), std::uint64_t{0});
        auto const n = static_cast<double>(timers);
        result[load + " cascades"] = static_cast<double>(sum) / n;
        result[load + " wakeUps"] = static_cast<double>(wakeUps) / n;
        result[load + " most"] = *std::max_element(cascades.begin(), cascades.end());
        result[load + " levels"] = static_cast<double>(queue.levels());
        std::fill(cascades.begin(), cascades.end(), 0U);
        wakeUps = 0;
    };

    loads.fill();
    left = script.pending();
    expire();
    report("W3", script.pending());

    auto const now = queue.now();
    left = std::min(Script::kFarTimers, script.pending());
    std::size_t const far = left;
    for (std::size_t i = 0; i < far; ++i) queue.schedule(i, now + script.farDelays()[i]);
    expire();
    report("W5", far);
    return result;
}

/// The contender that a queue makes. `Make` makes one for the settings.
template <class Make>
class ContenderOf final : public Contender {
public:
    ContenderOf(Description description, Make make)
        : Contender{std::move(description)}, make_{make} {}

    Result measure(Settings const& settings, Script const& script) const override {
        Stopwatch meter;
        {
            double const before = heapBytes();
            Queue queue = make_(settings);
            Loads<Queue, Stopwatch> loads{queue, script, meter};
            loads.runFill();
            // W6: everything allocated for a pending timer, with what the user keeps of it.
            double const bytes = heapBytes() - before;
            meter.result["W6"] = bytes / static_cast<double>(script.pending());
            loads.runCore();
            loads.runShort();
        }
        {
            Settings few = settings;
            few.pending = Script::kFarTimers;
            Queue queue = make_(few);
            meter.result["W5 wakeUps"] = Loads<Queue, Stopwatch>{queue, script, meter}.runFar();
        }
        malloc_trim(0);  // so that a contender's leavings are not the next one's burden or luck
        return meter.result;
    }

    Result count(Settings const& settings, Script const& script) const override {
        Queue queue = make_(settings);
        if constexpr (requires { queue.levels(); }) {
            return countCascades(queue, script);
        } else {
            return {};
        }
    }

    void check(Settings const& settings, Script const& script) const override {
        Queue queue = make_(settings);
        Check<Queue>{queue, script}.run();
    }

private:
    using Queue = std::invoke_result_t<Make const&, Settings const&>;

    Make make_;
};

/// A contender's file has one of these; that is all it takes to be compared.
struct Registration {
    template <class Make>
    Registration(Description const& description, Make make) {
        contenders().emplace(description.id,
                             std::make_unique<ContenderOf<Make>>(description, make));
    }
};

/// What the user keeps in each timer: in every contender's entries.
using Payload = std::array<std::uint64_t, 2>;

/// Calls a function object from a callback of a C library.
class Callback {
public:
    template <class Due>
    void set(Due& due) noexcept {
        due_ = const_cast<void*>(static_cast<void const*>(&due));
        call_ = [](void* target, std::size_t i) { (*static_cast<Due*>(target))(i); };
    }
    void operator()(std::size_t i) const { call_(due_, i); }

private:
    void* due_ = nullptr;
    void (*call_)(void*, std::size_t) = nullptr;
};

}  // namespace timingwheel::bench
