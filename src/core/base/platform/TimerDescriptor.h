#pragma once

#include "core/base/platform/ContinuousTime.h"
#include "core/base/platform/WallTime.h"

#include <timingwheel/detail/platform/NativeHandle.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>

#if defined(_WIN32)
#    include "core/base/platform/WaitableTimer.h"
#elif defined(__linux__)
#    include <cerrno>
#    include <sys/timerfd.h>
#    include <unistd.h>
#else
#    include <cerrno>
#    include <sys/event.h>
#    include <unistd.h>
#endif

namespace timingwheel::inline v1::detail {

/// A handle of the system's that becomes readable, or signalled, at a time, and stays so until it
/// is set anew. The time is the steady clock's, a ContinuousTime, or a WallTime: then it becomes
/// readable also when that is set.
///
/// Thread safety  none
/// Errors         std::system_error from the constructor
/// Source         timerfd_create(2) on Linux, kqueue(2) with EVFILT_TIMER on macOS and BSD, a
///                waitable timer on Windows
class TimerDescriptor {
public:
    using TimePoint = std::chrono::steady_clock::time_point;
    /// No kind of clock: the system's own time, which a clock of that kind need not show.
    enum class Follows { steadyClock, continuousTime, wallTime };

    /// Only Linux has descriptors for other times than the steady clock's: elsewhere it throws, if
    /// one is wanted.
    explicit TimerDescriptor(Follows what = Follows::steadyClock);
    TimerDescriptor(TimerDescriptor const&) = delete;
    TimerDescriptor& operator=(TimerDescriptor const&) = delete;
    ~TimerDescriptor() { close(); }

    NativeHandle get() const noexcept { return handle_; }
    /// What it compares the times with.
    TimePoint now() const noexcept {
        if (follows_ == Follows::wallTime) return WallTime::now();
        return follows_ == Follows::continuousTime ? ContinuousTime::now()
                                                   : std::chrono::steady_clock::now();
    }
    /// True if it may be readable before its time.
    bool followsSteps() const noexcept { return follows_ == Follows::wallTime; }
    /// Readable from `time` on. TimePoint::max() is never. One system call.
    void set(TimePoint time) noexcept;
    /// Gives it back to the system. From now on set() does nothing.
    void close() noexcept;

private:
    static void refuseUnlessSteady(Follows what) {
        if (what == Follows::steadyClock) return;
        throw std::system_error{std::make_error_code(std::errc::function_not_supported),
                                what == Follows::wallTime
                                    ? "this system has no descriptor that follows its time of day"
                                    : "this system has no descriptor that counts suspension"};
    }

    NativeHandle handle_ = kNoHandle;
    Follows follows_;
};

#if defined(_WIN32)

inline TimerDescriptor::TimerDescriptor(Follows what) : follows_{what} {
    refuseUnlessSteady(what);
    handle_ = WaitableTimer::make().release();
}

inline void TimerDescriptor::set(TimePoint time) noexcept {
    // As far as a timer can be set. Only setting one ends its being signalled.
    constexpr std::chrono::hours kNever{24 * 365 * 100};
    if (handle_ == kNoHandle) return;
    std::chrono::nanoseconds left = kNever;
    if (time != TimePoint::max()) left = time - std::chrono::steady_clock::now();
    WaitableTimer::set(handle_, std::max(left, std::chrono::nanoseconds{0}));
}

inline void TimerDescriptor::close() noexcept {
    if (handle_ != kNoHandle) CloseHandle(handle_);
    handle_ = kNoHandle;
}

#else

inline void TimerDescriptor::close() noexcept {
    if (handle_ != kNoHandle) ::close(handle_);
    handle_ = kNoHandle;
}

#    if defined(__linux__)

inline TimerDescriptor::TimerDescriptor(Follows what) : follows_{what} {
    clockid_t const clock = what == Follows::wallTime         ? CLOCK_REALTIME
                            : what == Follows::continuousTime ? CLOCK_BOOTTIME
                                                              : CLOCK_MONOTONIC;
    handle_ = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
    if (handle_ == kNoHandle)
        throw std::system_error{errno, std::generic_category(), "timerfd_create"};
}

inline void TimerDescriptor::set(TimePoint time) noexcept {
    if (handle_ == kNoHandle) return;
    itimerspec at{};  // zero is never
    // The steady clock is CLOCK_MONOTONIC, with the same start.
    if (time != TimePoint::max()) at.it_value = timespecOf(time);
    int const flags = TFD_TIMER_ABSTIME | (followsSteps() ? TFD_TIMER_CANCEL_ON_SET : 0);
    if (timerfd_settime(handle_, flags, &at, nullptr) == 0 || errno != ECANCELED) return;
    // The time was set before, and this call has taken the news: pass it on, readable at once.
    at.it_value = {.tv_sec = 0, .tv_nsec = 1};
    timerfd_settime(handle_, flags, &at, nullptr);
}

#    else

inline TimerDescriptor::TimerDescriptor(Follows what) : follows_{what} {
    refuseUnlessSteady(what);
    handle_ = kqueue();
    if (handle_ == kNoHandle) throw std::system_error{errno, std::generic_category(), "kqueue"};
}

inline void TimerDescriptor::set(TimePoint time) noexcept {
    if (handle_ == kNoHandle) return;
    // One that has fired stays readable until it is deleted. Receipts keep the kernel from stopping
    // where there is none to delete.
    auto const left = std::max(time - std::chrono::steady_clock::now(), TimePoint::duration{0});
    struct kevent changes[2];
    EV_SET(&changes[0], 1, EVFILT_TIMER, EV_DELETE | EV_RECEIPT, 0, 0, nullptr);
    EV_SET(&changes[1], 1, EVFILT_TIMER, EV_ADD | EV_ONESHOT | EV_RECEIPT, NOTE_NSECONDS,
           std::chrono::nanoseconds{left}.count(), nullptr);
    struct kevent receipts[2];
    int const count = time == TimePoint::max() ? 1 : 2;
    kevent(handle_, changes, count, receipts, count, nullptr);
}

#    endif
#endif

}  // namespace timingwheel::inline v1::detail
