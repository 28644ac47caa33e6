#pragma once

#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/Timer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

/// Timers of every kind, behind the interface that they have in common.
namespace timingwheel::test {

/// The options that all of them have.
struct CommonOptions {
    Duration tick = std::chrono::milliseconds{1};
    /// Of the wheel, or of each level: a power of two.
    std::int64_t slots = 8;
    std::string name = "timingwheel";
    std::size_t maxPendingTimeouts = 0;
};

/// The fixture of what all timers promise. A timer is made with its wheel at the clock's now.
///
/// They differ in one point of time: a HashedWheelTimer, which is flat, runs a task at the next
/// tick *after* its deadline, the others at the first that is not before it. So the tests here use
/// deadlines between two ticks where they want the same instant for all.
template <class T>
class OfAllTimers : public testing::Test {
protected:
    static constexpr bool kIsFlat = std::is_same_v<T, HashedWheelTimer>;
    static constexpr bool kHasThread = kIsFlat || std::is_same_v<T, SystemTimer>;

    std::unique_ptr<Timer> make(CommonOptions const& from = {}) {
        if constexpr (kIsFlat) {
            auto timer = std::make_unique<HashedWheelTimer>(
                HashedWheelTimerOptions{.tick = from.tick,
                                        .ticksPerWheel = from.slots,
                                        .name = from.name,
                                        .clock = clock,
                                        .maxPendingTimeouts = from.maxPendingTimeouts,
                                        .leakDetection = false,
                                        .errorHandler = failures.handler()});
            timer->start();
            return timer;
        } else {
            return std::make_unique<T>(TimerOptions{.tick = from.tick,
                                                    .wheelSize = from.slots,
                                                    .name = from.name,
                                                    .clock = clock,
                                                    .maxPendingTimeouts = from.maxPendingTimeouts,
                                                    .errorHandler = failures.handler()});
        }
    }

    /// When a deadline is reached, both counted from when the timer was made.
    static std::chrono::nanoseconds reached(std::chrono::nanoseconds deadline,
                                            std::chrono::nanoseconds tick) {
        auto const before = deadline / tick * tick;
        return !kIsFlat && before == deadline ? before : before + tick;
    }

    std::chrono::nanoseconds now() const { return clock.now().time_since_epoch(); }
    static TimerStatistics statistics(Timer const& timer) {
        return static_cast<T const&>(timer).statistics();
    }
    static void check(Timer const& timer) {
        if constexpr (!kIsFlat) static_cast<T const&>(timer).checkInvariants();
    }

    ManualClock clock;
    FailureLog failures;
};

using AllTimers = testing::Types<SystemTimer, HashedWheelTimer, LoopTimer, ManualTimer>;
using TimersWithAThread = testing::Types<SystemTimer, HashedWheelTimer>;

struct NamesOfAllTimers {
    template <class T>
    static std::string GetName(int) {
        if constexpr (std::is_same_v<T, SystemTimer>) return "SystemTimer";
        if constexpr (std::is_same_v<T, HashedWheelTimer>) return "HashedWheelTimer";
        if constexpr (std::is_same_v<T, ManualTimer>) return "ManualTimer";
        return "LoopTimer";
    }
};

}  // namespace timingwheel::test
