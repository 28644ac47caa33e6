#pragma once

#include "core/base/platform/SystemSleeper.h"

#include <chrono>
#include <cstdint>
#include <system_error>

#if defined(_WIN32)
#    include "core/base/platform/Windows.h"
#elif defined(__linux__)
#    include <cerrno>
#    include <ctime>
#elif defined(__APPLE__)
#    include <mach/mach_time.h>
#endif

namespace timingwheel::inline v1::detail {

/// Time since the machine started, suspension included: the steady clock stands still meanwhile on
/// Linux and macOS.
///
/// Source         CLOCK_BOOTTIME on Linux, mach_continuous_time() on macOS, QueryInterruptTime() on
///                Windows 10; before that GetTickCount64(), which moves each 10 to 16 ms
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

inline void ContinuousTime::require() {}

inline ContinuousTime::TimePoint ContinuousTime::now() noexcept {
    Query const found = query();
    if (found == nullptr) return TimePoint{std::chrono::milliseconds{GetTickCount64()}};
    unsigned long long hundreds = 0;
    found(&hundreds);
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

#if defined(__linux__)
/// The kernel ends its sleep when the machine resumes, if the time has come meanwhile.
class ContinuousSleeper : public DescriptorSleeper {
public:
    ContinuousSleeper() : DescriptorSleeper{CLOCK_BOOTTIME, 0} {}
};
#else
/// It looks each second whether the machine was suspended.
class ContinuousSleeper : public LookingSleeper<ContinuousTime> {
public:
    ContinuousSleeper() : LookingSleeper{std::chrono::seconds{1}} {}
};
#endif

}  // namespace timingwheel::inline v1::detail
