#pragma once

#include "Dice.h"
#include "Simulation.h"
#include "core/base/RecentTime.h"

#include <support/Waiters.h>
#include <timingwheel/Clock.h>
#include <timingwheel/Executor.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

/// What stands around a timer in a scenario, and is as strange as the public headers allow.
namespace timingwheel::test::simulation {

/// What an executor does with a claim.
enum class Manner : std::uint8_t {
    runs,                ///< on a thread of its own
    runsLate,            ///< the same, some ticks later
    runsInline,          ///< before execute() returns
    copies,              ///< two of its threads have it
    drops,               ///< at once
    dropsLate,           ///< on a thread of its own, unrun
    throws,              ///< without having kept it
    throwsAfterRunning,  ///< it
    throwsAfterKeeping,  ///< it: it will run
};

/// An executor that treats each claim in one of its manners. Those that need a thread of its own
/// are done inline where it has none.
class StrangeExecutor {
public:
    struct Habits {
        std::size_t threads = 1;
        std::vector<Manner> manners{Manner::runs};
        std::chrono::nanoseconds tick{};  ///< late is some of these
        bool isScarce = false;            ///< what claims allocate may fail
    };

    StrangeExecutor(Habits habits, Dice dice);
    ~StrangeExecutor();
    StrangeExecutor(StrangeExecutor const&) = delete;
    StrangeExecutor& operator=(StrangeExecutor const&) = delete;

    void execute(Claim claim);
    /// How often it threw.
    std::size_t thrown();
    /// How many calls of execute() have not returned.
    std::size_t entered();

private:
    /// A call of execute(), which the destructor waits for.
    class Call;

    struct Work {
        Claim claim;
        std::chrono::nanoseconds wait;
        bool isDropped;
    };

    void keep(Claim claim, std::chrono::nanoseconds wait = {}, bool isDropped = false);
    void run(Claim claim) const;
    [[noreturn]] void refuse();
    void work();

    Habits const habits_;
    std::mutex mutex_;  // protects what follows
    Dice dice_;
    std::condition_variable changed_;
    std::deque<Work> kept_;
    std::size_t thrown_ = 0;
    std::size_t entered_ = 0;
    bool isOver_ = false;
    std::vector<std::thread> threads_;
};

/// How a thread factory fails.
enum class FactoryFault : std::uint8_t {
    none,
    throwsAtFirst,        ///< and starts nothing
    throwsHavingStarted,  ///< at first, although the thread runs
    runsItselfAtFirst,    ///< instead of having a thread do that
    makesNoneAtFirst,     ///< returns one that cannot be joined
};

/// Makes a timer's threads, with a fault.
class StrangeFactory {
public:
    StrangeFactory(FactoryFault fault, bool isScarce) : fault_{fault}, isScarce_{isScarce} {}
    ~StrangeFactory() { joinStray(); }
    StrangeFactory(StrangeFactory const&) = delete;
    StrangeFactory& operator=(StrangeFactory const&) = delete;

    std::thread make(std::function<void()> body);
    /// Waits for those that it has started and not given away.
    void joinStray();

private:
    FactoryFault const fault_;
    bool const isScarce_;
    std::mutex mutex_;  // protects what follows
    bool hasFailed_ = false;
    std::vector<std::thread> stray_;
};

/// A clock that steps forward and back, at most so far away from the steady one. It wakes nobody
/// too late and now and then somebody too early.
class SteppingClock final : public Clock {
public:
    explicit SteppingClock(std::chrono::nanoseconds farthest) : farthest_{farthest} {}

    TimePoint now() const noexcept override;
    std::unique_ptr<Waiter> makeWaiter() override;

    /// REQUIRES: the timer that uses it is there.
    void step(std::chrono::nanoseconds by);
    /// The latest time that it has told, and the earliest that it could tell now.
    TimePoint highest() const;
    TimePoint earliest() const { return steadyNow() - farthest_; }

private:
    static TimePoint steadyNow() noexcept { return Clock::steady().now(); }

    std::chrono::nanoseconds const farthest_;
    std::chrono::nanoseconds offset_{};     // kept aside
    TimePoint highest_ = TimePoint::min();  // kept aside
    Sleepers sleepers_;
};

/// A processor's counter, and the steady clock that the kernel computes from it. The counter does
/// one of the strange things that RecentTime allows for; each run has one such counter.
struct StrangeCounter {
    /// What the counter does now and then.
    enum class Habit : std::uint8_t {
        goesOn,
        jumpsForward,
        goesBack,
        isSlewed,
        differsByProcessor,
        runsSlowly,
    };

    static void begin(Habit habit, Dice dice);
    /// Until it is called, each reading takes a microsecond: time to measure the counter in.
    static void calibrated();

    static std::uint64_t count() noexcept;
    static Clock::TimePoint exact() noexcept;
    static bool isSourceOfClock() noexcept { return true; }
};

/// The steady clock, whose coarse reading is a recent one by a strange counter.
class CountedClock final : public Clock {
public:
    CountedClock(StrangeCounter::Habit habit, Dice dice);

    TimePoint now() const noexcept override { return Clock::steady().now(); }
    TimePoint coarseNow() const noexcept override { return recent_.now(last_); }
    std::chrono::nanoseconds coarseLag() const noexcept override { return Recent::kLag; }
    std::unique_ptr<Waiter> makeWaiter() override { return Clock::steady().makeWaiter(); }

private:
    using Recent = detail::RecentTime<StrangeCounter>;

    mutable Recent recent_;
    static inline thread_local Recent::Reading last_;  // a run has one such clock
};

}  // namespace timingwheel::test::simulation
