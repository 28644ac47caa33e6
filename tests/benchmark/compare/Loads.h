#pragma once

#include "Filled.h"
#include "ServerLoads.h"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

/// The loads, each a template of the timer: `pair`, `curve`, `expiry`, `far`, `idle`, `late` and
/// `empty` here, more in ServerLoads.h. java/Loads.java has `bulk` and those of this file; what is
/// changed here is changed there.
namespace timingwheel::bench {

namespace loads {

/// What is pending before a curve's point is measured.
inline std::vector<nanoseconds> pendingDelays(Request const& request) {
    std::size_t const n = request.count;
    if (request.delays == Delays::same) return std::vector<nanoseconds>(n, 30min);
    auto const from = request.delays == Delays::shorter ? 30min : 1min;
    return randomDelays(n, from, 60min, request.seed);
}

/// What comes and goes while it is measured.
inline std::vector<nanoseconds> freshDelays(std::size_t n, Delays delays, std::uint64_t seed) {
    if (delays == Delays::same) return std::vector<nanoseconds>(n, 30min);
    return randomDelays(n, 1min, delays == Delays::shorter ? 2min : 60min, seed);
}

/// A server's requests: each has a timeout of 30 s that is cancelled when the answer comes; so many
/// are under way in each thread. With one under way it is cancelled as soon as it is scheduled.
template <TimerAdapter Timer>
Result pair(Request const& request) {
    std::size_t const underWay = request.count;
    auto const producers = static_cast<std::size_t>(request.threads);
    Filled<Timer> filled{request};
    filled.reserve(producers * underWay);

    std::size_t const times = std::max<std::size_t>(1'000 / underWay, 1);
    auto const prepare = [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * underWay;
        for (std::size_t i = 0; i < underWay; ++i)
            filled.timer.schedule(tokens[i], 30s, {&filled.sink, 0});
    };
    auto const result = runProducers(filled, request, prepare, [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * underWay;
        for (std::size_t again = 0; again < times; ++again) {
            for (std::size_t i = 0; i < underWay; ++i) {
                filled.timer.cancel(tokens[i]);
                filled.timer.schedule(tokens[i], 30s, {&filled.sink, 0});
            }
        }
        return times * underWay;
    });
    filled.expectPending(producers * underWay);
    return result;
}

/// Schedules and cancels in batches, and times the two apart.
template <TimerAdapter Timer>
class Batches {
public:
    Batches(Filled<Timer>& filled, Request const& request)
        : filled_{filled}, request_{request}, random_{request.seed + 1} {}

    void run(std::size_t size) {
        if (fresh_.size() < size) fresh_ = std::vector<typename Timer::Token>(size);
        auto const delays = freshDelays(size, request_.delays, random_());
        auto const leaving = chooseLeaving(size);
        auto const first = Steady::now();
        for (std::size_t i = 0; i < size; ++i) {
            filled_.timer.schedule(fresh_[i], delays[i], {&filled_.sink, 0});
        }
        auto const second = Steady::now();
        if (request_.delays == Delays::shorter) {
            for (std::size_t i = 0; i < size; ++i) filled_.timer.cancel(fresh_[i]);
        } else {
            for (std::size_t i = 0; i < size; ++i) {
                filled_.timer.cancel(filled_.tokens[leaving[i]]);
                std::swap(filled_.tokens[leaving[i]], fresh_[i]);
            }
        }
        scheduling_ += second - first;
        cancelling_ += Steady::now() - second;
        operations_ += size;
    }

    nanoseconds elapsed() const { return scheduling_ + cancelling_; }

    void forget() {
        scheduling_ = cancelling_ = {};
        operations_ = 0;
    }

    Result result() const {
        auto const n = static_cast<double>(operations_);
        return {{"scheduleNs", count(scheduling_) / n},
                {"cancelNs", count(cancelling_) / n},
                {"ns", count(elapsed()) / n}};
    }

private:
    std::vector<std::size_t> chooseLeaving(std::size_t size) {
        std::uniform_int_distribution<std::size_t> any{0, filled_.tokens.size() - 1};
        std::vector<std::size_t> leaving(size);
        for (auto& index : leaving) index = any(random_);
        return leaving;
    }

    Filled<Timer>& filled_;
    Request const& request_;
    std::mt19937_64 random_;
    std::vector<typename Timer::Token> fresh_;
    nanoseconds scheduling_{};
    nanoseconds cancelling_{};
    std::size_t operations_ = 0;
};

/// With n pending: schedule more, cancel as many. What the caller waits for; what is left to
/// another thread shows in `pair` and `far`.
template <TimerAdapter Timer>
Result curve(Request const& request) {
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    filled.fill(pendingDelays(request));

    Batches<Timer> batches{filled, request};
    auto const start = Steady::now();
    // The first tells how much fits into the budget, and does not count.
    batches.run(1);
    auto const fitting = request.budget / (8 * std::max<nanoseconds>(batches.elapsed(), 1ns));
    auto const largest = std::clamp<std::size_t>(request.count / 4, 1, 256);
    auto const size = std::clamp<std::size_t>(static_cast<std::size_t>(fitting), 1, largest);
    batches.forget();
    do {
        batches.run(size);
    } while (Steady::now() - start < request.budget);
    filled.timer.settle();
    filled.expectPending(request.count);
    return batches.result();
}

/// n timers that expire within 10 ms: what it costs the timer's threads from the last schedule on,
/// cascades included, and how long it takes from the first deadline to the last task.
template <TimerAdapter Timer>
Result expiry(Request const& request) {
    auto const measure = [&](Filled<Timer>&, Sink& sink, ThreadWatch const& watch,
                             Steady::time_point due, auto const&) -> std::optional<Result> {
        auto const before = watch.usage();
        sink.waitForAll(1min);
        auto const used = watch.usage() - before;
        auto const n = static_cast<double>(request.count);
        return Result{{"ns", count(sink.last().time - due) / n},
                      {"cpuNs", static_cast<double>(used.cpuNanoseconds) / n}};
    };
    auto offsets = randomDelays(request.count, 0ns, 10ms, request.seed);
    return onceScheduled<Timer>(request, std::move(offsets), measure);
}

/// n timers about an hour away: what the timer's threads do meanwhile, and memory.
template <TimerAdapter Timer>
Result far(Request const& request) {
    ThreadWatch const watch;
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    std::int64_t const heap = heapBytes();
    filled.fill(randomDelays(request.count, 50min, 70min, request.seed));
    std::this_thread::sleep_for(300ms);
    auto const bytes = static_cast<double>(heapBytes() - heap);

    auto const start = Steady::now();
    auto const before = watch.usage();
    std::this_thread::sleep_for(request.budget);
    auto const used = watch.usage() - before;
    double const seconds = count(Steady::now() - start) / 1e9;
    return {{"bytes", bytes / static_cast<double>(request.count)},
            {"cpuPercent", static_cast<double>(used.cpuNanoseconds) / 1e7 / seconds},
            {"wakeUpsPerSecond", static_cast<double>(used.wakeUps) / seconds}};
}

/// n timers about an hour away: resident memory, stacks included and what is not used of them not.
template <TimerAdapter Timer>
Result resident(Request const& request) {
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    std::int64_t const before = residentBytes();
    filled.fill(randomDelays(request.count, 50min, 70min, request.seed));
    std::this_thread::sleep_for(request.budget);  // until all sleep
    auto const bytes = static_cast<double>(residentBytes() - before);
    return {{"bytes", bytes / static_cast<double>(request.count)}};
}

/// n timers at random times within the budget: how late each is. Nothing else goes on.
template <TimerAdapter Timer>
Result late(Request const& request) {
    Sink sink{request.count, Sink::Record::times};
    ThreadWatch const watch;
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    auto const delays = randomDelays(request.count, 10ms, 10ms + request.budget, request.seed);
    std::vector<Steady::time_point> deadlines;
    auto const start = Steady::now();
    for (std::size_t i = 0; i < delays.size(); ++i) {
        deadlines.push_back(Steady::now() + delays[i]);
        filled.timer.schedule(filled.tokens[i], delays[i], {&sink, static_cast<std::uint32_t>(i)});
    }
    sink.waitForAll(1min);
    auto const usage = watch.usage();
    auto const used = static_cast<double>(usage.cpuNanoseconds);
    double const elapsed = count(Steady::now() - start);

    std::vector<double> late;
    for (std::size_t i = 0; i < deadlines.size(); ++i) {
        late.push_back(count(sink.times()[i] - deadlines[i]) / 1e3);
    }
    std::sort(late.begin(), late.end());
    auto const early = std::lower_bound(late.begin(), late.end(), 0.0) - late.begin();
    auto const n = static_cast<double>(late.size());
    Result result{{"medianUs", late[late.size() / 2]},
                  {"p90Us", late[late.size() * 9 / 10]},
                  {"p99Us", late[late.size() * 99 / 100]},
                  {"p999Us", late[late.size() * 999 / 1'000]},
                  {"maxUs", late.back()},
                  {"earlyPercent", 100 * static_cast<double>(early) / n},
                  {"wakeUps", static_cast<double>(usage.wakeUps) / n},
                  {"cpuNs", used / n},
                  {"cpuPercent", 100 * used / elapsed}};
    if constexpr (requires { filled.timer.cascades(); })
        result["cascades"] = static_cast<double>(filled.timer.cascades()) / n;
    return result;
}

/// What a timer costs before anything is pending: heap after one timeout has come and gone.
/// Of several, because a single small block hides in the allocator's caches.
template <TimerAdapter Timer>
Result empty(Request const& request) {
    std::deque<Filled<Timer>> several;
    std::int64_t const heap = heapBytes();
    for (std::size_t i = 0; i < request.count; ++i) {
        auto& filled = several.emplace_back(request);
        filled.reserve(1);
        filled.fill({1min});
        filled.timer.cancel(filled.tokens[0]);
        filled.timer.settle();
        filled.reserve(0);
    }
    auto const bytes = static_cast<double>(heapBytes() - heap);
    return {{"bytes", bytes / static_cast<double>(request.count)}};
}

}  // namespace loads

/// All loads that a timer can do.
template <TimerAdapter Timer>
LoadsByName timerLoads() {
    LoadsByName made{{"pair", loads::pair<Timer>},
                     {"heartbeat", loads::heartbeat<Timer>},
                     {"answers", loads::answers<Timer>}};
    if constexpr (ReschedulesBatches<Timer>)
        made["heartbeat-batch"] = loads::heartbeatInBatches<Timer>;
    if constexpr (ReplacesBatches<Timer>) made["answers-batch"] = loads::answersInBatches<Timer>;
    if constexpr (std::swappable<typename Timer::Token>) made["curve"] = loads::curve<Timer>;
    if constexpr (Driven<Timer>) {
        made["bulk"] = loads::drivenBulk<Timer>;
    } else {
        made["far"] = made["idle"] = loads::far<Timer>;
        made["late"] = loads::late<Timer>;
        made["empty"] = loads::empty<Timer>;
        if constexpr (HasThreadForEach<Timer>) {
            made["resident"] = loads::resident<Timer>;
        } else {
            made["bulk"] = loads::bulk<Timer>;
            made["expiry"] = loads::expiry<Timer>;
            made["mixed"] = loads::mixed<Timer>;
            made["storm"] = loads::storm<Timer>;
        }
    }
    return made;
}

}  // namespace timingwheel::bench
