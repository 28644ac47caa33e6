#pragma once

#include "Filled.h"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

/// The loads, each a template of the timer. java/own/Loads.java has all but `heartbeat`: change it
/// with this file.
namespace timingwheel::bench {

namespace loads {

/// What is pending before a curve's point is measured.
inline std::vector<nanoseconds> pendingDelays(Request const& request) {
    auto const from = request.delays == Delays::shorter ? 30min : 1min;
    return randomDelays(request.count, from, 60min, request.seed);
}

/// What comes and goes while it is measured.
inline std::vector<nanoseconds> freshDelays(std::size_t n, Delays delays, std::uint64_t seed) {
    return randomDelays(n, 1min, delays == Delays::shorter ? 2min : 60min, seed);
}

/// A server's requests: each has a timeout of 30 s that is cancelled when the answer comes; so many
/// are under way in each thread.
template <TimerAdapter Timer>
Result pair(Request const& request) {
    std::size_t const underWay = request.count;
    auto const producers = static_cast<std::size_t>(request.threads);
    Filled<Timer> filled{request};
    filled.reserve(producers * underWay);

    auto const prepare = [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * underWay;
        for (std::size_t i = 0; i < underWay; ++i)
            filled.timer.schedule(tokens[i], 30s, {&filled.sink, 0});
    };
    auto const result = runProducers(filled, request, prepare, [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * underWay;
        for (std::size_t i = 0; i < underWay; ++i) {
            filled.timer.cancel(tokens[i]);
            filled.timer.schedule(tokens[i], 30s, {&filled.sink, 0});
        }
        return underWay;
    });
    filled.expectPending(producers * underWay);
    return result;
}

/// n connections, each with an idle timeout of 30 s. A packet pushes that of a random one back. A
/// connection belongs to one thread.
template <TimerAdapter Timer>
Result heartbeat(Request const& request) {
    constexpr std::size_t kBatch = 1'024;
    auto const producers = static_cast<std::size_t>(request.threads);
    std::size_t const share = request.count / producers;
    Filled<Timer> filled{request};
    filled.reserve(request.count);

    std::vector<Random> states;
    for (std::size_t i = 0; i < producers; ++i) states.emplace_back(request.seed + i);
    auto const prepare = [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * share;
        for (std::size_t i = 0; i < share; ++i)
            filled.timer.schedule(tokens[i], 30s, {&filled.sink, 0});
    };
    auto const result = runProducers(filled, request, prepare, [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * share;
        Random random = states[producer];
        for (std::size_t i = 0; i < kBatch; ++i) pushBack(filled, tokens[random.below(share)], 30s);
        states[producer] = random;
        return kBatch;
    });
    filled.expectPending(producers * share);
    return result;
}

/// Schedules and cancels so many at a time that reading the clock costs nothing.
template <TimerAdapter Timer>
class Turnover {
public:
    Turnover(Filled<Timer>& filled, Request const& request)
        : filled_{filled}, request_{request}, random_{request.seed + 1} {}

    void run(std::size_t size) {
        if (fresh_.size() < size) fresh_ = std::vector<Token>(size);
        auto const delays = freshDelays(size, request_.delays, random_());
        auto const leaving = chooseLeaving(size);
        auto const first = Steady::now();
        if constexpr (TakesBatches<Timer>)
            runTogether(delays, leaving);
        else if (request_.delays == Delays::shorter)
            comeAndGo(delays);
        else if constexpr (std::swappable<Token>)
            replace(delays, leaving);
        else
            renew(delays, leaving);
        elapsed_ += Steady::now() - first;
        operations_ += size;
    }

    nanoseconds elapsed() const { return elapsed_; }

    void forget() {
        elapsed_ = {};
        operations_ = 0;
    }

    Result result() const {
        auto const n = static_cast<double>(operations_);
        return {{"ns", count(elapsed_) / n}};
    }

private:
    using Token = typename Timer::Token;
    using Tokens = std::vector<Token*>;
    using Times = std::vector<nanoseconds>;

