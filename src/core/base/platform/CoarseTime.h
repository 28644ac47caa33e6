#pragma once

#include <chrono>

#if defined(__linux__)
#    include <ctime>
#endif

namespace timingwheel::inline v1::detail {

// A reading of std::chrono::steady_clock that is cheaper and behind: on Linux the time of the
// kernel's last tick. Elsewhere the clock itself, which is behind by nothing.
#if defined(__linux__)
inline std::chrono::nanoseconds durationOf(timespec const& time) noexcept {
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

inline std::chrono::steady_clock::time_point coarseTime() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return std::chrono::steady_clock::time_point{durationOf(time)};
}

/// How often the coarse time is renewed, as the system says.
inline std::chrono::nanoseconds coarseResolution() noexcept {
    timespec resolution{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
    return durationOf(resolution);
}
#else
inline std::chrono::steady_clock::time_point coarseTime() noexcept {
    return std::chrono::steady_clock::now();
}

inline std::chrono::nanoseconds coarseResolution() noexcept { return std::chrono::nanoseconds{0}; }
#endif

}  // namespace timingwheel::inline v1::detail
