#pragma once

#include "Script.h"
#include "VirtualTime.h"
#include "frame/Contender.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

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

/// Nanoseconds per operation, of all that was measured under a name. How many operations there were
/// may be known only once the work is done. What reading the clock takes is taken off: a fill of a
/// hundred takes only ten times as long.
class Stopwatch {
public:
    template <class Work>
    void operator()(char const* load, std::size_t const& operations, Work&& work) {
        auto const begin = realTime();
        work();
        auto const taken = realTime() - begin - reading_;
        Sum& sum = sums_[load];
        sum.nanoseconds += static_cast<double>(taken.count());
        sum.operations += static_cast<double>(operations);
        result[load] = sum.nanoseconds / sum.operations;
    }

    Result result;

private:
    struct Sum {
        double nanoseconds = 0;
        double operations = 0;
    };

    static std::chrono::nanoseconds timeOfAReading() {
        std::array<std::chrono::nanoseconds, 1'001> taken{};
        for (auto& one : taken) {
            auto const begin = realTime();
            one = realTime() - begin;
        }
        auto* const median = taken.begin() + taken.size() / 2;
        std::nth_element(taken.begin(), median, taken.end());
        return *median;
    }

    std::chrono::nanoseconds reading_ = timeOfAReading();
    std::map<std::string, Sum> sums_;
};

/// The loads. Nothing is pending before each run and after it, but between runFill and runCore.
template <TimerQueue Queue, class Meter>
class Loads {
public:
    Loads(Queue& queue, Script const& script, Meter& meter)
        : queue_{queue}, script_{script}, meter_{meter} {}

    void runFill(char const* load = "W2") {
        meter_(load, script_.pending(), [&] { fill(); });
    }

    /// After runFill(). What takes a moment with few pending is repeated.
    void runRepeated() {
        std::size_t const pending = script_.pending();
        for (std::size_t left = script_.repeats(); left > 1; --left) {
            meter_("W3b", pending, [&] { expireByJump(pending); });
            meter_("W2", pending, [&] { fillAnew(left); });
        }
        // With few pending most of a minute's ticks find nothing.
        for (std::size_t left = script_.repeats() / 20; left > 0; --left) {
            meter_("W3a", pending, [&] { expireByTick(); });
            fillAnew(left);
        }
    }

    /// After runFill(). The queue is filled again under the name `refill`, or unseen.
    void runCore(char const* refill = nullptr) {
        std::size_t const pending = script_.pending();
        meter_("W1", script_.moves().size(), [&] { rescheduleAll(); });
        meter_("W3a", pending, [&] { expireByTick(); });
        refill != nullptr ? runFill(refill) : fill();
        meter_("W3b", pending, [&] { expireByJump(pending); });
        fill();
        if constexpr (TellsNext<Queue>) meter_("next", kAsked, [&] { askForNext(); });
        meter_("W4", mixedSteps(), [&] { mix(); });
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

    TIMINGWHEEL_ALL_INLINE void fillAnew(std::size_t turn) {
        std::int64_t const now = queue_.now();
        script_.eachFillAnew(turn, [&](std::uint32_t entry, std::uint32_t delay) {
            queue_.schedule(entry, now + delay);
        });
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
    /// Enough for the coarse levels to cascade as well.
    std::size_t mixedSteps() const {
        return std::min(2 * script_.moves().size(),
                        std::max<std::size_t>(20 * script_.pending(), 400'000));
    }

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
        std::size_t const steps = mixedSteps();
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

/// What the user keeps in each timer: in every contender's entries.
using Payload = std::array<std::uint64_t, 2>;

}  // namespace timingwheel::bench
