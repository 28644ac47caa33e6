/// What the threads do that use a timer.

#include "soak/Lifetime.h"

#include <compare>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace timingwheel::soak {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::spinFor;

/// In a hundred operations, about.
Lifetime::Choice const Lifetime::kChoices[]{
    {20, false, &Lifetime::newTimeout},
    {3, true, &Lifetime::newTimeoutTolerant},
    {2, false, &Lifetime::newTimeoutDueAtOnce},
    {2, false, &Lifetime::newTimeoutFar},
    {3, false, &Lifetime::newTimeoutOfObject},
    {1, false, &Lifetime::newTimeoutOfWeak},
    {1, false, &Lifetime::newTimeoutThatThrows},
    {2, true, &Lifetime::newTimeoutWithPartner},
    {2, false, &Lifetime::newTimeoutThatHoldsItself},
    {1, true, &Lifetime::fixedRate},
    {1, true, &Lifetime::fixedDelay},
    {12, true, &Lifetime::useHook},
    {1, true, &Lifetime::rescheduleHooks},
    {5, true, &Lifetime::cancelHook},
    {1, true, &Lifetime::useHookThatDestroysItself},
    {1, true, &Lifetime::destroyHook},
    {1, false, &Lifetime::useScoped},
    {20, false, &Lifetime::cancel},
    {14, true, &Lifetime::reschedule},
    {1, true, &Lifetime::rescheduleForeign},
    {5, false, &Lifetime::ask},
    {1, false, &Lifetime::askElder},
    {1, false, &Lifetime::askTimer},
    {1, false, &Lifetime::start},
};

void Lifetime::makeOne(Caller& caller) {
    static unsigned const sum = [] {
        unsigned weights = 0;
        for (Choice const& choice : kChoices) weights += choice.weight;
        return weights;
    }();
    std::uint64_t dice = caller.random.below(sum);
    for (Choice const& choice : kChoices) {
        if (dice < choice.weight) {
            if (!choice.needsLevels || subject_.wheel() != nullptr) (this->*choice.make)(caller);
            return;
        }
        dice -= choice.weight;
    }
}

// ---- schedules ---------------------------------------------------------------------------------

void Lifetime::newTimeout(Caller& caller) {
    static constexpr Deed kDeeds[]{Deed::nothing,         Deed::nothing,       Deed::nothing,
                                   Deed::scheduleAnother, Deed::cancelAnother, Deed::cancelItself,
                                   Deed::askItself,       Deed::nothing};
    caller.operations.add(Operation::newTimeout);
    Ledger::Id id = 0;
    Deed const deed = kDeeds[caller.random.below(std::size(kDeeds))];
    Timeout timeout = scheduleTask(deed, someTime(caller.random), caller.random, id);
    remember(caller, std::move(timeout), id);
}

void Lifetime::newTimeoutTolerant(Caller& caller) {
    caller.operations.add(Operation::newTimeoutTolerant);
    Ledger::Id id = 0;
    TimeoutOptions const options{.tolerance = caller.random.below(nanoseconds{milliseconds{20}})};
    Timeout timeout =
        scheduleTask(Deed::nothing, someTime(caller.random), caller.random, id, options);
    remember(caller, std::move(timeout), id);
}

void Lifetime::newTimeoutDueAtOnce(Caller& caller) {
    if (isNearlyFull()) return;
    caller.operations.add(Operation::newTimeoutDueAtOnce);
    auto const now = subject_.clock().now();
    Ledger::Id const id = ledger_.open(now);
    auto const past = nanoseconds{hours{caller.random.below(3) == 0 ? 1 : 0}};
    Timeout timeout =
        place(Task{this, id, Deed::nothing, Counted{living_}}, id, now - past, caller.random);
    remember(caller, std::move(timeout), id);
}

