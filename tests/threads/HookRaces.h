#pragma once

#include "CancelRaces.h"

#include <support/Figure.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

/// Races around user-owned tasks.
namespace timingwheel::test {

/// {schedule 0 to 2 ticks, destroy the object that holds the hook} on two threads: the hook's
/// destructor waits for a run that has begun. Every third task schedules itself again.
inline std::uint64_t raceHookDestructor(std::size_t poolThreads, std::uint64_t rounds) {
    struct Owner {
        Owner(SystemTimer& itsTimer, std::atomic<std::uint64_t>& itsRuns,
              std::atomic<std::uint64_t>& itsErrors, bool isItAgain)
            : timer{itsTimer}, runs{itsRuns}, sawPoison{itsErrors}, again{isItAgain} {}
        void run() {
            if (!prey.isAlive()) ++sawPoison;
            ++runs;
            if (again) timer.schedule(hook, timer.tick());
            if (!prey.isAlive()) ++sawPoison;
        }
        SystemTimer& timer;
        std::atomic<std::uint64_t>& runs;
        std::atomic<std::uint64_t>& sawPoison;
        bool again;
        Prey prey;
        TimerHook<&Owner::run> hook{*this};
    };

    constexpr std::size_t kBatch = 32;
    constexpr std::size_t kThreads = 2;
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> sawPoison{0};
    Runners runners{poolThreads};
    SystemTimer timer{runners.options()};
    together(kThreads, [&](std::size_t thread) {
        Random random{thread + 70};
        for (std::uint64_t round = 0; round < rounds / kThreads; round += kBatch) {
            std::array<std::unique_ptr<Owner>, kBatch> owners;
            for (auto& owner : owners) {
                owner = std::make_unique<Owner>(timer, runs, sawPoison, random.below(3) == 0);
                timer.schedule(owner->hook, static_cast<int>(random.below(3)) * timer.tick());
            }
            spinFor(random.below(std::chrono::microseconds{100}));
            for (auto& owner : owners) owner.reset();
        }
    });
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    figure("G5", "runs that saw poison after the end of the hook, " + runners.name(),
           sawPoison.load(), exactly(0), {rounds, 1'000'000});
    return runs;
}

/// Two threads schedule a hook that no timer has seen, and it is due at once: it must not get two
/// shards. Then the one that made it destroys it, which waits for a run that has begun. That no
/// share is left is for the leak sanitizer.
inline void raceFirstSchedules(std::uint64_t rounds) {
    struct Owner {
        void run() {
            if (!prey.isAlive()) ++*sawPoison;
            ++*runs;
        }
        std::atomic<std::uint64_t>* runs;
        std::atomic<std::uint64_t>* sawPoison;
        Prey prey;
        TimerHook<&Owner::run> hook{*this};
    };
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> sawPoison{0};
    std::atomic<Owner*> shared{nullptr};
    std::atomic<std::uint64_t> round{0};
    std::atomic<std::uint64_t> answered{0};
    SystemTimer timer{{.shards = 8}};
    auto const scheduleIt = [&](Owner& owner) {
        timer.schedule(owner.hook, std::chrono::nanoseconds{0});
    };
    together(2, [&](std::size_t thread) {
        for (std::uint64_t r = 1; r <= rounds; ++r) {
            if (thread == 0) {
                Owner owner{&runs, &sawPoison, {}};
                shared.store(&owner);
                round.store(r);
                scheduleIt(owner);
                waitUntil([&] { return answered.load() == r; });
                owner.hook.cancelAndWait();
            } else {
                waitUntil([&] { return round.load() == r; });
                scheduleIt(*shared.load());
                answered.store(r);
            }
        }
    });
    EXPECT_EQ(sawPoison.load(), 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.scheduled + s.rescheduled, 2 * rounds) << "the later one moves it, or comes after";
    EXPECT_EQ(s.fired, runs.load());
    EXPECT_EQ(s.fired + s.cancelled, s.scheduled);
}

/// Several threads schedule the same hooks: one schedule of each is accepted, and the others move
/// it.
inline void raceScheduleOfOneHook(std::size_t threads, std::uint64_t rounds) {
    struct Owner {
        void run() { ++runs; }
        std::atomic<std::uint64_t> runs{0};
        TimerHook<&Owner::run> hook{*this};
    };
    constexpr std::size_t kBatch = 128;
    std::array<Owner, kBatch> owners;
    std::uint64_t wrong = 0;
    std::uint64_t const batches = rounds / kBatch + 1;
    SystemTimer timer;
    inBatches(
        batches, threads, [](std::uint64_t) {},
        [&](std::size_t thread, std::uint64_t) {
            for (Owner& owner : owners) timer.schedule(owner.hook, std::chrono::hours{1 + thread});
        },
        [&](std::uint64_t) {
            for (Owner& owner : owners) {
                wrong += owner.hook.cancel() ? 0U : 1U;
                wrong += owner.runs.load() == 0 ? 0U : 1U;
            }
        });
    EXPECT_EQ(wrong, 0U);
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.scheduled, batches * kBatch);
    EXPECT_EQ(s.rescheduled, (threads - 1) * batches * kBatch);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

/// Hooks that are pushed back from several threads while they expire and while one thread cancels.
class PushBackRace {
public:
    PushBackRace(std::size_t poolThreads, std::size_t pushers)
        : runners_{poolThreads}, pushers_{pushers}, timer_{runners_.options()} {}

