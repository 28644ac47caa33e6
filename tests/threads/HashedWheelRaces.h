#pragma once

#include "CancelRaces.h"
#include "RaceExecutor.h"

#include <support/CountOfEach.h>
#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Races of a HashedWheelTimer on the real clock, with counts that the caller chooses. Its tick is
/// a millisecond at least, so each tick has many timeouts to race for.
namespace timingwheel::test {

/// {cancel, cancelAndWait, expire} over and over; what a task uses dies when cancelAndWait() has
/// returned: guarantees G4 and G5.
class HashedWheelCancelRace {
public:
    explicit HashedWheelCancelRace(RunsOn runsOn)
        : executor_{runsOn}, timer_{executor_.options<HashedWheelTimer>()} {}

    void run(std::uint64_t races) {
        inBatches(
            races / kBatch + 1, 2, [this](std::uint64_t) { schedule(); },
            [this](std::size_t worker, std::uint64_t) { compete(worker); },
            [this](std::uint64_t) { judge(); });
        std::string const where = std::string{" HashedWheelTimer, "} + executor_.name();
        Of const all{races_, 1'000'000};
        figure("G4", "not exactly one winner of cancel, cancelAndWait, expire," + where, broken_,
               exactly(0), all);
        figure("G4", "won by the expiry of cancel, cancelAndWait, expire," + where, ran_, noBound(),
               all);
        figure("G5", "tasks that saw poison after cancelAndWait," + where, sawPoison_.load(),
               exactly(0), all);
        figure("G5", "runs after cancelAndWait," + where, stillRan_, exactly(0), all);
        EXPECT_EQ(ran_ + cancelled_ + waited_, races_);
    }

private:
    static constexpr std::size_t kBatch = 1'024;

    struct Contest {
        Timeout timeout;
        std::unique_ptr<Prey> prey;
        std::atomic<int> runs{0};
        int runsAfterWait = 0;
        bool cancelWon = false;
        bool waitWon = false;
    };

