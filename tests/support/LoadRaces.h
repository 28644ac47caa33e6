#pragma once

#include <support/Effort.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <vector>

#if defined(__GLIBC__)
#    include <malloc.h>
#endif

/// Load: limits, memory, latencies.
namespace timingwheel::test {

inline unsigned long long printable(std::uint64_t value) noexcept { return value; }

/// Many threads schedule and cancel under a limit: guarantee G18.
inline void loadUpToTheLimit(std::size_t threads, std::uint64_t operations, std::size_t limit,
                             std::size_t shards) {
    SystemTimer timer{{.maxPendingTimeouts = limit, .shards = shards}};
    // Counted up after a schedule and down before a cancel: never more than are really pending.
    std::atomic<std::size_t> atLeast{0};
    std::atomic<std::size_t> most{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> above{0};
    std::atomic<std::uint64_t> lost{0};
    together(threads, [&](std::size_t thread) {
        Random random{thread};
        std::deque<Timeout> mine;
        for (std::uint64_t i = 0; i < operations / threads; ++i) {
            if (mine.empty() || random.below(5) < 3) {
                try {
                    mine.push_back(timer.newTimeout([] {}, std::chrono::hours{1}));
                } catch (RejectedExecution const&) {
                    ++refused;
                    if (mine.empty()) continue;
                    atLeast.fetch_sub(1);
                    lost += mine.front().cancel() ? 0U : 1U;
                    mine.pop_front();
                    continue;
                }
                std::size_t const now = atLeast.fetch_add(1) + 1;
                if (now > limit) ++above;
                std::size_t seen = most.load(std::memory_order_relaxed);
                while (now > seen && !most.compare_exchange_weak(seen, now)) {
                }
                // One shard counts under one lock: its sum is exact at any moment.
                if (shards == 1 && i % 64 == 0 && timer.pendingTimeouts() > limit) ++above;
            } else {
                atLeast.fetch_sub(1);
                lost += mine.front().cancel() ? 0U : 1U;
                mine.pop_front();
            }
        }
        for (Timeout const& timeout : mine) {
            atLeast.fetch_sub(1);
            lost += timeout.cancel() ? 0U : 1U;
        }
    });
    std::printf(
        "G18: limit %zu, %zu threads, %llu operations: most %zu, refused %llu, above the "
        "limit %llu, at the end %zu\n",
        limit, threads, printable(operations), most.load(), printable(refused.load()),
        printable(above.load()), timer.pendingTimeouts());
    EXPECT_EQ(above.load(), 0U);
    EXPECT_EQ(lost.load(), 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().refused, refused.load());
    // All places are free again.
    for (std::size_t i = 0; i < limit; ++i) timer.newTimeout([] {}, std::chrono::hours{1});
    EXPECT_THROW(timer.newTimeout([] {}, std::chrono::hours{1}), RejectedExecution);
}

/// What malloc has handed out, in bytes.
inline std::int64_t allocatedMemory() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    if (!kIsSanitized) {
        struct mallinfo2 const info = mallinfo2();
        return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
    }
#endif
    return residentMemory();
}

/// Schedules and cancels timeouts that would be due in an hour, so many pending at a time:
/// guarantee G6.
inline void cancelFarTimeouts(std::uint64_t pairs, std::size_t threads) {
    constexpr std::size_t kPending = 1'000;
    SystemTimer timer;
    auto const turn = [&](std::uint64_t count) {
        together(threads, [&](std::size_t) {
            std::vector<Timeout> pending(kPending);
            for (std::uint64_t i = 0; i < count / threads; ++i) {
                Timeout& place = pending[i % kPending];
                place.cancel();
                place = timer.newTimeout([] {}, std::chrono::hours{1});
            }
            for (Timeout const& timeout : pending) timeout.cancel();
        });
    };
    turn(20 * kPending);
    std::int64_t const allocatedBefore = allocatedMemory();
    std::int64_t const residentBefore = residentMemory();
    turn(pairs);
    std::int64_t const growth = allocatedMemory() - allocatedBefore;
    std::printf(
        "G6: %llu schedules and cancels an hour ahead: %lld bytes more allocated, %lld more "
        "resident\n",
        printable(pairs), static_cast<long long>(growth),
        static_cast<long long>(residentMemory() - residentBefore));
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    // A sanitizer keeps what was freed.
    EXPECT_TRUE(kIsSanitized || growth <= 1'000'000);
}

/// A task whose captures use the timer again when they die.
class Reentrant {
public:
    Reentrant(SystemTimer& timer, Timeout other, std::atomic<std::uint64_t>& deaths)
        : timer_{&timer}, other_{std::move(other)}, deaths_{&deaths} {}
    Reentrant(Reentrant&& other) noexcept
        : timer_{std::exchange(other.timer_, nullptr)},
          other_{std::move(other.other_)},
          deaths_{other.deaths_} {}
    Reentrant& operator=(Reentrant&&) = delete;
    ~Reentrant() {
        if (timer_ == nullptr) return;
        ++*deaths_;
        try {
            other_.cancel();
            static_cast<void>(timer_->pendingTimeouts());
            timer_->newTimeout([] {}, std::chrono::milliseconds{1}).cancel();
            if (*deaths_ % 64 == 0) static_cast<void>(timer_->stop());
        } catch (std::logic_error const&) {
            // The timer was stopped, or this is one of its tasks.
        }
    }
    void operator()() const {}

private:
    SystemTimer* timer_;
    Timeout other_;
    std::atomic<std::uint64_t>* deaths_;
};

/// Tasks whose captures schedule, cancel, ask and stop when they die, on several threads.
inline void destroyReentrantCaptures(std::uint64_t rounds) {
    constexpr std::size_t kThreads = 4;
    constexpr std::uint64_t kPerTimer = 100;
    std::atomic<std::uint64_t> deaths{0};
    std::uint64_t made = 0;
    for (std::uint64_t round = 0; round < rounds; round += kPerTimer) {
        std::atomic<std::uint64_t> accepted{0};
        SystemTimer timer{{.tick = std::chrono::microseconds{100}}};
        together(kThreads, [&](std::size_t thread) {
            Random random{round + thread};
            for (std::uint64_t i = 0; i < kPerTimer / kThreads; ++i) {
                try {
                    Timeout const other = timer.newTimeout([] {}, std::chrono::hours{1});
                    ++accepted;  // one that is refused dies too
                    Timeout const timeout =
                        timer.newTimeout(Reentrant{timer, other, deaths},
                                         random.below(std::chrono::nanoseconds{200'000}));
                    if (random.below(2) == 0) timeout.cancel();
                } catch (std::logic_error const&) {
                    return;
                }
            }
        });
        static_cast<void>(timer.stop());
        made += accepted;
    }
    std::printf("G6: %llu captures used their timer when they died\n", printable(deaths.load()));
    EXPECT_EQ(deaths.load(), made);
}

/// So many timeouts in one bucket; another thread schedules while they run: guarantee G20.
inline void stormFromOneBucket(std::uint64_t timeouts, std::size_t shards) {
    using std::chrono::nanoseconds;
    std::atomic<std::uint64_t> ran{0};
    SystemTimer timer{{.shards = shards}};
    auto const patience =
        std::chrono::milliseconds{100} + nanoseconds{timeouts * (kIsSanitized ? 10'000 : 1'000)};
    auto const deadline = timer.clock().now() + patience;
    auto const ranOnce = [&ran] { ran.fetch_add(1, std::memory_order_relaxed); };
    for (std::uint64_t i = 0; i < timeouts; ++i) timer.newTimeout(ranOnce, deadline);
    bool const wasInTime = timer.clock().now() < deadline;

    std::vector<nanoseconds> latencies;
    latencies.reserve(timeouts);
    std::uint64_t more = 0;
    while (ran.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    auto const begin = timer.clock().now();
    while (ran.load(std::memory_order_relaxed) < timeouts && latencies.size() < timeouts) {
        auto const before = timer.clock().now();
        Timeout const timeout = timer.newTimeout(ranOnce, std::chrono::hours{1});
        latencies.push_back(timer.clock().now() - before);
        more += timeout.cancel() ? 0U : 1U;
    }
    auto const took = timer.clock().now() - begin;
    waitUntil([&] { return ran.load() >= timeouts; });
    std::printf(
        "G20: %llu timeouts in one bucket of %zu shard(s)%s, gone in %lld ms; schedule() "
        "meanwhile, %zu times: p50 %lld, p99 %lld, p99.9 %lld, max %lld ns\n",
        printable(timeouts), shards, wasInTime ? "" : " (filled too late)",
        static_cast<long long>(took.count() / 1'000'000), latencies.size(),
        static_cast<long long>(quantile(latencies, 0.5).count()),
        static_cast<long long>(quantile(latencies, 0.99).count()),
        static_cast<long long>(quantile(latencies, 0.999).count()),
        static_cast<long long>(quantile(latencies, 1.0).count()));
    EXPECT_EQ(ran.load(), timeouts);
    EXPECT_EQ(more, 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

}  // namespace timingwheel::test
