#pragma once

#include <timingwheel/HashedWheelTimer.h>

#include <functional>
#include <string>
#include <string_view>

namespace timingwheel::inline v1::detail {

/// Warns as Netty does: of too many live timers, and of one that nobody stopped.
///
/// Each HashedWheelTimer has one, from its constructor on. The process knows all of them, so it can
/// report at exit those that are still alive.
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

}  // namespace timingwheel::inline v1::detail
