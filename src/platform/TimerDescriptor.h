#pragma once

#include "platform/ContinuousTime.h"

#include <timingwheel/detail/platform/NativeHandle.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>

#if defined(_WIN32)
#    include "platform/WaitableTimer.h"
#elif defined(__linux__)
#    include <cerrno>
#    include <sys/timerfd.h>
#    include <unistd.h>
#else
#    include <cerrno>
#    include <sys/event.h>
#    include <unistd.h>
#endif

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A handle of the system's that becomes readable, or signalled, at a time, and stays so until it
/// is set anew. The time is the steady clock's, or a ContinuousTime.
///
/// Thread safety  none
/// Errors         std::system_error from the constructor
/// Source         timerfd_create(2) on Linux, kqueue(2) with EVFILT_TIMER on macOS and BSD, a
///                waitable timer on Windows
class TimerDescriptor {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// Only Linux has descriptors that count suspension; elsewhere it throws, if one is wanted.
    explicit TimerDescriptor(bool countsSuspension = false);
    TimerDescriptor(TimerDescriptor const&) = delete;
    TimerDescriptor& operator=(TimerDescriptor const&) = delete;
    ~TimerDescriptor() { close(); }

    NativeHandle get() const noexcept { return handle_; }
    /// What it compares the times with.
    TimePoint now() const noexcept {
        return countsSuspension_ ? ContinuousTime::now() : std::chrono::steady_clock::now();
    }
    /// Readable from `time` on. TimePoint::max() is never. One system call.
    void set(TimePoint time) noexcept;
    /// Gives it back to the system. From now on set() does nothing.
    void close() noexcept;

private:
    static void refuseSuspension() {
        throw std::system_error{std::make_error_code(std::errc::function_not_supported),
                                "this system has no descriptor that counts suspension"};
    }

    NativeHandle handle_ = kNoHandle;
    bool countsSuspension_;
};

#if defined(_WIN32)

inline TimerDescriptor::TimerDescriptor(bool countsSuspension)
    : countsSuspension_{countsSuspension} {
    if (countsSuspension) refuseSuspension();
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

inline TimerDescriptor::TimerDescriptor(bool countsSuspension)
    : handle_{timerfd_create(countsSuspension ? CLOCK_BOOTTIME : CLOCK_MONOTONIC,
                             TFD_NONBLOCK | TFD_CLOEXEC)},
      countsSuspension_{countsSuspension} {
    if (handle_ == kNoHandle)
        throw std::system_error{errno, std::generic_category(), "timerfd_create"};
}

inline void TimerDescriptor::set(TimePoint time) noexcept {
    if (handle_ == kNoHandle) return;
    itimerspec at{};  // zero is never
    // The steady clock is CLOCK_MONOTONIC, with the same start.
    if (time != TimePoint::max()) at.it_value = timespecOf(time);
    timerfd_settime(handle_, TFD_TIMER_ABSTIME, &at, nullptr);
}

#    else

inline TimerDescriptor::TimerDescriptor(bool countsSuspension)
    : countsSuspension_{countsSuspension} {
    if (countsSuspension) refuseSuspension();
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

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
