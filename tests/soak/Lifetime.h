#pragma once

#include "soak/Findings.h"
#include "soak/Operations.h"
#include "soak/Subject.h"

#include <support/Ledger.h>
#include <support/Threads.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace timingwheel::soak {

using test::Ledger;
using test::LedgerSum;
using test::Outcome;
using test::Random;

inline constexpr std::size_t kCallers = 4;

class Lifetime;

/// Counts the captures that live.
class Counted {
public:
    explicit Counted(std::atomic<std::int64_t>& living) noexcept : living_{&living} { ++*living_; }
    Counted(Counted&& other) noexcept : living_{other.living_} { ++*living_; }
    Counted& operator=(Counted&&) = delete;
    ~Counted() { --*living_; }

private:
    std::atomic<std::int64_t>* living_;
};

/// What a task does beyond being booked.
enum class Deed : std::uint8_t {
    nothing,
    throwSomething,
    scheduleAnother,
    cancelAnother,
    cancelItself,
    askItself,
    moveItsPartner,
    dropItsHandle,
};

/// The handle that a task holds, of another timeout or of its own.
struct Companion {
    std::recursive_mutex mutex;  // a flat timer may run a task before newTimeout returns
    Timeout timeout;
    Ledger::Id id = 0;
};

struct Task {
    Lifetime* life;
    Ledger::Id id;
    Deed deed;
    Counted counted;
    std::shared_ptr<Companion> companion = {};
    void operator()(Timeout const& self);
};

/// Netty's form. Some throw when they are told that they were cancelled.
class TaskObject final : public TimerTask {
public:
    TaskObject(Lifetime& life, Ledger::Id id);
    void run(Timeout const& timeout) override;
    void cancelled(Timeout const& timeout) override;
    Ledger::Id id() const noexcept { return id_; }

private:
    Lifetime& life_;
    Ledger::Id const id_;
    Counted counted_;
};

/// What is known of a periodic timeout. Used by one run at a time, but for the atomics.
struct Periodic {
    Clock::TimePoint first;
    std::chrono::nanoseconds period;
    bool isFixedDelay;
    std::uint64_t cancelAfter;
    Ledger::Id id;
    std::atomic<bool> isInside{false};
    std::atomic<bool> isMoved{false};
    std::uint64_t runs = 0;
    Clock::TimePoint ended{};
};

/// A handle that is shared, and the number of its account.
struct Slot {
    std::mutex mutex;
    Timeout timeout;
    Ledger::Id id = 0;
    std::shared_ptr<Periodic> periodic;  ///< null if it is not
    bool isObject = false;
};

struct PeriodicTask {
    Lifetime* life;
    std::shared_ptr<Periodic> periodic;
    Counted counted;
    void operator()(Timeout const& self) const;
};

/// A hook that outlives timers: it is used with one after the other.
struct HookOwner {
    void run();

    Lifetime* life = nullptr;
    std::atomic<Ledger::Id> id{0};
    std::atomic<bool> isUsed{false};
    TimerHook<&HookOwner::run> hook{*this};
};

/// A hook whose owner goes while the timer lives: at some moment, or inside its own last run.
class Passing {
public:
    /// Runs so often, and then destroys itself or not.
    Passing(Lifetime& life, int runs, bool destroysItself)
        : life_{life}, destroysItself_{destroysItself}, runsLeft_{runs} {}
    /// With an account of its own. False if the timer refused.
    bool schedule(Clock::TimePoint deadline);

private:
    void run();

    Lifetime& life_;
    bool const destroysItself_;
    std::atomic<int> runsLeft_;
    std::atomic<Ledger::Id> id_{0};
    TimerHook<&Passing::run> hook_{*this};
};

/// One of the threads that use the timers. It has its hooks for good.
struct Caller {
    std::size_t index = 0;
    Random random{0};
    OperationCounts operations;
    std::array<HookOwner, 16> hooks;
};
using Callers = std::array<Caller, kCallers>;

/// A handle whose timer is gone, and what it said then.
struct Elder {
    Timeout timeout;
    unsigned answers;
    Clock::TimePoint deadline;
};

/// What a handle says of its state, a bit for each question.
unsigned answersOf(Timeout const& timeout) noexcept;

enum class Ending : std::uint8_t { stop, drain, destroy };

