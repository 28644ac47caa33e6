#pragma once

#include "TimerAdapter.h"
#include "frame/Contender.h"
#include "frame/Machine.h"

#include <barrier>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// What the loads share: random delays, a timer with its tokens, threads that use it.
namespace timingwheel::bench {

namespace loads {

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

/// A timer and the user's tokens. The tokens go first.
template <TimerAdapter Timer>
struct Filled {
    explicit Filled(Request const& request) : timer{request.tick} {}

    void reserve(std::size_t n) { tokens = std::vector<typename Timer::Token>(n); }

    void fill(std::vector<nanoseconds> const& delays) {
        for (std::size_t i = 0; i < delays.size(); ++i) {
            timer.schedule(tokens[i], delays[i], {&sink, static_cast<std::uint32_t>(i)});
        }
        timer.settle();
        expectPending(delays.size());
    }

    void expectPending([[maybe_unused]] std::size_t n) const {
        if constexpr (requires { timer.pending(); }) {
            std::size_t const pending = timer.pending();
            if (pending == n) return;
            throw std::runtime_error{std::to_string(pending) + " timers pending instead of " +
                                     std::to_string(n)};
        }
    }

    Sink sink{0};
    Timer timer;
    std::vector<typename Timer::Token> tokens;
};

/// The deadline of a pending one is `delay` from now.
template <TimerAdapter Timer>
void pushBack(Filled<Timer>& filled, typename Timer::Token& token, nanoseconds delay) {
    if constexpr (Reschedules<Timer>) {
        filled.timer.reschedule(token, delay);
    } else {
        filled.timer.cancel(token);
        filled.timer.schedule(token, delay, {&filled.sink, 0});
    }
}

/// Numbers that cost next to nothing (xorshift64*).
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_{seed * 0x9E3779B97F4A7C15U | 1} {}

    /// From 0 to n - 1; n below 2^32.
    std::size_t below(std::size_t n) noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return (((state_ * 0x2545F4914F6CDD1DU) >> 32) * n) >> 32;
    }

private:
    std::uint64_t state_;
};

/// Threads that use the timer at once until the budget is spent. Each prepares what is its own,
/// `share(producer)` does some of its work and returns how many operations that was. Until the last
/// one is done with: what is left to another thread is waited for.
///
/// This thread is none of them: what it writes on its stack, where they find the timer, would slow
/// them down.
template <TimerAdapter Timer, std::invocable<std::size_t> Prepare,
          std::invocable<std::size_t> Share>
Result runProducers(Filled<Timer>& filled, Request const& request, Prepare const& prepare,
                    Share const& share) {
    auto const producers = static_cast<std::size_t>(request.threads);
    std::vector<std::size_t> done(producers);
    Steady::time_point start;
    std::int64_t cpu = 0;
    std::barrier ready{request.threads, [&]() noexcept {
                           filled.timer.settle();
                           cpu = processCpuNanoseconds();
                           start = Steady::now();
                       }};
    auto const produce = [&](std::size_t producer) {
        std::size_t operations = 0;
        prepare(producer);
        ready.arrive_and_wait();
        do {
            operations += share(producer);
        } while (Steady::now() - start < request.budget);
        done[producer] = operations;
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i) threads.emplace_back(produce, i);
    for (auto& thread : threads) thread.join();
    filled.timer.settle();

    double const elapsed = count(Steady::now() - start);
    auto const used = static_cast<double>(processCpuNanoseconds() - cpu);
    double sum = 0;
    for (std::size_t const operations : done) sum += static_cast<double>(operations);
    return {{"ns", elapsed / sum}, {"cpuNs", used / sum}};
}

}  // namespace loads

}  // namespace timingwheel::bench