    void run(std::uint64_t rounds) {
        inBatches(
            rounds / kBatch + 1, pushers_ + 1, [this](std::uint64_t) { schedule(); },
            [this](std::size_t worker, std::uint64_t) {
                worker == 0 ? cancel() : push(worker - 1);
            },
            [this](std::uint64_t) { judge(); });
        Of const all{ran_ + cancelled_, 200'000};
        figure("G3", "hooks without one outcome while they are pushed back, " + runners_.name(),
               wrong_, exactly(0), all);
        figure("G1", "hooks that ran early while they are pushed back, " + runners_.name(), early_,
               exactly(0), all);
        EXPECT_EQ(timer_.pendingTimeouts(), 0U);
        timer_.checkInvariants();
    }

private:
    static constexpr std::size_t kBatch = 64;
    static constexpr std::size_t kMaxPushers = 8;
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    static constexpr std::chrono::microseconds kSpread{200};

    struct Owner {
        void run() {
            ranAt.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                        std::memory_order_relaxed);
            runs.fetch_add(1, std::memory_order_release);
        }
        std::atomic<std::int64_t> ranAt{0};
        std::atomic<int> runs{0};
        bool cancelled = false;
        /// The deadline of each thread's last reschedule that won.
        std::array<std::int64_t, kMaxPushers> last{};
        TimerHook<&Owner::run> hook{*this};
    };

    void schedule() {
        for (Owner& owner : owners_) {
            owner.runs.store(0, std::memory_order_relaxed);
            owner.cancelled = false;
            owner.last.fill(kNone);
            timer_.schedule(owner.hook, kSpread + random_[kMaxPushers].below(kSpread));
        }
    }

    void cancel() {
        spinFor(random_[kMaxPushers + 1].below(3 * kSpread));
        for (std::size_t i = 0; i < kBatch; i += 2) owners_[i].cancelled = owners_[i].hook.cancel();
    }

    void push(std::size_t pusher) {
        Random& random = random_[pusher];
        for (int turn = 0; turn < 4; ++turn) {
            for (Owner& owner : owners_) {
                auto const deadline = timer_.clock().now() + kSpread / 2 + random.below(kSpread);
                if (!owner.hook.reschedule(deadline)) continue;
                owner.last[pusher] = deadline.time_since_epoch().count();
                pushed_.fetch_add(1, std::memory_order_relaxed);
            }
        }
    }

    void judge() {
        for (Owner& owner : owners_) {
            waitUntil(
                [&] { return owner.cancelled || owner.runs.load(std::memory_order_acquire) > 0; });
            int const runs = owner.runs.load(std::memory_order_acquire);
            ran_ += static_cast<std::uint64_t>(runs);
            cancelled_ += owner.cancelled ? 1U : 0U;
            wrong_ += runs + (owner.cancelled ? 1 : 0) == 1 ? 0U : 1U;
            // The last of all that won is the last of one of the threads.
            std::int64_t const least = *std::min_element(owner.last.begin(), owner.last.end());
            if (runs > 0 && least != kNone && owner.ranAt.load() < least) ++early_;
        }
    }
    static unsigned long long count(std::uint64_t value) noexcept { return value; }

    std::array<Random, kMaxPushers + 2> random_{Random{1}, Random{2}, Random{3}, Random{4},
                                                Random{5}, Random{6}, Random{7}, Random{8},
                                                Random{9}, Random{10}};
    std::array<Owner, kBatch> owners_;
    std::atomic<std::uint64_t> pushed_{0};
    std::uint64_t ran_ = 0;
    std::uint64_t cancelled_ = 0;
    std::uint64_t wrong_ = 0;
    std::uint64_t early_ = 0;
    Runners runners_;
    std::size_t const pushers_;
    SystemTimer timer_;  // the last: its tasks use the others
};

}  // namespace timingwheel::test
