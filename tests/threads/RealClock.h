#pragma once

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Threads.h>
#include <timingwheel/Timer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Lateness on the real clock.
namespace timingwheel::test {

/// Timeouts at random times of a tenth of a second, or of two: guarantees G1 and G2. `who` names
/// the timer.
inline void measureLateness(Timer& timer, std::string const& who, std::uint64_t seed) {
    using std::chrono::nanoseconds;
    std::size_t const count = rounds(5'000, 100'000);
    nanoseconds const window = std::chrono::milliseconds{effort(100, 2'000)};
    std::vector<nanoseconds> lateness;  // the tasks run on one thread
    lateness.reserve(count);
    std::mt19937_64 random{seed};
    std::uniform_int_distribution<std::int64_t> delay{0, window.count()};
    for (std::size_t i = 0; i < count; ++i) {
        nanoseconds const after{delay(random)};
        auto const due = std::chrono::steady_clock::now() + after;
        timer.newTimeout(
            [&lateness, due] { lateness.push_back(std::chrono::steady_clock::now() - due); },
            after);
    }
    waitUntil([&] { return timer.pendingTimeouts() == 0; });
    static_cast<void>(timer.stop());
    ASSERT_EQ(lateness.size(), count);
    Of const all{count, 100'000};
    auto const early = std::count_if(lateness.begin(), lateness.end(),
                                     [](nanoseconds late) { return late.count() < 0; });
    figure("G1", "early on the real clock, " + who, early, exactly(0), all);
    auto const microseconds = [&](double part) {
        return static_cast<double>(quantile(lateness, part).count()) / 1'000;
    };
    figure("G1", "least lateness on the real clock, us, " + who, microseconds(0), atLeast(0), all);
    figure("G2", "lateness p50, us, " + who, microseconds(0.5), noBound(), all);
    figure("G2", "lateness p99, us, " + who, microseconds(0.99), noBound(), all);
    figure("G2", "lateness at most, us, " + who, microseconds(1), noBound(), all);
}

}  // namespace timingwheel::test
