#pragma once

#include <support/Effort.h>
#include <support/Ledger.h>
#include <support/ThreadPool.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

/// Everything at once, with a ledger: guarantee G3.
namespace timingwheel::test {

enum class RunsOn { driver, pool, flakyPool };

inline char const* toString(RunsOn runsOn) noexcept {
    switch (runsOn) {
        case RunsOn::driver:
            return "inline";
        case RunsOn::pool:
            return "on a pool";
        case RunsOn::flakyPool:
            return "on a pool that refuses some";
    }
    return "";
}

/// One timer, a few threads that schedule, cancel, push back and ask at random, timeouts and hooks,
/// for so many operations in all; ended by stop() at a random moment, or by drain().
class LedgerRound {
public:
    LedgerRound(RunsOn runsOn, bool stopsEarly, std::uint64_t operations, std::uint64_t seed)
        : stopsEarly_{stopsEarly},
          operations_{operations},
          seed_{seed},
          ledger_{operations},
          handles_(operations) {
        TimerOptions options;
        options.tick = std::chrono::microseconds{100};
        options.errorHandler = [this](TaskFailure const& failure) { hear(failure); };
        if (runsOn == RunsOn::pool) options.executor = pool_.emplace(std::size_t{2});
        if (runsOn == RunsOn::flakyPool) options.executor = flaky_.emplace(2U, 50U);
        timer_.emplace(std::move(options));
    }

    /// How many operations were made: fewer than wanted if the timer was stopped early.
    std::uint64_t operationsMade() const noexcept { return made_.load(); }

    LedgerSum run() {
        std::thread stopper;
        if (stopsEarly_) {
            stopper = std::thread{[this] {
                Random random{seed_ + 99};
                // About 300 ns an operation: somewhere before the end, mostly.
                std::this_thread::sleep_for(std::chrono::microseconds{
                    static_cast<std::int64_t>(random.below(operations_ / 3 + 100))});
                bookReturned(timer_->stop());
            }};
        }
        together(kThreads, [this](std::size_t thread) { operate(thread); });
        if (stopper.joinable()) stopper.join();
        if (!stopsEarly_) timer_->drain();
        timer_->checkInvariants();
        EXPECT_EQ(timer_->pendingTimeouts(), 0U);
        bookTheRest();
        compareStatistics();
        timer_.reset();
        return ledger_.sum();
    }

private:
    static constexpr std::size_t kThreads = 4;
    static constexpr std::size_t kSlots = 32;  // of each thread
    static constexpr std::size_t kHooks = 16;  // of each thread

    struct Task {
        LedgerRound* round;
        Ledger::Id id;
        void operator()() const { round->ledger_.ran(id, round->timer_->clock().now()); }
    };

    struct Slot {
        std::mutex mutex;
        Timeout timeout;
        Ledger::Id id = 0;
    };

    struct HookOwner {
        void run() { round->ledger_.ran(id.load(), round->timer_->clock().now()); }
        LedgerRound* round = nullptr;
        std::atomic<Ledger::Id> id{0};
        std::atomic<bool> isUsed{false};
        TimerHook<&HookOwner::run> hook{*this};
    };

    void operate(std::size_t thread) {
        Random random{seed_ * 31 + thread};
        for (HookOwner& owner : hooks_[thread]) owner.round = this;
        std::uint64_t i = 0;
        try {
            for (; i < operations_ / kThreads; ++i) {
                std::uint64_t const dice = random.below(100);
                if (dice < 40) {
                    schedule(thread, random);
                } else if (dice < 60) {
                    cancel(random);
                } else if (dice < 75) {
                    reschedule(thread, random);
                } else if (dice < 90) {
                    useHook(thread, random);
                } else if (dice < 95) {
                    cancelHook(random);
                } else {
                    ask(random);
                }
            }
        } catch (std::logic_error const&) {
            EXPECT_TRUE(stopsEarly_);  // the timer was stopped
        }
        made_ += i;
    }

    Clock::TimePoint someTime(Random& random) {
        auto const most =
            random.below(2) == 0 ? std::chrono::milliseconds{1} : std::chrono::milliseconds{20};
        return timer_->clock().now() + random.below(most);
    }

    void schedule(std::size_t thread, Random& random) {
        auto const deadline = someTime(random);
        Ledger::Id const id = ledger_.open(deadline);
        Timeout timeout = timer_->newTimeout(Task{this, id}, deadline);
        ledger_.accept(id);
        handles_[id] = timeout;
        Slot& slot = slots_[thread * kSlots + random.below(kSlots)];
        std::lock_guard const lock{slot.mutex};
        slot.timeout = std::move(timeout);
        slot.id = id;
    }

    void cancel(Random& random) {
        Slot& slot = slots_[random.below(slots_.size())];
        Timeout timeout;
        Ledger::Id id = 0;
        {
            std::lock_guard const lock{slot.mutex};
            timeout = slot.timeout;
            id = slot.id;
        }
        bool const waits = random.below(8) == 0;
        if (waits ? timeout.cancelAndWait() : timeout.cancel()) {
            ledger_.book(id, Outcome::cancelled);
            EXPECT_TRUE(timeout.isCancelled());
        }
    }

