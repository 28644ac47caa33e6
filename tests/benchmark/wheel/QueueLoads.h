#pragma once

#include "Loads.h"
#include "choosing/Replay.h"
#include "frame/Machine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel::bench {

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

/// All loads of the wheel's benchmark but the far timers. "W2 first" fills a new queue, "W2" one
/// that was full before.
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
    loads.runShort();
    meter.result["peakBytes"] = static_cast<double>(peakBytes());
    return meter.result;
}

/// W5, which does not depend on how many are pending.
template <TimerQueue Queue>
Result measureFar(Request const& request, Script const& script) {
    Request few = request;
    few.count = Script::kFarTimers;
    Queue queue{few};
    Stopwatch meter;
    meter.result["W5 wakeUps"] = Loads<Queue, Stopwatch>{queue, script, meter}.runFar();
    return meter.result;
}

/// The loads that a queue can do: those of the wheel's benchmark; what does not change from round
/// to round, cascades; whether every timer fires once, at its tick; and the scripts of choosing.
template <TimerQueue Queue>
LoadsByName queueLoads(std::int64_t wheelSize = 0) {
    // The script is the same for all wheel sizes.
    auto const with = [wheelSize](auto load) -> Load {
        return [wheelSize, load](Request const& asked) {
            Request request = asked;
            if (wheelSize != 0) request.wheelSize = wheelSize;
            return load(request, scriptOf(asked));
        };
    };
    LoadsByName made{{"wheel", with(measure<Queue>)},
                     {"far", with(measureFar<Queue>)},
                     {"check", with([](Request const& request, Script const& script) {
                          Queue queue{request};
                          Check<Queue>{queue, script}.run();
                          return Result{};
                      })}};
    if constexpr (requires(Queue const& queue) { queue.levels(); }) {
        made["counts"] = with([](Request const& request, Script const& script) {
            Queue queue{request};
            return countCascades(queue, script);
        });
    }
    if constexpr (choosing::Replayable<Queue>) {
        made.merge(choosing::replayLoads<choosing::QueueTimer<Queue>>());
    }
    return made;
}

}  // namespace timingwheel::bench