    Tokens chooseLeaving(std::size_t size) {
        std::uniform_int_distribution<std::size_t> any{0, filled_.tokens.size() - 1};
        Tokens leaving(size);
        for (auto& token : leaving) token = &filled_.tokens[any(random_)];
        return leaving;
    }

    void comeAndGo(Times const& delays) {
        for (std::size_t i = 0; i < delays.size(); ++i) schedule(fresh_[i], delays[i]);
        for (std::size_t i = 0; i < delays.size(); ++i) filled_.timer.cancel(fresh_[i]);
    }
    /// New ones come, and pending ones leave.
    void replace(Times const& delays, Tokens const& leaving) {
        for (std::size_t i = 0; i < delays.size(); ++i) schedule(fresh_[i], delays[i]);
        for (std::size_t i = 0; i < delays.size(); ++i) {
            filled_.timer.cancel(*leaving[i]);
            std::swap(*leaving[i], fresh_[i]);
        }
    }
    /// Pending ones leave and come again, where a token cannot change places.
    void renew(Times const& delays, Tokens const& leaving) {
        for (std::size_t i = 0; i < delays.size(); ++i) {
            filled_.timer.cancel(*leaving[i]);
            schedule(*leaving[i], delays[i]);
        }
    }
    /// The same, by 32 with one delay.
    void runTogether(Times const& delays, Tokens leaving) {
        bool const isShorter = request_.delays == Delays::shorter;
        for (std::size_t i = 0; isShorter && i < leaving.size(); ++i) leaving[i] = &fresh_[i];
        for (std::size_t i = 0; i < leaving.size(); i += 32) {
            std::span const some{leaving.data() + i, std::min<std::size_t>(32, leaving.size() - i)};
            if (!isShorter) filled_.timer.cancel(some);
            filled_.timer.schedule(some, delays[i], {&filled_.sink, 0});
            if (isShorter) filled_.timer.cancel(some);
        }
    }
    void schedule(Token& token, nanoseconds delay) {
        filled_.timer.schedule(token, delay, {&filled_.sink, 0});
    }

