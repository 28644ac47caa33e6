#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#if defined(__linux__)
#    include <cerrno>
#    include <ctime>
#    include <poll.h>
#    include <sys/eventfd.h>
#    include <sys/timerfd.h>
#    include <system_error>
#    include <unistd.h>
#else
#    include "core/base/platform/Sleeper.h"
#endif

namespace timingwheel::inline v1::detail {

// Sleepers for the times of a system that its condition variables do not wait for. They do what a
// Sleeper does.

#if defined(__linux__)

/// For timerfd_settime(2), where zero would mean never: at least a nanosecond.
inline timespec timespecOf(std::chrono::steady_clock::time_point time) noexcept {
    using Seconds = decltype(timespec::tv_sec);
    using Nanoseconds = decltype(timespec::tv_nsec);
    constexpr std::int64_t kSecond = 1'000'000'000;
    std::int64_t const count =
        std::max<std::int64_t>(std::chrono::nanoseconds{time.time_since_epoch()}.count(), 1);
    return {static_cast<Seconds>(count / kSecond), static_cast<Nanoseconds>(count % kSecond)};
}

/// Sleeps until the time of any clock of the kernel.
class DescriptorSleeper {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// `flags` are those of timerfd_settime(2). Throws std::system_error if the system has no
    /// descriptors left.
    DescriptorSleeper(clockid_t clock, int flags)
        : time_{timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC)},
          woken_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)},
          flags_{TFD_TIMER_ABSTIME | flags} {
        if (time_ >= 0 && woken_ >= 0) return;
        std::system_error const error{errno, std::generic_category(),
                                      "a timer's thread cannot sleep"};
        close();
        throw error;
    }
    DescriptorSleeper(DescriptorSleeper const&) = delete;
    DescriptorSleeper& operator=(DescriptorSleeper const&) = delete;
    ~DescriptorSleeper() { close(); }

    /// Returns at once if the kernel says that it cancelled the sleep.
    void sleepUntil(TimePoint until) noexcept {
        itimerspec at{};  // zero is never
        if (until != TimePoint::max()) at.it_value = timespecOf(until);
        if (timerfd_settime(time_, flags_, &at, nullptr) == 0) {
            pollfd both[] = {{woken_, POLLIN, 0}, {time_, POLLIN, 0}};
            poll(both, 2, -1);
        }
        // A wake ends one sleep: this one, or the next.
        std::uint64_t wakes = 0;
        [[maybe_unused]] ssize_t const taken = read(woken_, &wakes, sizeof wakes);
    }

    void wake() noexcept {
        std::uint64_t const one = 1;
        [[maybe_unused]] ssize_t const given = write(woken_, &one, sizeof one);
    }

private:
    void close() noexcept {
        if (time_ >= 0) ::close(time_);
        if (woken_ >= 0) ::close(woken_);
    }

    int time_;
    int woken_;
    int flags_;
};

#else

/// Sleeps until `Time::now()` reaches the time, and looks at it at least every `longest`.
template <class Time>
class LookingSleeper {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit LookingSleeper(std::chrono::nanoseconds longest) : longest_{longest} {}

    void sleepUntil(TimePoint until) noexcept {
        if (until == TimePoint::max()) return sleeper_.sleepUntil(until);
        auto const now = Time::now();
        std::chrono::nanoseconds left{0};
        if (until > now) left = until - now < longest_ ? until - now : longest_;
        sleeper_.sleepUntil(std::chrono::steady_clock::now() + left);
    }
    void wake() noexcept { sleeper_.wake(); }

private:
    std::chrono::nanoseconds const longest_;
    Sleeper sleeper_;
};

#endif

}  // namespace timingwheel::inline v1::detail
