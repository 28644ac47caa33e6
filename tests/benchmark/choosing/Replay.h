#pragma once

#include "Script.h"
#include "frame/Contender.h"
#include "frame/Machine.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>

namespace timingwheel::bench::choosing {

/// What happened, in the script's time. But for `bytes`, the same each time.
struct Counts {
    std::uint64_t fired = 0;
    /// The most that were pending at a time.
    std::uint64_t pendingMost = 0;
    /// How often a driver that sleeps until there is something to do would have woken.
    std::uint64_t wakeUps = 0;
    /// Entries that were put into another bucket when theirs expired.
    std::uint64_t moves = 0;
    std::uint64_t levels = 0;
    nanoseconds lateSum{};
    nanoseconds lateMost{};
    /// What the timer allocated, its entries not counted.
    std::int64_t bytes = 0;

    void fire(nanoseconds late) noexcept {
        ++fired;
        lateSum += late;
        lateMost = std::max(lateMost, late);
    }
};

/// What is under measurement. Times are those of the script.
template <class Timer>
concept ScriptedTimer =
    std::constructible_from<Timer, Request const&> &&
    requires(Timer timer, std::uint32_t id, nanoseconds time, Counts& counts, std::size_t count) {
        timer.reserve(count);
        timer.begin(id, time, time);     // now, and the delay
        timer.pushBack(id, time, time);  // the same
        timer.cancel(id);
        { timer.next() } -> std::same_as<std::optional<nanoseconds>>;
        timer.advanceTo(time, counts);
    };

/// Plays the script and then goes on until nothing is pending: only the steps of the script and
/// what the timer asked to be woken for happen.
template <ScriptedTimer Timer>
void replay(Script const& script, Timer& timer, Counts& counts) {
    auto const wakeUntil = [&](nanoseconds limit) {
        for (auto next = timer.next(); next && *next <= limit; next = timer.next()) {
            ++counts.wakeUps;
            timer.advanceTo(*next, counts);
        }
    };
    std::uint64_t begun = 0;
    std::uint64_t cancelled = 0;
    for (Step const& step : script.steps) {
        wakeUntil(step.time);
        switch (step.what) {
            case Step::What::begin:
                timer.begin(step.id, step.time, script.delays[step.id]);
                ++begun;
                counts.pendingMost = std::max(counts.pendingMost, begun - cancelled - counts.fired);
                break;
            case Step::What::pushBack:
                timer.pushBack(step.id, step.time, script.delays[step.id]);
                break;
            case Step::What::cancel:
                timer.cancel(step.id);
                ++cancelled;
                break;
        }
    }
    wakeUntil(nanoseconds::max());
    if (counts.fired + cancelled != begun)
        throw std::logic_error{"not all have fired that were not cancelled"};
}

/// All that happened, and the processor time of it. A timer whose counting takes time counts only
/// under the load "replay-counts".
template <ScriptedTimer Timer>
Result play(Request const& request) {
    Script const& script = choosing::scriptOf(request);
    Counts counts;
    std::int64_t const before = heapBytes();
    auto const timer = std::make_unique<Timer>(request);
    std::int64_t const empty = heapBytes();
    timer->reserve(request.count);
    std::int64_t const reserved = heapBytes();

    std::int64_t const start = threadCpuNanoseconds();
    replay(script, *timer, counts);
    std::int64_t const used = threadCpuNanoseconds() - start;

    counts.bytes = empty - before + heapBytes() - reserved;
    if constexpr (requires { timer->readInto(counts); }) timer->readInto(counts);
    auto const number = [](auto value) { return static_cast<double>(value); };
    return {{"cpuNs", number(used) / number(request.count)},
            {"fired", number(counts.fired)},
            {"pendingMost", number(counts.pendingMost)},
            {"wakeUps", number(counts.wakeUps)},
            {"moves", number(counts.moves)},
            {"levels", number(counts.levels)},
            {"lateSumNs", number(counts.lateSum.count())},
            {"lateMostNs", number(counts.lateMost.count())},
            {"bytes", number(counts.bytes)}};
}

template <ScriptedTimer Timer>
LoadsByName replayLoads() {
    return {{"replay", play<Timer>}, {"replay-counts", play<Timer>}};
}

}  // namespace timingwheel::bench::choosing
