#pragma once

#include <timingwheel/detail/platform/export.h>

namespace timingwheel::inline v1 {

/// A task as an object, in Netty's form: pass a std::shared_ptr of it to `newTimeout`. Most callers
/// pass a callable instead.
///
/// Thread safety  run() and cancelled() are called with no lock held, each at most once at a time
class TIMINGWHEEL_API TimerTask {
public:
    TimerTask() = default;
    virtual ~TimerTask();
    TimerTask(TimerTask const&) = delete;
    TimerTask& operator=(TimerTask const&) = delete;

    /// Called on the timer's executor when the deadline has been reached.
    virtual void run(Timeout const& timeout) = 0;
    /// Called by the thread whose cancel() returns true, before that returns. For what cancelAll()
    /// cancels, by the thread that called it, or by one that is in cancelAndWait().
    ///
    /// - If a periodic task is cancelled during a run, the thread that runs it calls this after the
    ///   run.
    /// - In a HashedWheelTimer the worker calls this at the next tick, and stop() calls it for what
    ///   it returns.
    virtual void cancelled(Timeout const& timeout);
};

}  // namespace timingwheel::inline v1
