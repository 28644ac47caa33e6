#pragma once

#include "RaceExecutor.h"

#include <support/AnyTimer.h>
#include <support/Effort.h>
#include <support/Ledger.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>
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
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// Everything at once, with a ledger: guarantee G3.
namespace timingwheel::test {

/// One timer, and a few threads that schedule, cancel, reschedule and ask at random, timeouts and
/// hooks, for so many operations in all. It ends by stop() at a random moment, or when nothing is
/// pending any more. A HashedWheelTimer has neither hooks nor reschedule(): there the threads
/// schedule and cancel more.
template <class T>
class LedgerRound {
public:
    LedgerRound(RunsOn runsOn, bool stopsEarly, std::uint64_t operations, std::uint64_t seed)
        : stopsEarly_{stopsEarly},
          operations_{operations},
          seed_{seed},
          ledger_{operations},
          handles_(operations),
          executor_{runsOn} {
        auto options = executor_.template options<T>();
        options.errorHandler = [this](TaskFailure const& failure) { hear(failure); };
        timer_.emplace(std::move(options));
    }

    /// How many operations were made: fewer than wanted if the timer was stopped early.
    std::uint64_t operationsMade() const noexcept { return made_.load(); }

    LedgerSum run() {
        std::thread stopper;
        if (stopsEarly_) {
            stopper = std::thread{[this] {
                std::uint64_t const stopsAt = 64 + Random{seed_ + 99}.below(operations_ / 2);
                while (begun_.load(std::memory_order_relaxed) < stopsAt) std::this_thread::yield();
                bookReturned(timer_->stop());
            }};
        }
        together(kThreads, [this](std::size_t thread) { operate(thread); });
        if (stopper.joinable()) stopper.join();
        if (!stopsEarly_) drain();
        EXPECT_TRUE(timer_->stop().empty());
        if constexpr (!kIsFlat) timer_->checkInvariants();
        EXPECT_EQ(timer_->pendingTimeouts(), 0U);
        bookTheRest();
        compareStatistics();
        timer_.reset();
        return ledger_.sum();
    }

private:
    static constexpr bool kIsFlat = std::is_same_v<T, HashedWheelTimer>;
    static constexpr std::size_t kThreads = 4;
    static constexpr std::size_t kSlots = 64;  // of each thread
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
                if (i % 16 == 0) begun_.fetch_add(16, std::memory_order_relaxed);
                if (kIsFlat && i % 256 == 255) spinFor(std::chrono::microseconds{200});  // a tick
                operateOnce(thread, random);
            }
        } catch (std::logic_error const&) {
            EXPECT_TRUE(stopsEarly_);  // the timer was stopped
        }
        made_ += i + 1;
    }

    void operateOnce(std::size_t thread, Random& random) {
        std::uint64_t const dice = random.below(100);
        if (dice < 40) return schedule(thread, random);
        if (dice < 60) return cancel(random);
        if (dice < 65) return ask(random);
        if constexpr (kIsFlat) {
            dice < 85 ? schedule(thread, random) : cancel(random);
        } else if (dice < 80) {
            reschedule(thread, random);
        } else if (dice < 95) {
            useHook(thread, random);
        } else {
            cancelHook(random);
        }
    }

    /// If the timer is stopped early, it always has some to return.
    std::chrono::nanoseconds someDelay(Random& random) const {
        if (stopsEarly_ && random.below(8) == 0) return std::chrono::hours{1};
        if (random.below(4) == 0) return std::chrono::nanoseconds{0};
        auto const most =
            random.below(3) == 0 ? std::chrono::milliseconds{1} : std::chrono::milliseconds{20};
        return random.below(std::chrono::nanoseconds{most});
    }
    Clock::TimePoint someTime(Random& random) { return timer_->clock().now() + someDelay(random); }

    /// What a deadline was last is known only to the one who moves it.
    Slot& ownSlot(std::size_t thread, Random& random) {
        return slots_[thread * kSlots + random.below(kSlots)];
    }

    void schedule(std::size_t thread, Random& random) {
        auto const delay = someDelay(random);
        auto const deadline = timer_->clock().now() + delay;
        Ledger::Id const id = ledger_.open(deadline);
        Timeout timeout;
        if constexpr (kIsFlat)
            timeout = timer_->newTimeout(Task{this, id}, delay);
        else
            timeout = timer_->newTimeout(Task{this, id}, deadline);
        ledger_.accept(id);
        handles_[id] = timeout;
        Slot& slot = kIsFlat ? slots_[random.below(slots_.size())] : ownSlot(thread, random);
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
        Slot& slot = ownSlot(thread, random);
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
        bool const wasDone = timeout.isDone();
        EXPECT_TRUE(!wasDone || timeout.isExpired());
        EXPECT_FALSE(timeout.isCancelled() && timeout.isExpired());
        static_cast<void>(timeout.remaining());
        static_cast<void>(timeout.task());
        static_cast<void>(timer_->pendingTimeouts());
        if (random.below(64) == 0) static_cast<void>(timer_->statistics());
    }

    void hear(TaskFailure const& failure) {
        // Refused, but the task had been cancelled meanwhile: nothing was rejected.
        if (failure.kind == TaskFailure::Kind::executorThrew) return;
        EXPECT_EQ(failure.kind, TaskFailure::Kind::rejected);
        ++(failure.timeout ? rejected_ : rejectedHooks_);
    }

    /// Waits until nothing is pending. Then stop() returns at most what waits for the executor.
    void drain() {
        if constexpr (kIsFlat) {
            waitUntil([this] { return timer_->pendingTimeouts() == 0; });
            bookReturned(timer_->stop());
        } else {
            timer_->drain();
        }
    }

    void bookReturned(StoppedTimeouts const& stopped) {
        for (auto const& one : stopped) {
            ledger_.book(one.target<Task>()->id, Outcome::returned);
            EXPECT_TRUE(one.timeout().isReturned() && one.timeout().isCancelled());
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
        EXPECT_EQ(statistics.pending, 0U);
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
    std::atomic<std::uint64_t> begun_{0};  // operations, about
    std::atomic<std::uint64_t> made_{0};
    std::uint64_t returned_ = 0;
    std::uint64_t returnedHooks_ = 0;
    RaceExecutor executor_;
    std::optional<T> timer_;  // the last: its tasks use the others
};

/// Rounds of each kind until so many operations are done. Prints and checks the books.
template <class T>
void keepTheLedger(RunsOn runsOn, std::uint64_t operations, std::uint64_t operationsOfRound) {
    LedgerSum sum;
    std::uint64_t rounds = 0;
    std::uint64_t made = 0;
    for (; made < operations; ++rounds) {
        LedgerRound<T> round{runsOn, rounds % 2 == 0, operationsOfRound, rounds + 1};
        sum += round.run();
        made += round.operationsMade();
    }
    std::string const timer = NamesOfAllTimers::GetName<T>(0);
    tellTheSum(timer + ", " + RaceExecutor{runsOn}.name(), sum, {made, 10'000'000});
    EXPECT_GT(sum.ran, 0U);
    EXPECT_GT(sum.cancelled, 0U);
    EXPECT_GT(sum.returned, 0U);
    EXPECT_EQ(sum.rejected > 0, runsOn == RunsOn::flakyPool);
}

}  // namespace timingwheel::test