    void schedule() {
        for (Contest& contest : contests_) {
            contest.runs.store(0, std::memory_order_relaxed);
            contest.prey = std::make_unique<Prey>();
            contest.timeout = timer_.newTimeout(
                [this, &contest, prey = contest.prey.get()] {
                    if (!prey->isAlive()) ++sawPoison_;
                    ++prey->touched;
                    contest.runs.fetch_add(1, std::memory_order_release);
                },
                random_[2].below(std::chrono::nanoseconds{std::chrono::microseconds{1'200}}));
        }
    }

    void compete(std::size_t worker) {
        // About when a tick comes: the batch takes a fraction of a millisecond.
        spinFor(random_[worker].below(std::chrono::nanoseconds{std::chrono::milliseconds{2}}));
        for (std::size_t i = 0; i < kBatch; ++i) {
            // One from each end: they meet in the middle.
            Contest& contest = contests_[worker == 0 ? i : kBatch - 1 - i];
            if (worker == 0) {
                contest.cancelWon = contest.timeout.cancel();
            } else {
                contest.waitWon = contest.timeout.cancelAndWait();
                contest.prey.reset();  // nothing may use it now
                contest.runsAfterWait = contest.runs.load(std::memory_order_acquire);
            }
        }
    }

    void judge() {
        for (Contest& contest : contests_) {
            int const runs = contest.runs.load(std::memory_order_acquire);
            int const winners = runs + (contest.cancelWon ? 1 : 0) + (contest.waitWon ? 1 : 0);
            bool const isCancelled = contest.cancelWon || contest.waitWon;
            ++races_;
            broken_ += winners == 1 ? 0U : 1U;
            broken_ += contest.timeout.isCancelled() == isCancelled ? 0U : 1U;
            broken_ += contest.timeout.isDone() == (runs == 1) ? 0U : 1U;
            stillRan_ += runs == contest.runsAfterWait ? 0U : 1U;
            ran_ += static_cast<std::uint64_t>(runs);
            cancelled_ += contest.cancelWon ? 1U : 0U;
            waited_ += contest.waitWon ? 1U : 0U;
        }
    }

    std::array<Random, 3> random_{Random{1}, Random{2}, Random{3}};
    std::array<Contest, kBatch> contests_;
    std::atomic<std::uint64_t> sawPoison_{0};
    std::uint64_t races_ = 0;
    std::uint64_t ran_ = 0;
    std::uint64_t cancelled_ = 0;
    std::uint64_t waited_ = 0;
    std::uint64_t broken_ = 0;
    std::uint64_t stillRan_ = 0;
    RaceExecutor executor_;
    HashedWheelTimer timer_;  // the last: its tasks use the others
};

/// In each round a new timer, which two threads stop while others schedule what is due soon, and
/// cancel: guarantee G10 in Netty's form, where only the caller that gets the tasks waits.
class HashedWheelStopRace {
public:
    HashedWheelStopRace(RunsOn runsOn, std::size_t schedulers)
        : executor_{runsOn},
          schedulers_{schedulers},
          handles_(schedulers),
          runs_{schedulers * kPerThread} {}

    void run(std::uint64_t rounds) {
        inBatches(
            rounds, kStoppers + schedulers_, [this](std::uint64_t) { makeTimer(); },
            [this](std::size_t worker, std::uint64_t round) {
                worker < kStoppers ? stop(round * kStoppers + worker)
                                   : schedule(worker - kStoppers);
            },
            [this](std::uint64_t) { judge(); });
        std::string const where = std::string{" HashedWheelTimer, "} + executor_.name();
        Of const all{rounds, 5'000};
        EXPECT_EQ(accepted_, allRan_ + allCancelled_ + allReturned_);
        figure("G10", "rounds that did not balance where two stop and many schedule," + where,
               wrong_, exactly(0), all);
        figure("G10", "runs seen after stop() had returned what was pending," + where, late_.load(),
               exactly(0), all);
        EXPECT_GT(refused_.load(), 0U);
    }

private:
    static constexpr std::size_t kStoppers = 2;
    static constexpr std::size_t kPerThread = 64;

    void makeTimer() {
        timer_.emplace(executor_.options<HashedWheelTimer>());
        inside_ = 0;
        runs_.reset();
        returned_ = 0;
        cancelled_ = 0;
        isOver_ = false;
        for (auto& ofThread : handles_) ofThread.clear();
    }

    void stop(std::uint64_t seed) {
        spinFor(Random{seed + 1}.below(std::chrono::nanoseconds{std::chrono::milliseconds{2}}));
        StoppedTimeouts const stopped = timer_->stop();
        if (stopped.empty()) return;  // the other one may be at it still
        if (inside_.load() != 0) ++late_;
        isOver_.store(true);
        returned_ += stopped.size();
        for (StoppedTimeout const& one : stopped) late_ += one.timeout().isReturned() ? 0U : 1U;
    }

    void schedule(std::size_t scheduler) {
        try {
            for (std::size_t i = 0; i < kPerThread; ++i) {
                Timeout const t = timer_->newTimeout(
                    [this, number = scheduler * kPerThread + i, held = witness_] {
                        static_cast<void>(held);
                        ++inside_;
                        if (isOver_.load()) ++late_;
                        runs_.count(number);
                        --inside_;
                    },
                    i % 2 == 0 ? Duration{std::chrono::microseconds{i * 10}}
                               : Duration{std::chrono::hours{1}});
                handles_[scheduler].push_back(t);
                if (i % 4 == 1 && t.cancel()) ++cancelled_;
                if (i % 8 == 4 && t.cancelAndWait()) ++cancelled_;
                if (i % 8 == 7) std::this_thread::yield();
                if (i % 16 == 15) spinFor(std::chrono::microseconds{200});
            }
        } catch (std::logic_error const&) {
            ++refused_;
        }
    }

    void judge() {
        std::uint64_t expired = 0;
        std::uint64_t returned = 0;
        std::uint64_t cancelled = 0;
        std::uint64_t accepted = 0;
        bool eachIsRight = true;
        for (std::size_t scheduler = 0; scheduler < schedulers_; ++scheduler) {
            for (std::size_t i = 0; i < kPerThread; ++i) {
                bool const isAccepted = i < handles_[scheduler].size();
                Timeout const timeout = isAccepted ? handles_[scheduler][i] : Timeout{};
                accepted += isAccepted ? 1U : 0U;
                expired += timeout.isExpired() ? 1U : 0U;
                returned += timeout.isReturned() ? 1U : 0U;
                cancelled += timeout.isCancelled() && !timeout.isReturned() ? 1U : 0U;
                int const runs = runs_.of(scheduler * kPerThread + i);
                eachIsRight = eachIsRight && runs == (timeout.isExpired() ? 1 : 0) &&
                              timeout.isCancelled() == (isAccepted && runs == 0);
            }
        }
        bool isRight = eachIsRight && returned == returned_.load() &&
                       cancelled == cancelled_.load() && timer_->pendingTimeouts() == 0;
        timer_.reset();
        isRight = isRight && witness_.use_count() == 1;  // handles keep no captures
        wrong_ += isRight ? 0U : 1U;
        accepted_ += accepted;
        allRan_ += expired;
        allCancelled_ += cancelled_.load();
        allReturned_ += returned_.load();
    }

    RaceExecutor executor_;
    std::size_t const schedulers_;
    std::vector<std::vector<Timeout>> handles_;
    std::atomic<int> inside_{0};
    std::atomic<bool> isOver_{false};
    CountOfEach runs_;
    std::atomic<std::uint64_t> returned_{0};
    std::atomic<std::uint64_t> cancelled_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> late_{0};
    std::shared_ptr<int> witness_ = std::make_shared<int>();
    std::uint64_t accepted_ = 0;
    std::uint64_t allRan_ = 0;
    std::uint64_t allCancelled_ = 0;
    std::uint64_t allReturned_ = 0;
    std::uint64_t wrong_ = 0;
    std::optional<HashedWheelTimer> timer_;  // the last: its tasks use the others
};

/// Many threads schedule and cancel under a limit: guarantee G18. The limit is released at the tick
/// after a cancel.
inline void loadAHashedWheelUpToTheLimit(std::size_t threads, std::uint64_t operations,
                                         std::size_t limit) {
    HashedWheelTimer timer{{.tick = std::chrono::milliseconds{1},
                            .ticksPerWheel = 4,
                            .maxPendingTimeouts = limit,
                            .leakDetection = false}};
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    std::uint64_t const each = operations / threads;
    CountOfEach outcomes{threads * each};
    std::atomic<std::uint64_t> above{0};
    together(threads, [&](std::size_t thread) {
        Random random{thread + 1};
        for (std::uint64_t i = 0; i < each; ++i) {
            std::size_t const number = thread * each + i;
            try {
                Timeout const t = timer.newTimeout(
                    [&outcomes, number] { outcomes.count(number); },
                    random.below(std::chrono::nanoseconds{std::chrono::milliseconds{2}}));
                ++accepted;
                if (random.below(2) == 0 && t.cancel()) outcomes.count(number);
            } catch (RejectedExecution const&) {
                ++refused;
                outcomes.count(number);
                std::this_thread::yield();
            }
            if (i % 16 == 0 && timer.pendingTimeouts() > limit) ++above;
        }
    });
    waitUntil([&] { return timer.pendingTimeouts() == 0; });
    figure("G18", "times above the limit, HashedWheelTimer", above.load(), exactly(0),
           {operations, 10'000'000});
    figure("G18", "times above the limit, by the number of threads, HashedWheelTimer", above.load(),
           exactly(0), {threads, 32});
    EXPECT_GT(refused.load(), 0U);
    EXPECT_EQ(timer.statistics().refused, refused.load());
    for (std::size_t i = 0; i < limit; ++i) timer.newTimeout([] {}, std::chrono::hours{1});
    EXPECT_THROW(timer.newTimeout([] {}, std::chrono::hours{1}), RejectedExecution);
    EXPECT_EQ(timer.stop().size(), limit);
    EXPECT_EQ(accepted.load() + refused.load(), outcomes.size());
    figure("G18", "not exactly once refused, run or cancelled, HashedWheelTimer",
           outcomes.otherThan(1), exactly(0), {operations, 10'000'000});
}

/// Schedules and cancels timeouts that would be due in an hour: guarantee G6 within a tick. The
/// limit of pending ones, which count until then, keeps the threads from running ahead of the
/// worker.
inline void cancelFarHashedWheelTimeouts(std::uint64_t pairs, std::size_t threads) {
    constexpr std::size_t kLimit = 50'000;
    auto const witness = std::make_shared<int>();
    std::atomic<std::uint64_t> cancelled{0};
    std::atomic<std::uint64_t> refused{0};
    HashedWheelTimer timer{{.tick = std::chrono::milliseconds{1},
                            .ticksPerWheel = 8,
                            .maxPendingTimeouts = kLimit,
                            .leakDetection = false}};
    together(threads, [&](std::size_t) {
        for (std::uint64_t i = 0; i < pairs / threads;) {
            try {
                cancelled += timer.newTimeout([witness] {}, std::chrono::hours{1}).cancel() ? 1 : 0;
                ++i;
            } catch (RejectedExecution const&) {
                ++refused;
                std::this_thread::yield();
            }
        }
    });
    waitUntil([&] { return timer.pendingTimeouts() == 0; });
    waitUntil([&] { return witness.use_count() == 1; });
    EXPECT_EQ(cancelled.load(), pairs / threads * threads);
    figure("G6", "captures left a tick after cancelling an hour ahead, HashedWheelTimer",
           witness.use_count() - 1, exactly(0), {cancelled.load(), 10'000'000});
    EXPECT_EQ(timer.statistics().cancelled, cancelled.load());
    EXPECT_EQ(timer.stop().size(), 0U);
}

/// One timeout at a time, run or cancelled, each for a worker that has gone to sleep, or is about
/// to: a wake-up that is lost hangs.
inline void wakeAHashedWheel(std::uint64_t rounds) {
    HashedWheelTimer timer{{.tick = std::chrono::milliseconds{1}, .leakDetection = false}};
    Random random{11};
    std::uint64_t cancelled = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::atomic<bool> ran{false};
        Timeout const t = timer.newTimeout([&ran] { ran = true; }, std::chrono::nanoseconds{0});
        if (round % 2 == 1) {
            spinFor(random.below(std::chrono::nanoseconds{std::chrono::milliseconds{1}}));
            cancelled += t.cancel() ? 1U : 0U;
        }
        waitUntil([&] { return timer.pendingTimeouts() == 0 && (ran || t.isCancelled()); });
        spinFor(random.below(std::chrono::nanoseconds{std::chrono::microseconds{50}}));
    }
    EXPECT_EQ(timer.statistics().fired + cancelled, rounds);
    EXPECT_EQ(timer.statistics().cancelled, cancelled);
    EXPECT_EQ(timer.stop().size(), 0U);
}

}  // namespace timingwheel::test