struct Plan {
    Kind kind = Kind::systemInline;
    std::uint64_t seed = 0;
    std::chrono::nanoseconds length{};
    Ending ending = Ending::stop;
    /// Keeps the handles of all timeouts, not only of a few.
    bool keepsHandles = false;
    /// The caller that alone uses it; all do by default.
    std::size_t onlyCaller = kCallers;
};

/// What is left of a timer's life when it is over.
struct Remains {
    LedgerSum sum;
    std::uint64_t periodicRuns = 0;
    std::uint64_t wakeUps = 0;
    LatenessHistogram lateness;
    bool hasLateness = false;
};

/// The life of one timer: callers use it, somebody ends it, and then its books are looked at.
class Lifetime {
public:
    Lifetime(Plan const& plan, Callers& callers, std::vector<Elder> const& elders,
             Findings& findings);
    ~Lifetime();
    Lifetime(Lifetime const&) = delete;
    Lifetime& operator=(Lifetime const&) = delete;

    /// A caller's part: uses the timer until it has ended, and its handles until it is over.
    void use(Caller& caller);
    /// Watches the timer and ends it. Of a ManualTimer its caller does that.
    void watchAndEnd();
    /// When all are done. Leaves a few handles behind.
    Remains judge(std::vector<Elder>& elders);

    OperationCounts const& operationsOfOthers() const noexcept { return others_; }

private:
    friend struct Task;
    friend class TaskObject;
    friend struct PeriodicTask;
    friend struct HookOwner;
    friend class Passing;

    struct Kept {
        Ledger::Id id;
        Timeout timeout;
        bool isPeriodic;
    };
    struct Choice {
        unsigned weight;
        bool needsLevels;
        void (Lifetime::*make)(Caller&);
    };
    static Choice const kChoices[];

    // How it goes on.
    bool isShared() const noexcept { return plan_.onlyCaller == kCallers; }
    void useWhileItLives(Caller& caller);
    void useHandles(Caller& caller);
    void useManual(Caller& caller);
    void makeOne(Caller& caller);
    void hear(TaskFailure const& failure);
    void moveClock(Random& random);
    void runLoop(Random& random);
    void look(Random& random);
    void endIt();
    void destroyWhileHandlesAreUsed();
    void stopIt();
    void bookReturned(StoppedTimeouts const& stopped);

