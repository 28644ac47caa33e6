#pragma once

#include "Contender.h"
#include "Machine.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// The loads, each a template of the timer: `pair`, `curve`, `expiry`, `far`, `idle`, `late` and
/// `empty`. java/Loads.java has the same ones; what is changed here is changed there.
namespace timingwheel::compare {

namespace loads {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

inline double count(nanoseconds time) { return static_cast<double>(time.count()); }

inline std::vector<nanoseconds> randomDelays(std::size_t n, nanoseconds from, nanoseconds to,
                                             std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::uniform_int_distribution<nanoseconds::rep> between{from.count(), to.count()};
    std::vector<nanoseconds> delays(n);
    for (auto& delay : delays) delay = nanoseconds{between(random)};
    return delays;
}

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

/// A timer and the user's tokens. The tokens go first.
template <TimerAdapter Timer>
struct Filled {
    explicit Filled(Request const& request) : timer{request.tick} {}

    void reserve(std::size_t n) { tokens = std::vector<typename Timer::Token>(n); }

    void fill(std::vector<nanoseconds> delays) {
        if (Timer::kFillInOrder) std::sort(delays.begin(), delays.end());
        for (std::size_t i = 0; i < delays.size(); ++i) {
            timer.schedule(tokens[i], delays[i], {&sink, static_cast<std::uint32_t>(i)});
        }
        timer.settle();
        expectPending(delays.size());
    }

    void expectPending(std::size_t n) const {
        std::size_t const pending = timer.pending();
        if (pending == kUnknown || pending == n) return;
        throw std::runtime_error{std::to_string(pending) + " timers pending instead of " +
                                 std::to_string(n)};
    }

