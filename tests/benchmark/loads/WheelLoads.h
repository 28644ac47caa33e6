#pragma once

#include "Script.h"
#include "frame/Contender.h"
#include "frame/Machine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace timingwheel::bench {

/// Everything is inlined into a load, for every contender: left to itself the compiler stops when
/// the file has grown by so much, which says nothing about a contender.
#define TIMINGWHEEL_ALL_INLINE [[gnu::flatten, gnu::noinline]]

/// What a contender must offer. Timers are numbered, and told the time: `due(i)`, which may
/// schedule i again, is called for each one when the clock reaches its deadline.
///
/// next() says when to come back, never later than the earliest deadline; negative when nothing
/// waits.
template <class T>
concept TimerQueue = requires(T queue, T const& constant, std::size_t i, std::int64_t tick,
                              void (*due)(std::size_t)) {
    { constant.now() } -> std::same_as<std::int64_t>;
    { constant.next() } -> std::same_as<std::int64_t>;
    queue.schedule(i, tick);
    queue.reschedule(i, tick);
    queue.advanceTo(tick, due);
};

/// What some offer besides: batches, and a later deadline for a timer that is pending. The batches
/// have delays.
template <class T>
concept HasBatches =
    requires(T queue, std::size_t i, std::int64_t tick, std::span<Script::Step const> steps) {
        { queue.now() } -> std::same_as<std::int64_t>;
        queue.reschedule(steps);
        queue.pushBack(i, tick);
        queue.pushBack(steps, tick);
    };

/// Nanoseconds per operation, of all that was measured under a name. How many operations there were
/// may be known only once the work is done. What reading the clock takes is taken off: a fill of a
/// hundred takes only ten times as long.
class Stopwatch {
public:
    template <class Work>
    void operator()(char const* load, std::size_t const& operations, Work&& work) {
        auto const begin = std::chrono::steady_clock::now();
        work();
        auto const taken = std::chrono::steady_clock::now() - begin - reading_;
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
            auto const begin = std::chrono::steady_clock::now();
            one = std::chrono::steady_clock::now() - begin;
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
        meter_("W4", mixedSteps(), [&] { mix(); });
        expireByJump(pending);
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

private:
    /// Enough for the coarse levels to cascade as well.
    std::size_t mixedSteps() const {
        return std::min(2 * script_.moves().size(),
                        std::max<std::size_t>(20 * script_.pending(), 400'000));
    }

    TIMINGWHEEL_ALL_INLINE void expireByTick() {
        std::size_t left = script_.pending();
        while (left > 0) queue_.advanceTo(queue_.now() + 1, [&](std::size_t) { --left; });
    }

    TIMINGWHEEL_ALL_INLINE void expireByJump(std::size_t left) {
        while (left > 0) queue_.advanceTo(queue_.next(), [&](std::size_t) { --left; });
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
            // A counter in memory would be read in each step, behind stores whose addresses come
            // late. Processors then make other loads wait, too, by where their instructions lie.
            for (std::size_t left = 9 * (done - before); left > 0;) {
                std::size_t const count = std::min(left, moves.size() - at);
                for (auto const [entry, delay] : std::span{moves}.subspan(at, count))
                    queue_.reschedule(entry, queue_.now() + delay);
                at = at + count == moves.size() ? 0 : at + count;
                done += count;
                left -= count;
            }
        }
    }

    Queue& queue_;
    Script const& script_;
    Meter& meter_;
};

/// Runs while all are pending. "W5" pushes them back one by one.
template <HasBatches Queue, class Meter>
class Batches {
public:
    Batches(Queue& queue, Script const& script, Meter& meter) : queue_{queue}, script_{script} {
        std::size_t const moves = script.moves().size();
        meter("W1b", moves, [&] { reschedule(); });
        meter("W5", moves, [&] { pushBackEach(); });
        meter("W5b", moves, [&] { pushBack(); });
    }

private:
    TIMINGWHEEL_ALL_INLINE void reschedule() {
        script_.eachBatch(0, [&](auto steps, std::int64_t) { queue_.reschedule(steps); });
    }
    TIMINGWHEEL_ALL_INLINE void pushBackEach() {
        script_.eachBatch(1, [&](auto steps, std::int64_t delay) {
            for (Script::Step const& step : steps)
                queue_.pushBack(step.entry, queue_.now() + delay);
        });
    }
    TIMINGWHEEL_ALL_INLINE void pushBack() {
        script_.eachBatch(2, [&](auto steps, std::int64_t delay) {
            queue_.pushBack(steps, queue_.now() + delay);
        });
    }

    Queue& queue_;
    Script const& script_;
};

/// What the user keeps in each timer: in every contender's entries.
using Payload = std::array<std::uint64_t, 2>;

/// All loads of the wheel alone. "W2 first" fills a new queue, "W2" one that was full before.
template <TimerQueue Queue>
Result measure(Request const& request, Script const& script) {
    Stopwatch meter;
    std::int64_t const before = heapBytes();
    Queue queue{request};
    Loads<Queue, Stopwatch> loads{queue, script, meter};
    loads.runFill("W2 first");
    // W6: everything allocated for a pending timer, with what the user keeps of it.
    auto const bytes = static_cast<double>(heapBytes() - before);
    meter.result["W6"] = bytes / static_cast<double>(script.pending());
    loads.runRepeated();
    loads.runCore("W2");
    if constexpr (HasBatches<Queue>) {
        loads.fill();
        Batches{queue, script, meter};
    }
    return meter.result;
}

template <TimerQueue Queue>
LoadsByName queueLoads(std::int64_t wheelSize = 0) {
    return {{"wheel", [wheelSize](Request const& asked) {
                 Request request = asked;
                 if (wheelSize != 0) request.wheelSize = wheelSize;
                 return measure<Queue>(request, scriptOf(asked));
             }}};
}

}  // namespace timingwheel::bench