    Filled<Timer>& filled_;
    Request const& request_;
    std::mt19937_64 random_;
    std::vector<Token> fresh_;
    nanoseconds elapsed_{};
    std::size_t operations_ = 0;
};

/// With n pending: schedule more, cancel as many. What the caller waits for; what is left to
/// another thread shows in `pair` and `far`.
template <TimerAdapter Timer>
Result curve(Request const& request) {
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    filled.fill(pendingDelays(request));

    Turnover<Timer> turnover{filled, request};
    auto const start = Steady::now();
    // The first tells how much fits into the budget, and does not count.
    turnover.run(1);
    auto const fitting = request.budget / (8 * std::max<nanoseconds>(turnover.elapsed(), 1ns));
    auto const largest = std::clamp<std::size_t>(request.count / 4, 1, 256);
    auto const size = std::clamp<std::size_t>(static_cast<std::size_t>(fitting), 1, largest);
    turnover.forget();
    do {
        turnover.run(size);
    } while (Steady::now() - start < request.budget);
    filled.timer.settle();
    filled.expectPending(request.count);
    return turnover.result();
}

/// n timers that expire within `spread`, while this thread does `meanwhile(filled, sink)`: what it
/// costs the timer's threads from the last schedule on, cascades included. If scheduling took
/// longer than there was time, all of it again, with more.
template <TimerAdapter Timer, class Meanwhile>
Result expire(Request const& request, nanoseconds spread, Meanwhile const& meanwhile) {
    auto const offsets = randomDelays(request.count, 0ns, spread, request.seed);
    for (nanoseconds lead = 100ms + request.count * 500ns; lead < 1min; lead *= 2) {
        Sink sink{request.count};
        ThreadWatch const watch;
        Filled<Timer> filled{request};
        filled.reserve(request.count + 1);
        auto const due = Steady::now() + lead;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            auto const delay = due + offsets[i] - Steady::now();
            filled.timer.schedule(filled.tokens[i], delay, {&sink, static_cast<std::uint32_t>(i)});
        }
        bool const isInTime = Steady::now() < due && sink.count() == 0;
        auto const before = watch.usage();
        Result result = meanwhile(filled, sink);
        sink.waitForAll(1min);
        auto const used = watch.usage() - before;
        result["cpuNs"] =
            static_cast<double>(used.cpuNanoseconds) / static_cast<double>(request.count);
        if (isInTime) return result;
    }
    throw std::runtime_error{"scheduling takes longer than a minute"};
}

template <TimerAdapter Timer>
Result expiry(Request const& request) {
    return expire<Timer>(request, 10ms, [](auto&, auto&) { return Result{}; });
}

/// The same with one deadline for all.
template <TimerAdapter Timer>
Result burst(Request const& request) {
    return expire<Timer>(request, 0ns, [](auto&, auto&) { return Result{}; });
}

/// The same, and how long a schedule takes meanwhile.
template <TimerAdapter Timer>
Result storm(Request const& request) {
    return expire<Timer>(request, 0ns, [&](Filled<Timer>& filled, Sink const& sink) {
        std::vector<double> took;
        took.reserve(10'000'000);
        auto& token = filled.tokens.back();
        while (sink.count() == 0) {
        }
        do {
            auto const start = Steady::now();
            filled.timer.schedule(token, 1h, {&filled.sink, 0});
            took.push_back(count(Steady::now() - start) / 1e3);
            filled.timer.cancel(token);
        } while (sink.count() < request.count && took.size() < took.capacity());
        std::sort(took.begin(), took.end());
        return Result{{"p99Us", took[took.size() * 99 / 100]},
                      {"p999Us", took[took.size() * 999 / 1'000]}};
    });
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

/// n timers at random times within the budget: how late each is. Nothing else goes on.
template <TimerAdapter Timer>
Result late(Request const& request) {
    Sink sink{request.count, true};
    ThreadWatch const watch;
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    auto const delays = randomDelays(request.count, 10ms, 10ms + request.budget, request.seed);
    std::vector<Steady::time_point> deadlines;
    for (std::size_t i = 0; i < delays.size(); ++i) {
        deadlines.push_back(Steady::now() + delays[i]);
        filled.timer.schedule(filled.tokens[i], delays[i], {&sink, static_cast<std::uint32_t>(i)});
    }
    sink.waitForAll(1min);
    auto const usage = watch.usage();
    auto const used = static_cast<double>(usage.cpuNanoseconds);

    std::vector<double> late;
    for (std::size_t i = 0; i < deadlines.size(); ++i) {
        late.push_back(count(sink.times()[i] - deadlines[i]) / 1e3);
    }
    std::sort(late.begin(), late.end());
    auto const early = std::lower_bound(late.begin(), late.end(), 0.0) - late.begin();
    auto const n = static_cast<double>(late.size());
    return {{"medianUs", late[late.size() / 2]},
            {"p99Us", late[late.size() * 99 / 100]},
            {"earlyPercent", 100 * static_cast<double>(early) / n},
            {"wakeUps", static_cast<double>(usage.wakeUps) / n},
            {"cpuNs", used / n}};
}

}  // namespace loads

template <TimerAdapter Timer>
LoadsByName timerLoads() {
    return {{"pair", loads::pair<Timer>},   {"heartbeat", loads::heartbeat<Timer>},
            {"curve", loads::curve<Timer>}, {"expiry", loads::expiry<Timer>},
            {"burst", loads::burst<Timer>}, {"storm", loads::storm<Timer>},
            {"far", loads::far<Timer>},     {"idle", loads::far<Timer>},
            {"late", loads::late<Timer>}};
}

}  // namespace timingwheel::bench
