#pragma once

#include <support/Platform.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

/// How much a test with threads does, and how long it may take.
namespace timingwheel::test {

// g++ has macros for its sanitizers, clang has features.
#if defined(__has_feature)
#    define TIMINGWHEEL_HAS_FEATURE(name) __has_feature(name)
#else
#    define TIMINGWHEEL_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TIMINGWHEEL_HAS_FEATURE(address_sanitizer)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || TIMINGWHEEL_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif
#undef TIMINGWHEEL_HAS_FEATURE
inline constexpr bool kIsSanitized = kHasAddressSanitizer || kHasThreadSanitizer;

/// The constant by which a sanitizer build divides all counts.
inline constexpr std::uint64_t kSanitizerDivisor = 10;

/// True where a test may take its time: TIMINGWHEEL_AT_LENGTH is set, as in the tests of the label
/// `slow`.
inline bool isAtLength() { return std::getenv("TIMINGWHEEL_AT_LENGTH") != nullptr; }

/// The one number, or the other one at length.
inline std::uint64_t effort(std::uint64_t quick, std::uint64_t atLength) {
    return isAtLength() ? atLength : quick;
}

/// TIMINGWHEEL_STRESS_SCALE, 1 unless it is set.
inline double stressScale() {
    char const* const text = std::getenv("TIMINGWHEEL_STRESS_SCALE");
    double const scale = text == nullptr ? 1.0 : std::strtod(text, nullptr);
    return scale > 0 ? scale : 1.0;
}

/// `count`, scaled by the environment, with the least that makes sense.
inline std::uint64_t scaledByEnvironment(std::uint64_t count, std::uint64_t least = 1) {
    auto const scaled = static_cast<std::uint64_t>(static_cast<double>(count) * stressScale());
    return scaled < least ? least : scaled;
}

/// The same, divided in a sanitizer build.
inline std::uint64_t scaled(std::uint64_t count, std::uint64_t least = 1) {
    std::uint64_t const result = scaledByEnvironment(count, least);
    if (!kIsSanitized) return result;
    static bool const said = [] {
        std::printf("sanitizer build: all counts are divided by %d\n", int{kSanitizerDivisor});
        return true;
    }();
    static_cast<void>(said);
    return result / kSanitizerDivisor < least ? least : result / kSanitizerDivisor;
}

/// So many rounds of a race, or at length so many, scaled.
inline std::uint64_t rounds(std::uint64_t quick, std::uint64_t atLength, std::uint64_t least = 1) {
    return scaled(effort(quick, atLength), least);
}

/// Of what there is much of: all at length, else one in so many, or in TIMINGWHEEL_ONE_IN.
inline std::size_t oneIn(std::size_t quick) {
    char const* const text = std::getenv("TIMINGWHEEL_ONE_IN");
    if (text != nullptr) return std::max<std::size_t>(std::strtoull(text, nullptr, 10), 1);
    return isAtLength() ? 1 : quick;
}

/// Makes a failure of what would be a hang: ends the process with a message when all its threads
/// have slept for so long, or when it has used so much processor time for each core. While it waits
/// for a processor no time passes for it: what else the machine does ends no test.
class Watchdog {
public:
    explicit Watchdog(char const* what, std::chrono::milliseconds limit = std::chrono::seconds{20})
        : thread_{[this, what, limit = limit * factor()] { watch(what, limit); }} {}
    Watchdog(Watchdog const&) = delete;
    Watchdog& operator=(Watchdog const&) = delete;
    ~Watchdog() {
        {
            std::lock_guard const lock{mutex_};
            isOver_ = true;
        }
        over_.notify_all();
        thread_.join();
    }

private:
    static int factor() {
        double const scale = stressScale();
        return (kIsSanitized ? 6 : 1) * (isAtLength() ? 9 : 1) *
               (scale > 1 ? static_cast<int>(scale) + 1 : 1);
    }

    /// Of this process, on one core of all.
    static std::chrono::milliseconds processorTime() {
        auto const cores = std::max(1U, std::thread::hardware_concurrency());
        return processorTimeOfProcess() / cores;
    }

    void watch(char const* what, std::chrono::milliseconds limit) {
        constexpr std::chrono::milliseconds kLook{50};
        auto const begin = processorTime();
        std::chrono::milliseconds asleep{0};
        std::unique_lock lock{mutex_};
        while (!over_.wait_for(lock, kLook, [this] { return isOver_; })) {
            if (!doOthersWantToRun()) asleep += kLook;
            if (asleep < limit && processorTime() - begin < limit) continue;
            std::fprintf(stderr, "watchdog: not over after %lld ms %s: %s\n",
                         static_cast<long long>(limit.count()),
                         asleep < limit ? "of processor time" : "asleep", what);
            std::abort();
        }
    }

    std::mutex mutex_;
    std::condition_variable over_;
    bool isOver_ = false;
    std::thread thread_;  // the last: it uses the others
};

}  // namespace timingwheel::test
