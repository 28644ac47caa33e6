#pragma once

#include "platform/Sleeper.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>

#if defined(_WIN32)
#    include "platform/Windows.h"
#elif defined(__linux__)
#    include <cerrno>
#    include <ctime>
#    include <poll.h>
#    include <sys/eventfd.h>
#    include <sys/timerfd.h>
#    include <unistd.h>
#elif defined(__APPLE__)
#    include <mach/mach_time.h>
#endif

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Time since the machine started, suspension included: the steady clock stands still meanwhile on
/// Linux and macOS.
///
/// Source         CLOCK_BOOTTIME on Linux, mach_continuous_time() on macOS, QueryInterruptTime() on
///                Windows
class ContinuousTime {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// Throws std::system_error if the system has no such time.
    static void require();
    /// REQUIRES: the system has it.
    static TimePoint now() noexcept;

private:
#if defined(_WIN32)
    using Query = void(WINAPI*)(unsigned long long*);
    static Query query() noexcept {
        // In no import library that all compilers have; Windows has it from version 10 on.
        static Query const found = reinterpret_cast<Query>(reinterpret_cast<void*>(
            GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "QueryInterruptTime")));
        return found;
    }
#endif
};

#if defined(_WIN32)

inline void ContinuousTime::require() {
    if (query() == nullptr)
        throw std::system_error{std::make_error_code(std::errc::function_not_supported),
                                "this Windows has no clock that counts suspension"};
}

inline ContinuousTime::TimePoint ContinuousTime::now() noexcept {
    unsigned long long hundreds = 0;
    query()(&hundreds);
    return TimePoint{std::chrono::nanoseconds{static_cast<std::int64_t>(hundreds) * 100}};
}

#elif defined(__linux__)

inline void ContinuousTime::require() {
    timespec time{};
    if (clock_gettime(CLOCK_BOOTTIME, &time) != 0)
        throw std::system_error{errno, std::generic_category(), "CLOCK_BOOTTIME"};
}

inline ContinuousTime::TimePoint ContinuousTime::now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return TimePoint{std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec}};
}

#elif defined(__APPLE__)

inline void ContinuousTime::require() {}

inline ContinuousTime::TimePoint ContinuousTime::now() noexcept {
    static mach_timebase_info_data_t const base = [] {
        mach_timebase_info_data_t read{};
        mach_timebase_info(&read);
        return read;
    }();
    std::uint64_t const time = mach_continuous_time();
    // In two parts, so that no product overflows.
    std::uint64_t const whole = time / base.denom * base.numer;
    std::uint64_t const rest = time % base.denom * base.numer / base.denom;
    return TimePoint{std::chrono::nanoseconds{static_cast<std::int64_t>(whole + rest)}};
}

#else

inline void ContinuousTime::require() {
    throw std::system_error{std::make_error_code(std::errc::function_not_supported),
                            "this system has no clock that counts suspension"};
}

inline ContinuousTime::TimePoint ContinuousTime::now() noexcept {
    return std::chrono::steady_clock::now();
}

#endif

/// A Sleeper that sleeps until a ContinuousTime.
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

/// The kernel ends its sleep when the machine resumes, if the time has come meanwhile.
class ContinuousSleeper {
public:
    using TimePoint = ContinuousTime::TimePoint;

    /// Throws std::system_error if the system has no descriptors left.
    ContinuousSleeper()
        : time_{timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)},
          woken_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {
        if (time_ >= 0 && woken_ >= 0) return;
        std::system_error const error{errno, std::generic_category(),
                                      "a timer's thread cannot sleep"};
        close();
        throw error;
    }
    ContinuousSleeper(ContinuousSleeper const&) = delete;
    ContinuousSleeper& operator=(ContinuousSleeper const&) = delete;
    ~ContinuousSleeper() { close(); }

    void sleepUntil(TimePoint until) noexcept {
        itimerspec at{};  // zero is never
        if (until != TimePoint::max()) at.it_value = timespecOf(until);
        timerfd_settime(time_, TFD_TIMER_ABSTIME, &at, nullptr);
        pollfd both[] = {{woken_, POLLIN, 0}, {time_, POLLIN, 0}};
        poll(both, 2, -1);
        // Whoever wakes has one sleep ended: this one, or the next.
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
};
#else
/// It looks each second whether the machine was suspended.
class ContinuousSleeper {
public:
    using TimePoint = ContinuousTime::TimePoint;

    void sleepUntil(TimePoint until) noexcept {
        if (until == TimePoint::max()) return sleeper_.sleepUntil(until);
        constexpr std::chrono::nanoseconds kLongest = std::chrono::seconds{1};
        auto const now = ContinuousTime::now();
        std::chrono::nanoseconds const left =
            until > now ? std::min<std::chrono::nanoseconds>(until - now, kLongest)
                        : std::chrono::nanoseconds{0};
        sleeper_.sleepUntil(std::chrono::steady_clock::now() + left);
    }
    void wake() noexcept { sleeper_.wake(); }

private:
    Sleeper sleeper_;
};
#endif

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