    // Deadlines.
    Clock::TimePoint reading() const noexcept;
    Clock::TimePoint someTime(Random& random) const;
    bool isNearlyFull() const noexcept { return ledger_.opened() + 1'000 > ledger_.capacity(); }

    // Schedules: they return an empty handle where the timer refused or the ledger is full.
    template <class T>
    Timeout place(T task, Ledger::Id id, Clock::TimePoint deadline, Random& random,
                  TimeoutOptions options = {});
    Timeout scheduleTask(Deed deed, Clock::TimePoint deadline, Random& random, Ledger::Id& id,
                         TimeoutOptions options = {}, std::shared_ptr<Companion> companion = {});
    enum class Of { task, object, weak, periodic };
    void remember(Caller& caller, Timeout timeout, Ledger::Id id, Of of = Of::task,
                  std::shared_ptr<Periodic> periodic = {});
    Ledger::Id openForHook(Clock::TimePoint deadline);
    template <class Schedule>
    bool unlessRefused(Schedule&& schedule);
    void schedulePeriodic(Caller& caller, bool isFixedDelay);
    bool mustCancelWhatIsFar() const noexcept {
        return plan_.ending == Ending::drain || subject_.isLimited();
    }

    // What callers do.
    void newTimeout(Caller& caller);
    void newTimeoutTolerant(Caller& caller);
    void newTimeoutDueAtOnce(Caller& caller);
    void newTimeoutFar(Caller& caller);
    void newTimeoutOfObject(Caller& caller);
    void newTimeoutOfWeak(Caller& caller);
    void newTimeoutThatThrows(Caller& caller);
    void newTimeoutWithPartner(Caller& caller);
    void newTimeoutThatHoldsItself(Caller& caller);
    void fixedRate(Caller& caller);
    void fixedDelay(Caller& caller);
    void useHook(Caller& caller);
    void rescheduleHooks(Caller& caller);
    void cancelHook(Caller& caller);
    void useHookThatDestroysItself(Caller& caller);
    void destroyHook(Caller& caller);
    void useScoped(Caller& caller);
    void cancel(Caller& caller);
    void reschedule(Caller& caller);
    void rescheduleForeign(Caller& caller);
    void ask(Caller& caller);
    void askElder(Caller& caller);
    void askTimer(Caller& caller);
    void start(Caller& caller);

    Slot& ownSlot(Caller& caller);
    Slot& anySlot(Caller& caller);
    void cancelSlot(Slot& slot, bool waits);
    void check(Timeout const& timeout);

    // What tasks do.
    void run(Task& task, Timeout const& self);
    void runPeriodic(Periodic& periodic, Timeout const& self);
    void scheduleInside(Random& random);
    void movePartner(Companion& partner, Random& random);

    // The end.
    void buryHooks();
    void bookKept();
    void bookHooks();
    void bookRejected();
    void compareKept();
    void compareStatistics(Remains const& remains);
    void leave(std::vector<Elder>& elders);

    Plan const plan_;
    Callers& callers_;
    std::vector<Elder> const& elders_;
    Findings& findings_;
    Random random_;  // of who ends it
    std::size_t const callersOfIt_;
    Ledger ledger_;
    OperationCounts others_;
    std::uint64_t wakeUps_ = 0;
    std::array<Slot, kCallers * 32> slots_;
    std::array<std::vector<Kept>, kCallers + 1> kept_;  ///< of each caller, and of tasks
    std::mutex keptByTasks_;
    std::mutex hooksMutex_;
    std::set<Passing*> passing_;  ///< those that destroy themselves
    std::vector<Ledger::Id> hookAccounts_;
    std::shared_ptr<int> const object_ = std::make_shared<int>(0);  // of weak_ptrs

    std::atomic<bool> mayRefuse_{false};  ///< somebody stops it
    std::atomic<bool> isEnding_{false};   ///< callers keep to their handles
    std::atomic<std::size_t> atHandles_{0};
    std::atomic<bool> isOver_{false};
    std::atomic<std::int64_t> highest_;  ///< that a clock which goes back has ever shown
    std::atomic<std::int64_t> living_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> rescheduled_{0};
    std::atomic<std::uint64_t> thrown_{0};
    std::atomic<std::uint64_t> toldOfThrown_{0};
    std::atomic<std::uint64_t> objectsCancelled_{0};
    std::atomic<std::uint64_t> objectsReturned_{0};
    std::atomic<std::uint64_t> toldOfCancelled_{0};
    std::atomic<std::uint64_t> rejected_{0};
    std::atomic<std::uint64_t> rejectedHooks_{0};
    std::uint64_t rejectedAndBooked_ = 0;
    std::uint64_t periodicExpired_ = 0;
    std::atomic<std::uint64_t> returned_{0};
    std::atomic<std::uint64_t> returnedHooks_{0};
    std::atomic<std::uint64_t> receivers_{0};  ///< of what stop() returned
    std::atomic<std::uint64_t> hooksDestroyed_{0};
    std::atomic<std::uint64_t> periodicRuns_{0};
    Subject subject_;  // the last: its tasks use the others
};

template <class Schedule>
bool Lifetime::unlessRefused(Schedule&& schedule) {
    try {
        schedule();
        return true;
    } catch (RejectedExecution const&) {
        findings_.expect(subject_.isLimited(), "refused, and there is no limit");
        ++refused_;
        return false;
    }
}

template <class T>
Timeout Lifetime::place(T task, Ledger::Id id, Clock::TimePoint deadline, Random& random,
                        TimeoutOptions options) {
    Timeout timeout;
    unlessRefused([&] {
        WheelTimer* const wheel = subject_.wheel();
        // By a clock that goes back a delay would be another one a moment later.
        bool const isDelay =
            wheel == nullptr || (subject_.manualClock() == nullptr && random.below(2) == 0);
        bool const isNever = deadline == Clock::TimePoint::max();
        Duration const delay =
            isNever ? Duration::max() : Duration{deadline - subject_.clock().now()};
        if (!isDelay)
            timeout = wheel->newTimeout(std::move(task), deadline, options);
        else if (options.tolerance.count() > 0)
            timeout = wheel->newTimeout(std::move(task), delay, options);
        else
            timeout = subject_.timer().newTimeout(std::move(task), delay);
        ledger_.accept(id);
    });
    return timeout;
}

}  // namespace timingwheel::soak
