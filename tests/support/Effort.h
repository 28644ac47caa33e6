#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

/// How much a test with threads does, and how long it may take.
namespace timingwheel::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kIsSanitized = true;
#    else
inline constexpr bool kIsSanitized = false;
#    endif
#else
inline constexpr bool kIsSanitized = false;
#endif

/// The constant by which a sanitizer build divides all counts.
inline constexpr std::uint64_t kSanitizerDivisor = 10;

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

/// Makes a failure of what would be a hang: ends the process with a message when it lives too long.
class Watchdog {
public:
    explicit Watchdog(char const* what, std::chrono::seconds limit = std::chrono::seconds{20})
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
        return (kIsSanitized ? 6 : 1) * (scale > 1 ? static_cast<int>(scale) + 1 : 1);
    }

    void watch(char const* what, std::chrono::seconds limit) {
        std::unique_lock lock{mutex_};
        auto const end = std::chrono::steady_clock::now() + limit;
        if (over_.wait_until(lock, end, [this] { return isOver_; })) return;
        std::fprintf(stderr, "watchdog: not over after %lld s: %s\n",
                     static_cast<long long>(limit.count()), what);
        std::abort();
    }

    std::mutex mutex_;
    std::condition_variable over_;
    bool isOver_ = false;
    std::thread thread_;  // the last: it uses the others
};

}  // namespace timingwheel::test
