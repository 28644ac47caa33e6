#pragma once

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

/// When the driver thread sleeps and when it wakes.
namespace timingwheel::test {

/// Sleeps of a timer's thread, and its processor time in clock ticks of 10 ms, while time passes.
struct Activity {
    std::uint64_t switches = 0;
    std::uint64_t processorTime = 0;
};

inline Activity watchDriver(std::string const& name, std::chrono::milliseconds time) {
    waitUntil([&] { return findThread(name) != 0; });
    long const thread = findThread(name);
    // It has come to rest when it sleeps and has not switched for a while. That it has not switched
    // is not enough: on a busy machine it may still wait for its turn.
    std::uint64_t before = voluntarySwitches(thread);
    for (int quiet = 0; quiet < 3;) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        std::uint64_t const now = voluntarySwitches(thread);
        quiet = now == before && isAsleep(thread) ? quiet + 1 : 0;
        before = now;
    }
    std::uint64_t const processor = processorTime(thread);
    std::this_thread::sleep_for(time);
    return {voluntarySwitches(thread) - before, processorTime(thread) - processor};
}

/// An empty timer, one timeout that never comes, and many that are far away: guarantees G21, G25.
inline void watchIdleTimers(std::chrono::milliseconds time, std::uint64_t farTimeouts) {
    auto const print = [time](char const* promise, char const* what, Activity activity) {
        Of const all{static_cast<std::uint64_t>(time.count()), 10'000};
        figure(promise, std::string{"context switches of the driver in so many ms, "} + what,
               activity.switches, exactly(0), all);
        figure(promise, std::string{"its processor time in units of 10 ms, "} + what,
               activity.processorTime, atMost(1), all);
    };
    {
        SystemTimer timer{{.name = "idle-empty"}};
        timer.start();
        print("G21", "an empty timer", watchDriver("idle-empty", time));
    }
    {
        SystemTimer timer{{.name = "idle-never"}};
        Timeout const never = timer.newTimeout([] {}, Duration::max());
        print("G25", "one timeout at max()", watchDriver("idle-never", time));
        EXPECT_TRUE(never.isPending());
    }
    {
        SystemTimer timer{{.name = "idle-far"}};
        for (std::uint64_t i = 0; i < farTimeouts; ++i)
            timer.newTimeout([] {}, std::chrono::hours{1} + std::chrono::microseconds{i});
        print("G21", "many timeouts an hour away", watchDriver("idle-far", time));
        EXPECT_EQ(timer.pendingTimeouts(), farTimeouts);
    }
}

/// Ever shorter timeouts wake the driver at most once for each tick: guarantee G22.
inline void insertDescending(std::uint64_t timeouts) {
    constexpr std::uint64_t kPerTick = 100;
    // Each tick of the next minute has a bucket of its own.
    SystemTimer timer{{.wheelSize = 65'536}};
    std::uint64_t const ticks = timeouts / kPerTick;
    auto const start = timer.clock().now() + std::chrono::seconds{20};
    for (std::uint64_t i = 0; i < timeouts; ++i)
        timer.newTimeout([] {}, start + (ticks - i / kPerTick) * std::chrono::milliseconds{1});
    std::uint64_t const wakeUps = timer.statistics().wakeUps;
    figure("G22", "wake-ups for descending deadlines, 100 to a tick", wakeUps, atMost(ticks + 1),
           {timeouts, 1'000'000});
    EXPECT_EQ(timer.stop().size(), timeouts);
}

/// The driver sleeps until far; a shorter timeout wakes it, again and again, on several threads.
inline void wakeForShorterOnes(std::size_t threads, std::uint64_t times) {
    SystemTimer timer{{.tick = std::chrono::microseconds{10}}};
    Timeout const far = timer.newTimeout([] {}, std::chrono::hours{1});
    std::vector<std::vector<std::chrono::nanoseconds>> latencies(threads);
    together(threads, [&](std::size_t thread) {
        Random random{thread};
        latencies[thread].reserve(times);
        for (std::uint64_t i = 0; i < times; ++i) {
            std::atomic<bool> ran{false};
            auto const deadline =
                timer.clock().now() + random.below(std::chrono::nanoseconds{20'000});
            timer.newTimeout([&ran] { ran.store(true, std::memory_order_release); }, deadline);
            // A wake-up that was lost would keep this waiting for an hour: the watchdog ends it.
            waitUntil([&ran] { return ran.load(std::memory_order_acquire); });
            latencies[thread].push_back(timer.clock().now() - deadline);
        }
    });
    std::vector<std::chrono::nanoseconds> all;
    for (auto& ofThread : latencies) all.insert(all.end(), ofThread.begin(), ofThread.end());
    std::printf(
        "wake-ups: %zu threads, %llu shorter timeouts each: seen after p50 %lld, p99 %lld, "
        "max %lld us\n",
        threads, static_cast<unsigned long long>(times),
        static_cast<long long>(quantile(all, 0.5) / std::chrono::microseconds{1}),
        static_cast<long long>(quantile(all, 0.99) / std::chrono::microseconds{1}),
        static_cast<long long>(quantile(all, 1.0) / std::chrono::microseconds{1}));
    EXPECT_GE(quantile(all, 0.0).count(), 0);
    EXPECT_TRUE(far.cancel());
}

}  // namespace timingwheel::test
