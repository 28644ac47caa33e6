#pragma once

#include <timingwheel/HashedWheelTimer.h>

#include <functional>
#include <string>
#include <string_view>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// What Netty says of a timer as a resource: too many live ones, and one that nobody stopped.
///
/// One object for each HashedWheelTimer, from its constructor on. All of them are known to the
/// process, so that those that still live at its exit can be told of.
///
/// Thread safety  from any thread
class LiveTimer {
public:
    using Logger = std::function<void(TimerLog const&)>;

    LiveTimer(std::string name, Logger logger, bool leakDetection);
    LiveTimer(LiveTimer const&) = delete;
    LiveTimer& operator=(LiveTimer const&) = delete;
    /// Reports a leak unless stopped() was called, or the exit has reported it already.
    ~LiveTimer();

    /// It is no longer one of the live ones.
    void stopped() noexcept;

    /// Calls the logger, or prints one line on stderr. What the logger throws is dropped.
    void log(TimerLog::Level level, std::string_view message) const noexcept;

private:
    friend class LiveTimers;

    std::string const name_;
    Logger const logger_;
    bool const leakDetection_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
