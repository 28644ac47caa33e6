#pragma once

#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What tests of HashedWheelTimer share.
namespace timingwheel::test {

/// When a deadline is reached, both counted from the start of the worker: at the next tick after
/// it.
constexpr std::chrono::nanoseconds tickAfter(std::chrono::nanoseconds deadline,
                                             std::chrono::nanoseconds tick) {
    return (deadline / tick + 1) * tick;
}

/// What was reported to a timer's logger.
class TimerLogBook {
public:
    struct Entry {
        TimerLog::Level level;
        std::string timerName;
        std::string message;
    };

    auto logger() {
        return [this](TimerLog const& line) {
            Entry entry{line.level, std::string{line.timerName}, std::string{line.message}};
            std::lock_guard const lock{mutex_};
            entries_.push_back(std::move(entry));
        };
    }
    std::vector<Entry> entries() const {
        std::lock_guard const lock{mutex_};
        return entries_;
    }
    std::size_t count() const { return entries().size(); }
    std::size_t count(TimerLog::Level level) const {
        std::size_t sum = 0;
        for (Entry const& entry : entries()) sum += entry.level == level ? 1 : 0;
        return sum;
    }

private:
    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
};

/// The fixture of tests of one HashedWheelTimer under a clock of type `C`. The timers are local to
/// the tests, and die before what is here.
template <class C>
class OfHashedWheelOn : public testing::Test {
protected:
    HashedWheelTimerOptions options(HashedWheelTimerOptions from = {}) {
        from.clock = clock;
        if (!from.errorHandler) from.errorHandler = failures.handler();
        if (!from.logger) from.logger = log.logger();
        return from;
    }
    /// Since the clock's zero.
    std::chrono::nanoseconds now() const { return clock.now().time_since_epoch(); }

    C clock;
    FailureLog failures;
    TimerLogBook log;
};

using OfHashedWheel = OfHashedWheelOn<ManualClock>;

/// For what ManualClock::advance would wait for: tasks that block, or wait in an executor's queue.
using OfHashedWheelUnderASettableClock = OfHashedWheelOn<SettableClock>;

/// Moves a clock on a thread of its own, for tasks that block meanwhile.
class Mover {
public:
    Mover(ManualClock& clock, Duration duration)
        : thread_{[&clock, duration] { clock.advance(duration); }} {}
    Mover(Mover const&) = delete;
    Mover& operator=(Mover const&) = delete;
    ~Mover() { join(); }

    void join() {
        if (thread_.joinable()) thread_.join();
    }

private:
    std::thread thread_;
};

}  // namespace timingwheel::test
