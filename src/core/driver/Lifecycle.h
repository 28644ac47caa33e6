#pragma once

#include "core/driver/context/TimerContext.h"

#include <timingwheel/StoppedTimeouts.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace timingwheel::inline v1::detail {

/// A timer's life, whatever its wheel: started once, stopped once, with a driver thread in between,
/// or none.
class Lifecycle {
public:
    /// What differs between the kinds of timer.
    class Engine {
    public:
        /// When there is something to do next; Tick::max() if never.
        virtual Tick nextWake() const noexcept = 0;
        /// A clock that people set may have gone back: the wheels do, too.
        virtual void followClockBack() noexcept {}
        /// start(): the driver thread is about to be made.
        virtual void prepare() noexcept {}
        /// start(): the thread runs; timeouts may come.
        virtual void open() noexcept = 0;
        /// The driver thread's work, until isStopRequested().
        virtual void drive() noexcept = 0;
        /// Without a driver thread: runs what is due now.
        virtual void runDueHere() {}
        /// stop(): accepts nothing more. May already take out what is pending.
        virtual void close(StoppedTimeouts& stopped) noexcept = 0;
        /// stop(): the driver has ended. Waits for what runs elsewhere, and takes out what is left.
        virtual void collect(StoppedTimeouts& stopped) noexcept = 0;
        /// stop(): nothing runs any more, and all is counted. Tells the tasks that were taken out.
        virtual void tellStopped(StoppedTimeouts const&) noexcept {}
        /// stop(): nothing runs any more. Notifies the objects of hooks that were taken out.
        virtual void endGivenUp() noexcept {}
        /// disown(): calls orphan() of every keeper.
        virtual void orphanKeepers() noexcept = 0;

    protected:
        ~Engine() = default;
    };

    Lifecycle(TimerContext& context, Engine& engine);
    Lifecycle(Lifecycle const&) = delete;
    Lifecycle& operator=(Lifecycle const&) = delete;
    ~Lifecycle();

    /// Lets a clock that is set by hand drive the timer. Call it last in the timer's constructor.
    void listenToClock();

    /// Starts the driver thread unless it runs already. Throws what the thread factory throws, and
    /// std::logic_error once the timer was stopped.
    void start();
    enum class Caller { user, destructor };
    /// A coroutine that it resumes, or a task's cancelled(), may destroy the timer.
    StoppedTimeouts stop(Caller caller);
    /// The timer is gone. What handles, hooks and claims still need goes with the last of them.
    void disown() noexcept;

    /// Orders nothing: a driver that sees it late finds closed gates, under their locks, and stop()
    /// wakes it under the alarm's.
    bool isStopRequested() const noexcept { return stopRequested_.load(std::memory_order_relaxed); }
    std::optional<Clock::TimePoint> nextExpiration() const noexcept;
    /// True if that is now.
    bool isDue() const noexcept;

    /// Throw std::logic_error: `function` was called inside a task; the timer was stopped.
    void refuseInside(char const* function) const;
    [[noreturn]] void refuseStart() const;

private:
    enum class Phase { initial, started, stopping, stopped };
    class Listener;

    std::thread makeThread();
    void orphan() noexcept;

    TimerContext& context_;
    Engine& engine_;
    std::atomic<bool> stopRequested_{false};
    std::shared_ptr<Listener> listener_;

    std::mutex mutex_;  // protects what follows
    std::condition_variable stopped_;
    Phase phase_;
    bool isDisowned_ = false;  // perhaps by a task, or by what a stop() calls, before that is over
    std::thread thread_;
};

}  // namespace timingwheel::inline v1::detail
