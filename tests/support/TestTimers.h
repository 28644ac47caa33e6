#pragma once

#include <support/Effort.h>
#include <support/Executors.h>
#include <support/Figure.h>
#include <support/Waiters.h>
#include <timingwheel/Clock.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerOptions.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// What tests of timers share: clocks, executors and logs that are under the test's control.
namespace timingwheel::test {

/// One line of figures for people, in one form for all tests.
template <class... Values>
void printFigure(Values const&... values) {
    std::cout << "[  FIGURE  ] ";
    (std::cout << ... << values) << '\n';
}

/// The seed of a random test: TIMINGWHEEL_SEED, or else `usual`. It is told when the test fails.
inline std::uint64_t seedOr(std::uint64_t usual) {
    char const* const given = std::getenv("TIMINGWHEEL_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : usual;
}

/// A clock that anybody may set at any time, also from inside a task; sleepers look again then.
/// Setting it does not wait for anything to run.
class SettableClock final : public Clock {
public:
    explicit SettableClock(TimePoint start = TimePoint{}, Kind kind = Kind::steady)
        : now_{start.time_since_epoch()}, kind_{kind} {}

    TimePoint now() const noexcept override { return TimePoint{now_.load()}; }
    Kind kind() const noexcept override { return kind_; }

    void set(TimePoint time) {
        now_ = time.time_since_epoch();
        sleepers_.wake();
    }
    void add(Duration duration) { set(now() + duration.nanoseconds()); }

    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat([this](Waiter& inner, TimePoint until) {
            Sleepers::Registration const sleeper{sleepers_, inner};
            if (now() < until) inner.waitUntil(TimePoint::max());
        });
    }

private:
    std::atomic<std::chrono::nanoseconds> now_;
    Kind const kind_;
    Sleepers sleepers_;
};

/// Of a clock that started at zero.
inline std::chrono::milliseconds sinceStart(Clock const& clock) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock.now().time_since_epoch());
}

/// What was reported to an error handler.
class FailureLog {
public:
    struct Entry {
        TaskFailure::Kind kind;
        std::string what;  ///< of a std::exception; "int 7" for 7; empty for none
        Timeout timeout;
        std::string timerName;
    };

    auto handler() {
        return [this](TaskFailure const& failure) {
            Entry entry{failure.kind, describe(failure.exception), failure.timeout,
                        std::string{failure.timerName}};
            std::lock_guard const lock{mutex_};
            entries_.push_back(std::move(entry));
        };
    }
    std::vector<Entry> entries() const {
        std::lock_guard const lock{mutex_};
        return entries_;
    }
    std::size_t count() const { return entries().size(); }
    std::size_t count(TaskFailure::Kind kind) const {
        std::size_t sum = 0;
        for (Entry const& entry : entries()) sum += entry.kind == kind ? 1 : 0;
        return sum;
    }

private:
    static std::string describe(std::exception_ptr const& exception) {
        if (!exception) return {};
        try {
            std::rethrow_exception(exception);
        } catch (std::exception const& e) {
            return e.what();
        } catch (int number) {
            return "int " + std::to_string(number);
        } catch (...) {
            return "something";
        }
    }

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
};

/// A gate that opens once: how tests meet across threads without sleeping.
class Latch {
public:
    void open() {
        std::lock_guard const lock{mutex_};
        isOpen_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return isOpen_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool isOpen_ = false;
};

/// Waits until a drain() or stop() on another thread has begun: the timer then refuses.
inline void waitUntilRefused(Timer& timer) {
    try {
        for (;;) {
            timer.newTimeout([] {}, std::chrono::hours{1}).cancel();
            std::this_thread::yield();
        }
    } catch (std::logic_error const&) {
    }
}

/// The fixture of what both timers promise: derive and instantiate over `WheelTimers`.
template <class T>
class OfWheelTimers : public testing::Test {
protected:
    TimerOptions options(TimerOptions from = {}) {
        from.clock = clock;
        if (!from.errorHandler) from.errorHandler = failures.handler();
        return from;
    }
    Clock::TimePoint now() const { return clock.now(); }

    ManualClock clock;
    FailureLog failures;
};

using WheelTimers = testing::Types<SystemTimer, LoopTimer, ManualTimer>;

struct NamesOfTimers {
    template <class T>
    static std::string GetName(int) {
        if constexpr (std::is_same_v<T, SystemTimer>) return "SystemTimer";
        return std::is_same_v<T, LoopTimer> ? "LoopTimer" : "ManualTimer";
    }
};

/// Expects `expression` to throw `Exception` whose message contains `text`.
template <class Exception, class Expression>
void expectThrows(Expression&& expression, std::string const& text) {
    try {
        expression();
        ADD_FAILURE() << "nothing was thrown; expected: " << text;
    } catch (Exception const& e) {
        EXPECT_NE(std::string{e.what()}.find(text), std::string::npos)
            << "\"" << e.what() << "\" does not contain \"" << text << "\"";
    }
}

}  // namespace timingwheel::test
