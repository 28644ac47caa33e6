#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    !defined(TIMINGWHEEL_SIMULATED)
#    define TIMINGWHEEL_HAS_TIME_COUNTER 1
#    include <fcntl.h>
#    include <unistd.h>
#    if defined(__x86_64__)
#        include <x86intrin.h>
#    endif
#else
#    define TIMINGWHEEL_HAS_TIME_COUNTER 0
#endif

namespace timingwheel::inline v1::detail {

/// The processor's counter that the system computes the steady clock from, read without a fence. So
/// the processor may read it some instructions early, but not before an exact reading of the clock
/// that the thread made before.
///
/// Source  rdtsc, and cntvct_el0 of ARM64. The vDSO of Linux reads the same, after a fence
struct TimeCounter {
    static std::chrono::steady_clock::time_point exact() noexcept {
        return std::chrono::steady_clock::now();
    }

#if TIMINGWHEEL_HAS_TIME_COUNTER
    static std::uint64_t count() noexcept {
#    if defined(__x86_64__)
        return __rdtsc();
#    else
        std::uint64_t count;
        asm volatile("mrs %0, cntvct_el0" : "=r"(count));
        return count;
#    endif
    }

    /// Whether the kernel computes the clock from this counter. It does so only while the counters
    /// of all processors agree, and go on in every state of theirs.
    static bool isSourceOfClock() noexcept {
#    if defined(__x86_64__)
        constexpr std::string_view kName = "tsc\n";
#    else
        constexpr std::string_view kName = "arch_sys_counter\n";
#    endif
        int const file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                              O_RDONLY | O_CLOEXEC);
        if (file < 0) return false;
        char name[32];
        ssize_t const length = read(file, name, sizeof name);
        close(file);
        return length > 0 && std::string_view{name, static_cast<std::size_t>(length)} == kName;
    }
#else
    static std::uint64_t count() noexcept { return 0; }
    static bool isSourceOfClock() noexcept { return false; }
#endif
};

}  // namespace timingwheel::inline v1::detail
