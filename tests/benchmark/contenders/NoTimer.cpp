#include "compare/Filled.h"

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

// What a schedule and a cancel consist of in every timer: measured apart, so that a timer is judged
// by the machine that it ran on.

namespace timingwheel::bench {
namespace {

using loads::Steady;

/// Nanoseconds of one of what `once` does.
template <class Once>
Result repeat(Request const& request, Once&& once) {
    constexpr std::size_t kTimes = 1'000;
    // A lock is cheaper in a process with a single thread, where no timer of these is used.
    std::promise<void> done;
    std::thread other{[end = done.get_future()] { end.wait(); }};
    std::size_t times = 0;
    auto const start = Steady::now();
    auto now = start;
    do {
        for (std::size_t i = 0; i < kTimes; ++i) once();
        times += kTimes;
        now = Steady::now();
    } while (now - start < request.budget);
    done.set_value();
    other.join();
    return {{"ns", loads::count(now - start) / static_cast<double>(times)}};
}

Result readClock(Request const& request) {
    return repeat(request, [] {
        auto now = Steady::now();
        asm volatile("" : "+m"(now));
    });
}

Result lock(Request const& request) {
    std::mutex mutex;
    return repeat(request, [&] { std::lock_guard const guard{mutex}; });
}

Result allocate(Request const& request) {
    return repeat(request, [] {
        struct Node {
            std::byte bytes[64];
        };
        auto node = std::make_unique<Node>();
        asm volatile("" : : "r"(node.get()) : "memory");
    });
}

Registration const registration{{
                                    .id = "ClockRead",
                                    .title = "clock read",
                                    .usage = "no timer: one `std::chrono::steady_clock::now()`",
                                    .variant = true,
                                },
                                {{"clock", readClock}, {"lock", lock}, {"allocation", allocate}}};

}  // namespace
}  // namespace timingwheel::bench
