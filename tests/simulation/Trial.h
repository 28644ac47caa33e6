#pragma once

#include "Books.h"
#include "Simulation.h"

#include <support/Effort.h>
#include <support/Figure.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

/// What tests share that go through all that may happen to one timer and two or three threads.
namespace timingwheel::test::simulation {

using std::chrono::milliseconds;

/// Of a timer with a tick of 1 ms and four slots.
template <class T>
auto smallOptions() {
    if constexpr (std::is_same_v<T, HashedWheelTimer>)
        return HashedWheelTimerOptions{
            .tick = milliseconds{1}, .ticksPerWheel = 4, .leakDetection = false};
    else
        return TimerOptions{.tick = milliseconds{1}, .wheelSize = 4, .shards = 1};
}

/// Such a timer, and the books of it.
template <class T>
class Trial {
public:
    static constexpr bool kIsFlat = std::is_same_v<T, HashedWheelTimer>;
    /// What is asked for in 1 ms runs after that: a flat timer rounds up to the tick after it.
    static constexpr milliseconds kOneTick{kIsFlat ? 2 : 1};

    explicit Trial(Executor executor = {}) {
        auto options = smallOptions<T>();
        options.executor = executor;
        timer_ = std::make_unique<T>(options);
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

    std::unique_ptr<T> timer_;
};

/// What a task destroys: a timer, with the hook or the handle that the task belongs to. A call that
/// let the task go may not have returned by then.
template <class T>
struct Owner {
    explicit Owner(std::atomic<bool>& isOver, Clock& clock = Clock::steady())
        : isGone{isOver}, timer{optionsWith(clock)} {}
    ~Owner() { isGone = true; }
    void end() { delete this; }
    static void await(std::atomic<bool> const& isGone) {
        while (!isGone) std::this_thread::sleep_for(milliseconds{1});
    }

    std::atomic<bool>& isGone;
    T timer;
    TimerHook<&Owner::end> hook{*this};
    Timeout timeout;

private:
    static auto optionsWith(Clock& clock) {
        auto options = smallOptions<T>();
        options.clock = clock;
        return options;
    }
};

/// Has another thread ask a timer, and waits for it: for ever, if this thread holds a lock.
template <class T>
void askElsewhere(T& timer) {
    std::thread{[&timer] { static_cast<void>(timer.statistics()); }}.join();
}

/// Asks at its end.
template <class T>
struct AsksAtItsEnd {
    explicit AsksAtItsEnd(T& which) : timer{&which} {}
    AsksAtItsEnd(AsksAtItsEnd&& other) noexcept : timer{std::exchange(other.timer, nullptr)} {}
    ~AsksAtItsEnd() {
        if (timer != nullptr) askElsewhere(*timer);
    }
    T* timer;
};

/// How often a thread gets in the way of another, or a load is stale: TIMINGWHEEL_DEPARTURES, or
/// little.
inline std::size_t departures() {
    char const* const text = std::getenv("TIMINGWHEEL_DEPARTURES");
    if (text != nullptr) return std::strtoull(text, nullptr, 10);
    return isAtLength() ? 2 : 1;
}

/// Of the courses with the most departures, where those are several: few in a hurry.
inline std::size_t oneInOfThose(std::size_t most) {
    return most < 2 || most == kAnyNumber ? 1 : oneIn(40);
}

/// Goes through all that may happen, and tells how many runs that were.
inline void expectAll(std::string_view promise, std::string_view what, Body const& body,
                      std::size_t most = departures()) {
    warmUp();
    Summary const summary = tryAll(most, 2'000'000, body, oneInOfThose(most));
    std::cout << summary << '\n';
    EXPECT_TRUE(summary.isComplete) << "there is more than could be gone through";
    figure(promise, what, summary.failed, exactly(0), {summary.runs, summary.runs});
}

}  // namespace timingwheel::test::simulation