    Sink sink{0};
    Timer timer;
    std::vector<typename Timer::Token> tokens;
};

/// A server's requests: each has a timeout of 30 s that is cancelled when the answer comes; a
/// thousand are under way in each thread. Until the last cancel is done with: what is left to
/// another thread is waited for.
template <TimerAdapter Timer>
Result pair(Request const& request) {
    constexpr std::size_t kUnderWay = 1'000;
    auto const producers = static_cast<std::size_t>(request.threads);
    Filled<Timer> filled{request};
    filled.reserve(producers * kUnderWay);
    filled.fill(std::vector<nanoseconds>(producers * kUnderWay, 30s));

    std::vector<std::size_t> pairs(producers);
    Steady::time_point start;
    std::int64_t cpu = 0;
    std::barrier ready{request.threads, [&]() noexcept {
                           cpu = processCpuNanoseconds();
                           start = Steady::now();
                       }};
    auto const produce = [&](std::size_t producer) {
        auto* const tokens = filled.tokens.data() + producer * kUnderWay;
        std::size_t done = 0;
        ready.arrive_and_wait();
        do {
            for (std::size_t i = 0; i < kUnderWay; ++i) {
                filled.timer.cancel(tokens[i]);
                filled.timer.schedule(tokens[i], 30s, {&filled.sink, 0});
            }
            done += kUnderWay;
        } while (Steady::now() - start < request.budget);
        pairs[producer] = done;
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < producers; ++i) others.emplace_back(produce, i);
    produce(0);
    for (auto& other : others) other.join();
    filled.timer.settle();

    double const elapsed = count(Steady::now() - start);
    double const used = static_cast<double>(processCpuNanoseconds() - cpu);
    filled.expectPending(producers * kUnderWay);
    double sum = 0;
    for (std::size_t const done : pairs) sum += static_cast<double>(done);
    return {
        {"ns", elapsed / sum}, {"cpuNs", used / sum}, {"millionPerSecond", 1e3 * sum / elapsed}};
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

/// Schedules so that all are due within 10 ms, once scheduling is over; false if that took longer.
template <TimerAdapter Timer>
bool fillForExpiry(Filled<Timer>& filled, Sink& sink, Steady::time_point due,
                   Request const& request) {
    auto offsets = randomDelays(request.count, 0ns, 10ms, request.seed);
    if (Timer::kFillInOrder) std::sort(offsets.begin(), offsets.end());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        auto const delay = due + offsets[i] - Steady::now();
        filled.timer.schedule(filled.tokens[i], delay, {&sink, static_cast<std::uint32_t>(i)});
    }
    return Steady::now() < due && sink.count() == 0;
}

/// n timers that expire together: what it costs the timer's threads from the last schedule on,
/// cascades included, and how long it takes from the first deadline to the last task.
template <TimerAdapter Timer>
Result expiry(Request const& request) {
    for (nanoseconds lead = 100ms + request.count * 500ns; lead < 1min; lead *= 2) {
        Sink sink{request.count};
        ThreadWatch const watch;
        Filled<Timer> filled{request};
        filled.reserve(request.count);
        auto const due = Steady::now() + lead;
        if (!fillForExpiry(filled, sink, due, request)) {
            sink.waitForAll(1min);  // it was too slow for that: once more, with more time
            continue;
        }
        auto const before = watch.usage();
        sink.waitForAll(1min);
        auto const used = watch.usage() - before;
        auto const n = static_cast<double>(request.count);
        return {{"ns", count(sink.last() - due) / n},
                {"cpuNs", static_cast<double>(used.cpuNanoseconds) / n}};
    }
    throw std::runtime_error{"scheduling takes longer than a minute"};
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
    Sink sink{request.count, Sink::Record::times};
    Filled<Timer> filled{request};
    filled.reserve(request.count);
    auto const delays = randomDelays(request.count, 10ms, 10ms + request.budget, request.seed);
    std::vector<Steady::time_point> deadlines;
    for (std::size_t i = 0; i < delays.size(); ++i) {
        deadlines.push_back(Steady::now() + delays[i]);
        filled.timer.schedule(filled.tokens[i], delays[i], {&sink, static_cast<std::uint32_t>(i)});
    }
    sink.waitForAll(1min);

    std::vector<double> late;
    for (std::size_t i = 0; i < deadlines.size(); ++i) {
        late.push_back(count(sink.times()[i] - deadlines[i]) / 1e3);
    }
    std::sort(late.begin(), late.end());
    auto const early = std::lower_bound(late.begin(), late.end(), 0.0) - late.begin();
    auto const n = static_cast<double>(late.size());
    return {{"medianUs", late[late.size() / 2]},
            {"p99Us", late[late.size() * 99 / 100]},
            {"maxUs", late.back()},
            {"earlyPercent", 100 * static_cast<double>(early) / n}};
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
        filled.tokens.clear();
        filled.tokens.shrink_to_fit();
    }
    auto const bytes = static_cast<double>(heapBytes() - heap);
    return {{"bytes", bytes / static_cast<double>(request.count)}};
}

}  // namespace loads

/// The contender that an adapter makes.
template <TimerAdapter Timer>
class ContenderOf final : public Contender {
public:
    using Contender::Contender;

    Result run(Request const& request) const override {
        Result const result = measure(request);
        trimHeap();  // so that a contender's leavings are not the next one's burden or luck
        return result;
    }

private:
    static Result measure(Request const& request) {
        if (request.load == "pair") return loads::pair<Timer>(request);
        if (request.load == "curve") return loads::curve<Timer>(request);
        if (request.load == "expiry") return loads::expiry<Timer>(request);
        if (request.load == "far" || request.load == "idle") return loads::far<Timer>(request);
        if (request.load == "late") return loads::late<Timer>(request);
        if (request.load == "empty") return loads::empty<Timer>(request);
        throw std::invalid_argument{"there is no load " + request.load};
    }
};

/// A contender's file has one of these; that is all it takes to be compared.
template <TimerAdapter Timer>
struct Registration {
    explicit Registration(Description const& description) {
        contenders().emplace(description.id, std::make_unique<ContenderOf<Timer>>(description));
    }
};

}  // namespace timingwheel::compare
