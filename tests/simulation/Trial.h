#pragma once

#include "Books.h"
#include "Simulation.h"

#include <support/Figure.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

/// What tests share that go through all that may happen to one timer and two or three threads.
namespace timingwheel::test::simulation {

using std::chrono::milliseconds;

/// A timer of a tick of 1 ms, and the books of it.
template <class T>
class Trial {
public:
    static constexpr bool kIsFlat = std::is_same_v<T, HashedWheelTimer>;

    explicit Trial(Executor executor = {}) : timer_{make(executor)} {
        onIdle([this](Clock::TimePoint now) {
            books.idle(now, kIsFlat ? milliseconds{2} : milliseconds{0});
        });
    }

    T& timer() noexcept { return *timer_; }

    /// An empty handle if the timer was stopped.
    Timeout schedule(Duration delay) {
        std::size_t const id = books.open(now() + delay.nanoseconds());
        try {
            Timeout timeout = timer_->newTimeout(BookedTask{Capture{books, id}}, delay);
            books.accepted(id, std::max(timeout.deadline(), now()));
            return timeout;
        } catch (std::logic_error const&) {
            books.refused(id);
            return {};
        }
    }
    void cancel(std::size_t id, Timeout const& timeout) { books.cancelled(id, timeout.cancel()); }
    void cancelAndWait(std::size_t id, Timeout const& timeout) {
        books.cancelled(id, timeout.cancelAndWait());
        books.settled(id, timeout.isReturned());
    }
    void reschedule(std::size_t id, Timeout const& timeout, Duration delay)
        requires(!kIsFlat)
    {
        books.moving(id, now() + delay.nanoseconds());
        bool const isMoved = timer_->reschedule(timeout, delay);
        books.moved(id, isMoved, std::max(timeout.deadline(), now()));
    }
    /// True for the caller who got what was pending.
    void stop() {
        StoppedTimeouts const stopped = timer_->stop();
        for (StoppedTimeout const timeout : stopped)
            books.returned(timeout.template target<BookedTask>()->capture.id());
    }
    /// The timer is stopped, and gone, and has left nothing behind.
    void end() {
        stop();
        books.stopped();
        require(timer_->pendingTimeouts() == 0, "something is pending after stop()");
        timer_.reset();
        books.close();
    }
    void destroy() { timer_.reset(); }

    Books books;

private:
    static Clock::TimePoint now() { return Clock::steady().now(); }
    static std::unique_ptr<T> make(Executor executor) {
        if constexpr (kIsFlat)
            return std::make_unique<T>(HashedWheelTimerOptions{.tick = milliseconds{1},
                                                               .ticksPerWheel = 4,
                                                               .executor = executor,
                                                               .leakDetection = false});
        else
            return std::make_unique<T>(TimerOptions{
                .tick = milliseconds{1}, .wheelSize = 4, .executor = executor, .shards = 1});
    }

    std::unique_ptr<T> timer_;
};

/// The steady clock, as an object that can be touched after its end.
class UsersClock final : public Clock {
public:
    TimePoint now() const noexcept override { return steady_->now(); }
    void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
              TimePoint until) override {
        steady_->wait(lock, condition, until);
    }

private:
    Clock* steady_ = &Clock::steady();
};

/// Counts what it is told.
class Witness final : public TimerObserver {
public:
    void onEvent(TimerEvent const&) noexcept override { events_.fetch_add(1); }

private:
    std::atomic<int> events_{0};
};

/// A task destroys its timer, and then another thread the clock and the observer that it used.
template <class T, class MakeOptions>
void destroyFromATask(MakeOptions const& options) {
    auto clock = std::make_unique<UsersClock>();
    auto observer = std::make_unique<Witness>();
    std::atomic<bool> isGone{false};
    auto timer = std::make_unique<T>(options(*clock, *observer));
    timer->newTimeout(
        [&] {
            timer.reset();
            isGone.store(true);
            isGone.notify_one();
        },
        Duration{});
    isGone.wait(false);
    observer.reset();
    clock.reset();
}

/// How often a thread gets in the way of another, or a load is stale: TIMINGWHEEL_DEPARTURES, or
/// little.
inline std::size_t departures() {
    char const* const text = std::getenv("TIMINGWHEEL_DEPARTURES");
    if (text != nullptr) return std::strtoull(text, nullptr, 10);
    return isAtLength() ? 2 : 1;
}

/// Goes through all that may happen, and tells how many runs that were.
inline void expectAll(std::string_view promise, std::string_view what, Body const& body,
                      std::size_t most = departures()) {
    warmUp();
    Summary const summary = tryAll(most, 2'000'000, body);
    std::cout << summary << '\n';
    EXPECT_TRUE(summary.isComplete) << "there is more than could be gone through";
    figure(promise, what, summary.failed, exactly(0), {summary.runs, summary.runs});
}

}  // namespace timingwheel::test::simulation