void Lifetime::newTimeoutFar(Caller& caller) {
    caller.operations.add(Operation::newTimeoutFarOrNever);
    auto const deadline = caller.random.below(3) == 0
                              ? Clock::TimePoint::max()
                              : subject_.clock().now() + hours{1 + caller.random.below(1'000)};
    Ledger::Id id = 0;
    Timeout timeout = scheduleTask(Deed::nothing, deadline, caller.random, id);
    if (!timeout) return;
    if (mustCancelWhatIsFar() && timeout.cancel()) ledger_.book(id, Outcome::cancelled);
    remember(caller, std::move(timeout), id);
}

void Lifetime::newTimeoutOfObject(Caller& caller) {
    if (isNearlyFull()) return;
    caller.operations.add(Operation::newTimeoutOfObject);
    auto const deadline = someTime(caller.random);
    Ledger::Id const id = ledger_.open(deadline);
    auto object = std::make_shared<TaskObject>(*this, id);
    remember(caller, place(std::move(object), id, deadline, caller.random), id, Of::object);
}

/// Of one that lives, and of one that is gone by then.
void Lifetime::newTimeoutOfWeak(Caller& caller) {
    if (isNearlyFull()) return;
    caller.operations.add(Operation::newTimeoutOfWeak);
    auto const delay = caller.random.below(nanoseconds{milliseconds{5}});
    // By a clock that is moved the delay says no deadline.
    Ledger::Id const id =
        ledger_.open(subject_.manualClock() != nullptr ? Clock::TimePoint::min()
                                                       : subject_.clock().now() + delay);
    bool const isGone = caller.random.below(2) == 0;
    std::shared_ptr<int> const object = isGone ? std::make_shared<int>(0) : object_;
    Timeout timeout;
    unlessRefused([&] {
        timeout = subject_.timer().newTimeout(
            ifAlive(object, [this, id, counted = std::make_shared<Counted>(living_)](
                                int&) { ledger_.ran(id, reading()); }),
            delay);
        ledger_.accept(id);
    });
    remember(caller, std::move(timeout), id, Of::weak);
}

void Lifetime::newTimeoutThatThrows(Caller& caller) {
    caller.operations.add(Operation::newTimeoutThatThrows);
    Ledger::Id id = 0;
    Timeout timeout =
        scheduleTask(Deed::throwSomething, someTime(caller.random), caller.random, id);
    remember(caller, std::move(timeout), id);
}

/// The second one moves the first, which is nobody else's to move.
void Lifetime::newTimeoutWithPartner(Caller& caller) {
    caller.operations.add(Operation::newTimeoutWithPartner);
    auto partner = std::make_shared<Companion>();
    partner->timeout =
        scheduleTask(Deed::nothing, someTime(caller.random), caller.random, partner->id);
    if (!partner->timeout) return;
    if (plan_.keepsHandles) kept_[caller.index].push_back({partner->id, partner->timeout, false});
    Ledger::Id id = 0;
    Timeout timeout = scheduleTask(Deed::moveItsPartner, someTime(caller.random), caller.random, id,
                                   {}, std::move(partner));
    remember(caller, std::move(timeout), id);
}

/// The task drops what may be the last handle but the timer's own.
void Lifetime::newTimeoutThatHoldsItself(Caller& caller) {
    caller.operations.add(Operation::newTimeoutThatHoldsItself);
    auto own = std::make_shared<Companion>();
    std::lock_guard const lock{own->mutex};  // until the handle is in its place
    Ledger::Id id = 0;
    own->timeout =
        scheduleTask(Deed::dropItsHandle, someTime(caller.random), caller.random, id, {}, own);
    if (own->timeout && plan_.keepsHandles)
        kept_[caller.index].push_back({id, own->timeout, false});
}

void Lifetime::fixedRate(Caller& caller) { schedulePeriodic(caller, false); }
void Lifetime::fixedDelay(Caller& caller) { schedulePeriodic(caller, true); }

void Lifetime::schedulePeriodic(Caller& caller, bool isFixedDelay) {
    static constexpr MissedTicks kMissed[]{MissedTicks::skip, MissedTicks::shift,
                                           MissedTicks::catchUp};
    if (isNearlyFull()) return;
    caller.operations.add(isFixedDelay ? Operation::fixedDelay : Operation::fixedRate);
    Random& random = caller.random;
    auto const first = random.below(nanoseconds{milliseconds{3}});
    auto const period = subject_.tick() + random.below(nanoseconds{milliseconds{4}});
    // Its runs look at their times themselves.
    Ledger::Id const id = ledger_.open(Clock::TimePoint{});
    auto periodic = std::make_shared<Periodic>();
    periodic->first = subject_.clock().now() + first;
    periodic->period = period;
    periodic->isFixedDelay = isFixedDelay;
    periodic->cancelAfter = 1 + random.below(20);
    periodic->id = id;
    PeriodicTask task{this, periodic, Counted{living_}};
    Timeout timeout;
    unlessRefused([&] {
        WheelTimer& wheel = *subject_.wheel();
        timeout = isFixedDelay ? wheel.scheduleWithFixedDelay(std::move(task), first, period)
                               : wheel.scheduleAtFixedRate(std::move(task), first, period,
                                                           kMissed[random.below(3)]);
        ledger_.accept(id);
    });
    remember(caller, std::move(timeout), id, Of::periodic, std::move(periodic));
}

// ---- hooks -------------------------------------------------------------------------------------

void Lifetime::useHook(Caller& caller) {
    HookOwner& owner = caller.hooks[caller.random.below(caller.hooks.size())];
    auto const deadline = someTime(caller.random);
    if (owner.isUsed && !ledger_.hasEnded(owner.id)) {
        caller.operations.add(Operation::hookReschedule);
        if (!owner.hook.reschedule(deadline)) return;
        ledger_.agree(owner.id, deadline);
        ++rescheduled_;
        return;
    }
    if (isNearlyFull()) return;
    caller.operations.add(Operation::hookSchedule);
    Ledger::Id const before = owner.id;
    owner.id = openForHook(deadline);
    if (unlessRefused([&] {
            subject_.wheel()->schedule(owner.hook, deadline);
            ledger_.accept(owner.id);
        }))
        owner.isUsed = true;
    else
        owner.id = before;
}

/// To behind all that they had. Which of them moved is not told: those that still wait say it.
void Lifetime::rescheduleHooks(Caller& caller) {
    caller.operations.add(Operation::hookRescheduleBatch);
    std::vector<TimerHookBase*> batch;
    for (HookOwner& owner : caller.hooks)
        if (owner.isUsed) batch.push_back(&owner.hook);
    std::size_t const moved = subject_.wheel()->reschedule(batch, milliseconds{40});
    findings_.expect(moved <= batch.size(), "a batch moved more than it has");
    rescheduled_ += moved;
    for (HookOwner& owner : caller.hooks)
        if (owner.isUsed && owner.hook.isPending()) ledger_.agree(owner.id, owner.hook.deadline());
}

/// Of whoever's that has been scheduled on this timer: before that it belongs to its thread.
void Lifetime::cancelHook(Caller& caller) {
    Caller& whose = isShared() ? callers_[caller.random.below(kCallers)] : caller;
    HookOwner& owner = whose.hooks[caller.random.below(whose.hooks.size())];
    if (!owner.isUsed) return;
    bool const waits = caller.random.below(4) == 0;
    caller.operations.add(waits ? Operation::hookCancelAndWait : Operation::hookCancel);
    if (waits ? owner.hook.cancelAndWait() : owner.hook.cancel())
        ledger_.book(owner.id, Outcome::cancelled);
}

void Lifetime::useHookThatDestroysItself(Caller& caller) {
    if (isNearlyFull()) return;
    caller.operations.add(Operation::hookSchedule);
    auto* const passing =
        new Passing{*this, 1 + static_cast<int>(caller.random.below(3)), true};  // see buryHooks()
    {
        std::lock_guard const lock{hooksMutex_};
        passing_.insert(passing);
    }
    passing->schedule(someTime(caller.random));
}

/// Before, during or after its run.
void Lifetime::destroyHook(Caller& caller) {
    if (isNearlyFull()) return;
    caller.operations.add(Operation::hookSchedule);
    Passing passing{*this, 1 + static_cast<int>(caller.random.below(3)), false};
    auto const delay = caller.random.below(nanoseconds{microseconds{100}});
    if (passing.schedule(subject_.clock().now() + delay)) ++hooksDestroyed_;
    if (isShared()) spinFor(caller.random.below(nanoseconds{microseconds{100}}));
    caller.operations.add(Operation::hookDestroy);
}

// ---- the rest ----------------------------------------------------------------------------------

void Lifetime::useScoped(Caller& caller) {
    caller.operations.add(Operation::scopedTimeout);
    Ledger::Id id = 0;
    auto const deadline = subject_.clock().now() + caller.random.below(nanoseconds{100'000});
    Timeout const timeout = scheduleTask(Deed::nothing, deadline, caller.random, id);
    if (!timeout) return;
    if (plan_.keepsHandles) kept_[caller.index].push_back({id, timeout, false});
    {
        ScopedTimeout scoped{timeout};
        if (caller.random.below(2) == 0) spinFor(caller.random.below(nanoseconds{100'000}));
        ScopedTimeout other = std::move(scoped);
        switch (caller.random.below(4)) {
            case 0:
                other.reset();
                break;
            case 1:
                other = ScopedTimeout{};
                break;
            case 2:
                findings_.expect(other.get() == timeout, "a ScopedTimeout is of another timeout");
                break;
            default:
                scoped = std::move(other);
        }
    }
    // Nobody else has this handle, so whoever cancelled it was the ScopedTimeout, or stop().
    if (timeout.isCancelled() && !timeout.isReturned()) ledger_.book(id, Outcome::cancelled);
    findings_.expect(!timeout.isPending(), "pending after the end of its ScopedTimeout");
}

void Lifetime::cancel(Caller& caller) {
    bool const waits = caller.random.below(8) == 0;
    caller.operations.add(waits ? Operation::cancelAndWait : Operation::cancel);
    cancelSlot(anySlot(caller), waits);
}

void Lifetime::cancelSlot(Slot& slot, bool waits) {
    Timeout timeout;
    Ledger::Id id = 0;
    bool isObject = false;
    {
        std::lock_guard const lock{slot.mutex};
        timeout = slot.timeout;
        id = slot.id;
        isObject = slot.isObject;
    }
    bool const isCancelled = waits ? timeout.cancelAndWait() : timeout.cancel();
    if (waits) findings_.expect(!timeout.isPending(), "pending after cancelAndWait()");
    if (!isCancelled) return;
    ledger_.book(id, Outcome::cancelled);
    if (isObject) ++objectsCancelled_;
    findings_.expect(timeout.isCancelled(), "cancel() was true, and it is not cancelled");
}

/// Its own: what a deadline was last is known only to the one who moves it.
void Lifetime::reschedule(Caller& caller) {
    Slot& slot = ownSlot(caller);
    if (!slot.timeout) return;
    auto const deadline = someTime(caller.random);
    TimeoutOptions const options{.tolerance = milliseconds{caller.random.below(4) == 0 ? 20 : 0}};
    if (slot.periodic) {
        caller.operations.add(Operation::reschedulePeriodic);
        slot.periodic->isMoved = true;
        if (subject_.wheel()->reschedule(slot.timeout, deadline, options)) ++rescheduled_;
        return;
    }
    caller.operations.add(Operation::reschedule);
    if (subject_.wheel()->reschedule(slot.timeout, deadline, options)) {
        ledger_.agree(slot.id, deadline);
        ++rescheduled_;
    }
}

void Lifetime::rescheduleForeign(Caller& caller) {
    if (elders_.empty()) return;
    caller.operations.add(Operation::rescheduleOfAnotherTimer);
    Elder const& elder = elders_[caller.random.below(elders_.size())];
    bool isRefused = false;
    try {
        subject_.wheel()->reschedule(elder.timeout, milliseconds{1});
    } catch (std::invalid_argument const&) {
        isRefused = true;
    }
    findings_.expect(isRefused, "a timer rescheduled the timeout of another one");
}

void Lifetime::ask(Caller& caller) {
    caller.operations.add(Operation::askHandle);
    Slot& slot = anySlot(caller);
    Timeout timeout;
    {
        std::lock_guard const lock{slot.mutex};
        timeout = slot.timeout;
    }
    check(timeout);
}

void Lifetime::check(Timeout const& timeout) {
    bool const wasDone = timeout.isDone();
    bool const wasExpired = timeout.isExpired();
    bool const wasReturned = timeout.isReturned();
    bool const wasCancelled = timeout.isCancelled();
    bool const wasRejected = timeout.isRejected();
    findings_.expect(!wasDone || timeout.isExpired(), "done and not expired");
    findings_.expect(!wasReturned || timeout.isCancelled(), "returned and not cancelled");
    // A flat one that has expired may still be taken back from an executor's queue.
    if (subject_.wheel() != nullptr && wasExpired)
        findings_.expect(timeout.isExpired() && !timeout.isPending(), "expired, and then not");
    if (wasCancelled)
        findings_.expect(timeout.isCancelled() && !timeout.isPending() && !timeout.isRejected(),
                         "cancelled, and then not");
    if (wasRejected)
        findings_.expect(timeout.isRejected() && !timeout.isCancelled(), "rejected, and then not");
    findings_.expect(timeout.remaining().count() >= 0, "less than nothing remains");
    static_cast<void>(timeout.deadline());
    static_cast<void>(timeout.task());
    Timeout const copy = timeout;
    findings_.expect(copy == timeout && (copy <=> timeout) == std::strong_ordering::equal &&
                         std::hash<Timeout>{}(copy) == std::hash<Timeout>{}(timeout),
                     "a copy of a handle is another one");
    if ((std::hash<Timeout>{}(timeout) >> 6) % 16 == 0) std::ostringstream{} << timeout;
}

void Lifetime::askElder(Caller& caller) {
    if (elders_.empty()) return;
    caller.operations.add(Operation::askHandleOfDeadTimer);
    Elder const& elder = elders_[caller.random.below(elders_.size())];
    findings_.expect(!elder.timeout.cancel() && !elder.timeout.cancelAndWait(),
                     "a timeout was cancelled whose timer is gone");
    findings_.equal(answersOf(elder.timeout), elder.answers, "answers after the timer's end");
    findings_.expect(elder.timeout.deadline() == elder.deadline, "another deadline than before");
    findings_.expect(elder.timeout.timer() == nullptr, "it has a timer, which is gone");
    findings_.expect(elder.timeout.task() == nullptr, "it has a task, and its timer is gone");
}

void Lifetime::askTimer(Caller& caller) {
    caller.operations.add(Operation::pendingTimeouts);
    static_cast<void>(subject_.timer().pendingTimeouts());
    if (caller.random.below(16) == 0) {
        caller.operations.add(Operation::statistics);
        static_cast<void>(subject_.statistics());
    }
}

void Lifetime::start(Caller& caller) {
    if (subject_.manual() != nullptr || subject_.loop() != nullptr) return;
    caller.operations.add(Operation::start);
    subject_.system() != nullptr ? subject_.system()->start() : subject_.hashed()->start();
}

}  // namespace timingwheel::soak
