#pragma once

#include <timingwheel/export.h>

namespace timingwheel {
inline namespace v1 {

class Timeout;

/// A task as an object, in Netty's form: pass a std::shared_ptr of it to `newTimeout`. Most callers
/// pass a callable instead.
///
/// Thread safety  run() and cancelled() are called outside every lock, each at most once at a time
class TIMINGWHEEL_API TimerTask {
public:
    TimerTask() = default;
    virtual ~TimerTask();
    TimerTask(TimerTask const&) = delete;
    TimerTask& operator=(TimerTask const&) = delete;

    /// Called on the timer's executor when the deadline has been reached.
    virtual void run(Timeout const& timeout) = 0;
    /// Called by the thread whose cancel() won, before that returns. A periodic task that was
    /// cancelled while it ran is told by the thread that runs it, when the run is over. In a
    /// HashedWheelTimer it is called by the worker at the next tick, and by stop() for what that
    /// returns.
    virtual void cancelled(Timeout const& timeout);
};

}  // namespace v1
}  // namespace timingwheel