    void reschedule(std::size_t thread, Random& random) {
        // Its own: what a deadline was last is known only to the one who moves it.
        Slot& slot = slots_[thread * kSlots + random.below(kSlots)];
        if (!slot.timeout) return;
        auto const deadline = someTime(random);
        if (timer_->reschedule(slot.timeout, deadline)) ledger_.agree(slot.id, deadline);
    }

    void useHook(std::size_t thread, Random& random) {
        HookOwner& owner = hooks_[thread][random.below(kHooks)];
        auto const deadline = someTime(random);
        if (owner.isUsed && !ledger_.hasEnded(owner.id)) {
            if (owner.hook.reschedule(deadline)) ledger_.agree(owner.id, deadline);
            return;
        }
        owner.id = ledger_.open(deadline);
        timer_->schedule(owner.hook, deadline);
        ledger_.accept(owner.id);
        owner.isUsed = true;
    }

    void cancelHook(Random& random) {
        HookOwner& owner = hooks_[random.below(kThreads)][random.below(kHooks)];
        if (owner.hook.cancel()) ledger_.book(owner.id, Outcome::cancelled);
    }

    void ask(Random& random) {
        Slot& slot = slots_[random.below(slots_.size())];
        Timeout timeout;
        {
            std::lock_guard const lock{slot.mutex};
            timeout = slot.timeout;
        }
        if (timeout.isPending()) static_cast<void>(timeout.remaining());
        EXPECT_FALSE(timeout.isCancelled() && timeout.isExpired());
        if (random.below(64) == 0) static_cast<void>(timer_->statistics());
    }

    void hear(TaskFailure const& failure) {
        // Refused, but the task had been cancelled meanwhile: nothing was rejected.
        if (failure.kind == TaskFailure::Kind::executorThrew) return;
        EXPECT_EQ(failure.kind, TaskFailure::Kind::rejected);
        ++(failure.timeout ? rejected_ : rejectedHooks_);
    }

    void bookReturned(StoppedTimeouts const& stopped) {
        for (auto const& one : stopped) {
            ledger_.book(one.target<Task>()->id, Outcome::returned);
            EXPECT_TRUE(one.timeout().isCancelled());
        }
        returned_ = stopped.size() + stopped.hooks();
        returnedHooks_ = stopped.hooks();
    }

    /// Of rejected timeouts the handles know, of returned and rejected hooks only how many.
    void bookTheRest() {
        std::uint64_t rejected = 0;
        for (Ledger::Id id = 0; id < handles_.size(); ++id) {
            if (!handles_[id].isRejected()) continue;
            ledger_.book(id, Outcome::rejected);
            ++rejected;
        }
        EXPECT_EQ(rejected, rejected_.load());
        std::uint64_t hooks = 0;
        for (auto& ofThread : hooks_) {
            for (HookOwner& owner : ofThread) {
                if (!owner.isUsed || !ledger_.isAccepted(owner.id)) continue;
                if (ledger_.hasEnded(owner.id)) continue;
                EXPECT_FALSE(owner.hook.isPending());
                ledger_.book(owner.id,
                             hooks < returnedHooks_ ? Outcome::returned : Outcome::rejected);
                ++hooks;
            }
        }
        EXPECT_EQ(hooks, returnedHooks_ + rejectedHooks_.load());
    }

    void compareStatistics() {
        TimerStatistics const statistics = timer_->statistics();
        LedgerSum const sum = ledger_.sum();
        EXPECT_EQ(statistics.scheduled, sum.accepted);
        EXPECT_EQ(statistics.fired, sum.ran);
        EXPECT_EQ(statistics.cancelled, sum.cancelled);
        EXPECT_EQ(statistics.returned, sum.returned);
        EXPECT_EQ(statistics.returned, returned_);
        EXPECT_EQ(statistics.rejected, sum.rejected);
    }

    bool const stopsEarly_;
    std::uint64_t const operations_;
    std::uint64_t const seed_;
    Ledger ledger_;
    std::vector<Timeout> handles_;
    std::array<Slot, kThreads * kSlots> slots_;
    std::array<std::array<HookOwner, kHooks>, kThreads> hooks_;
    std::atomic<std::uint64_t> rejected_{0};
    std::atomic<std::uint64_t> rejectedHooks_{0};
    std::atomic<std::uint64_t> made_{0};
    std::uint64_t returned_ = 0;
    std::uint64_t returnedHooks_ = 0;
    std::optional<boost::asio::thread_pool> pool_;
    std::optional<FlakyPool> flaky_;
    std::optional<SystemTimer> timer_;  // the last: its tasks use the others
};

/// Rounds of each kind until so many operations are done. Prints and checks the books.
inline void keepTheLedger(RunsOn runsOn, std::uint64_t operations,
                          std::uint64_t operationsOfRound) {
    LedgerSum sum;
    std::uint64_t rounds = 0;
    std::uint64_t made = 0;
    for (; made < operations; ++rounds) {
        LedgerRound round{runsOn, rounds % 2 == 0, operationsOfRound, rounds + 1};
        sum += round.run();
        made += round.operationsMade();
    }
    tellTheSum(std::string{"SystemTimer, "} + toString(runsOn), sum, {made, 10'000'000});
}

}  // namespace timingwheel::test
