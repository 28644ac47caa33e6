#pragma once

#include <support/CountOfEach.h>
#include <support/Effort.h>
#include <support/Figure.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#if defined(__GLIBC__)
#    include <malloc.h>
#endif

/// Load: limits, memory, latencies.
namespace timingwheel::test {

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
    std::string const what = shards == 1 ? ", one shard" : ", a shard for each processor";
    Of const all{operations, 10'000'000};
    figure("G18", "times above the limit" + what, above.load(), exactly(0), all);
    figure("G18", "pending at the end" + what, timer.pendingTimeouts(), exactly(0), all);
    figure("G18", "cancels that failed, by the number of threads" + what, lost.load(), exactly(0),
           {threads, 32});
    std::cout << "pending at most: " << most.load() << " of " << limit << '\n';
    EXPECT_EQ(timer.statistics().refused, refused.load());
    // The limit is free again.
    for (std::size_t i = 0; i < limit; ++i) timer.newTimeout([] {}, std::chrono::hours{1});
    EXPECT_THROW(timer.newTimeout([] {}, std::chrono::hours{1}), RejectedExecution);
}

/// What malloc has handed out, in bytes.
inline std::int64_t allocatedMemory() {
#if defined(__GLIBC__)
#    if __GLIBC_PREREQ(2, 33)
    if (!kIsSanitized) {
        struct mallinfo2 const info = mallinfo2();
        return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
    }
#    endif
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
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    // A sanitizer keeps what was freed.
    figure("G6", "bytes more allocated after schedules and cancels an hour ahead", growth,
           kIsSanitized ? noBound() : atMost(1'000'000), {pairs, 10'000'000});
    figure("G6", "bytes more resident after them", residentMemory() - residentBefore, noBound(),
           {pairs, 10'000'000});
}

/// So many timeouts at once, cancelled and dropped: what they took can be given back. Guarantee G6.
inline void giveABurstBack(std::size_t count) {
    SystemTimer timer;
    timer.newTimeout([] {}, std::chrono::hours{1}).cancel();  // the levels
    std::int64_t const allocatedBefore = allocatedMemory();
    std::int64_t const residentBefore = residentMemory();
    std::int64_t most = 0;
    {
        std::vector<Timeout> burst;
        burst.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            burst.push_back(timer.newTimeout([] {}, std::chrono::hours{1}));
        most = allocatedMemory() - allocatedBefore;
        for (Timeout const& timeout : burst) timeout.cancel();
    }
    std::int64_t const left = allocatedMemory() - allocatedBefore;
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    Of const all{count, 1'000'000};
    figure("G6", "bytes allocated for a burst of timeouts", most, noBound(), all);
    figure("G6", "bytes of them left when all were cancelled", left,
           kIsSanitized ? noBound() : atMost(1'000'000), all);
    figure("G6", "bytes of them resident after malloc_trim()", residentMemory() - residentBefore,
           noBound(), all);
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
    for (std::uint64_t round = 0; made < rounds; round += kPerTimer) {
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
    EXPECT_LE(deaths.load(), made);
    figure("G6", "captures that did not use the timer when they died, on four threads",
           made - deaths.load(), exactly(0), {made, 10'000});
}

/// So many timeouts in one bucket; another thread schedules while they run: guarantee G20.
inline void stormFromOneBucket(std::uint64_t timeouts, std::size_t shards) {
    using std::chrono::nanoseconds;
    CountOfEach runs{timeouts};
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> more{0};
    SystemTimer timer{{.shards = shards}};
    auto const patience =
        std::chrono::milliseconds{100} + nanoseconds{timeouts * (kIsSanitized ? 10'000 : 1'000)};
    auto const deadline = timer.clock().now() + patience;
    for (std::uint64_t i = 0; i < timeouts; ++i) {
        auto const task = [&runs, &ran, i] {
            runs.count(i);
            ran.fetch_add(1, std::memory_order_relaxed);
        };
        timer.newTimeout(task, deadline);
    }
    bool const wasInTime = timer.clock().now() < deadline;

    std::vector<nanoseconds> latencies;
    latencies.reserve(timeouts);
    std::uint64_t lost = 0;
    while (ran.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    while (ran.load(std::memory_order_relaxed) < timeouts && latencies.size() < timeouts) {
        auto const before = timer.clock().now();
        Timeout const timeout = timer.newTimeout([&more] { ++more; }, std::chrono::hours{1});
        latencies.push_back(timer.clock().now() - before);
        lost += timeout.cancel() ? 0U : 1U;
    }
    timer.drain();  // nothing runs any more
    EXPECT_EQ(lost, 0U);
    EXPECT_EQ(more, 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    if (!wasInTime) std::cout << "the bucket was filled too late: it ran meanwhile\n";
    std::string const when =
        " while one bucket runs, " + std::to_string(shards) + (shards == 1 ? " shard" : " shards");
    auto const microseconds = [&](double part) {
        return static_cast<double>(quantile(latencies, part).count()) / 1'000;
    };
    Of const all{timeouts, 1'000'000};
    figure("G20", "not run exactly once" + when, runs.otherThan(1), exactly(0), all);
    figure("G20", "calls of schedule()" + when, latencies.size(), noBound(), all);
    if (latencies.empty()) return;  // it was over at once
    figure("G20", "schedule()" + when + ", p50, us", microseconds(0.5), noBound(), all);
    figure("G20", "schedule()" + when + ", p99, us", microseconds(0.99), aboutAtMost(50), all);
    figure("G20", "schedule()" + when + ", p99.9, us", microseconds(0.999), aboutAtMost(100), all);
    figure("G20", "schedule()" + when + ", longest, us", microseconds(1.0), noBound(), all);
}

}  // namespace timingwheel::test
