#include "soak/Lifetime.h"

#include "apps/terminal/Interrupt.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace timingwheel::soak {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::waitUntil;

namespace {

constexpr std::size_t kAccounts = 200'000;

nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

Lifetime::Lifetime(Plan const& plan, Callers& callers, std::vector<Elder> const& elders,
                   Findings& findings)
    : plan_{plan},
      callers_{callers},
      elders_{elders},
      findings_{findings},
      random_{plan.seed},
      callersOfIt_{plan.onlyCaller == kCallers ? kCallers : 1},
      ledger_{kAccounts},
      subject_{plan.kind,
               random_,
               {[this](TaskFailure const& failure) { hear(failure); }, [](SlowTask const&) {}}} {
    highest_ = subject_.clock().now().time_since_epoch().count();
    for (Caller& caller : callers_) {
        if (!isShared() && caller.index != plan_.onlyCaller) continue;
        for (HookOwner& owner : caller.hooks) {
            owner.life = this;
            owner.isUsed = false;
        }
    }
}

Lifetime::~Lifetime() = default;

// ---- how it goes on ----------------------------------------------------------------------------

void Lifetime::use(Caller& caller) {
    if (!isShared()) {
        if (caller.index == plan_.onlyCaller) useManual(caller);
        return;
    }
    try {
        useWhileItLives(caller);
    } catch (std::logic_error const& error) {
        if (!mayRefuse_) findings_.add(error.what());
        if (caller.random.below(4) == 0) stopIt();
    } catch (std::exception const& error) {
        findings_.add(error.what());
    }
    ++atHandles_;
    useHandles(caller);
}

void Lifetime::useWhileItLives(Caller& caller) {
    while (!isEnding_ && !isOver_) {
        for (std::uint64_t left = 1 + caller.random.below(256); left > 0; --left) makeOne(caller);
        // So that the timer is idle now and then, and late only where it is its own fault.
        std::this_thread::sleep_for(caller.random.below(
            nanoseconds{microseconds{caller.random.below(8) == 0 ? 5'000 : 500}}));
    }
}

void Lifetime::useHandles(Caller& caller) {
    while (!isOver_) {
        cancel(caller);
        ask(caller);
        askElder(caller);
        if (subject_.wheel() != nullptr) cancelHook(caller);
        if (caller.random.below(16) == 0) std::this_thread::yield();
    }
}

void Lifetime::useManual(Caller& caller) {
    auto const end = now() + plan_.length;
    ManualTimer& timer = *subject_.manual();
    try {
        while (now() < end && !isNearlyFull() && !terminal::isInterrupted()) {
            for (std::uint64_t left = caller.random.below(64); left > 0; --left) makeOne(caller);
            caller.operations.add(Operation::advanceTo);
            bool const isMoreDue =
                caller.random.below(2) == 0
                    ? timer.advanceTo(timer.clock().now())
                    : timer.advanceTo(timer.clock().now(), caller.random.below(32));
            if (!isMoreDue && timer.pollTimeout() > 0)
                std::this_thread::sleep_for(caller.random.below(nanoseconds{microseconds{500}}));
            if (caller.random.below(64) == 0) look(caller.random);
        }
        endIt();
    } catch (std::exception const& error) {
        findings_.add(error.what());
    }
}

void Lifetime::watchAndEnd() {
    if (!isShared()) return;
    auto const end = now() + plan_.length;
    auto nextLook = now();
    try {
        while (now() < end && !isNearlyFull() && !terminal::isInterrupted()) {
            if (subject_.manualClock() != nullptr) moveClock(random_);
            if (subject_.loop() != nullptr) runLoop(random_);
            if (now() > nextLook) {
                look(random_);
                nextLook = now() + milliseconds{50};
            }
            std::this_thread::sleep_for(random_.below(nanoseconds{milliseconds{1}}));
        }
        endIt();
    } catch (std::exception const& error) {
        findings_.add(error.what());
    }
    isOver_ = true;
}

/// Forward more than back, or everything would wait for ever.
void Lifetime::moveClock(Random& random) {
    others_.add(Operation::moveClock);
    ManualClock& clock = *subject_.manualClock();
    auto const before = clock.now();
    bool const isBack = random.below(4) == 0;
    bool const isStepwise = !isBack && random.below(2) == 0;
    auto const length = random.below(nanoseconds{milliseconds{isStepwise ? 3 : 20}});
    auto const to = before + (isBack ? -length / 4 : length);
    highest_ = std::max(highest_.load(), std::int64_t{to.time_since_epoch().count()});
    if (isStepwise)
        clock.advanceTo(to);
    else
        clock.jumpTo(to);
}

/// All that is due, or some of it.
void Lifetime::runLoop(Random& random) {
    others_.add(Operation::runDue);
    LoopTimer& timer = *subject_.loop();
    random.below(2) == 0 ? timer.runDue() : timer.runDue(random.below(32));
    static_cast<void>(timer.pollTimeout());
}

/// At what anybody may look at any time.
void Lifetime::look(Random& random) {
    others_.add(Operation::statistics);
    TimerStatistics const seen = subject_.statistics();
    findings_.expect(seen.minLateness.count() >= 0, "the statistics know of an early run");
    findings_.expect(seen.fired <= seen.runs, "more timeouts fired than tasks ran");
    if (random.below(8) == 0) std::ostringstream{} << seen;
    if (subject_.wheel() == nullptr) return;
    others_.add(Operation::checkInvariants);
    subject_.wheel()->checkInvariants();
}

void Lifetime::endIt() {
    wakeUps_ = subject_.statistics().wakeUps;
    switch (plan_.ending) {
        case Ending::stop:
            return stopIt();
        case Ending::drain:
            mayRefuse_ = true;
            others_.add(Operation::drain);
            return subject_.system()->drain();
        case Ending::destroy:
            return destroyWhileHandlesAreUsed();
    }
}

void Lifetime::stopIt() {
    mayRefuse_ = true;
    others_.add(Operation::stop);
    bookReturned(subject_.timer().stop());
}

void Lifetime::destroyWhileHandlesAreUsed() {
    isEnding_ = true;
    if (isShared()) waitUntil([this] { return atHandles_ == callersOfIt_; });
    mayRefuse_ = true;  // tasks still try
    others_.add(Operation::destroy);
    subject_.destroyTimer();
}

void Lifetime::bookReturned(StoppedTimeouts const& stopped) {
    for (StoppedTimeout const& one : stopped) {
        findings_.expect(one.timeout().isReturned(), "stop() returned one that says otherwise");
        if (Task* const task = one.target<Task>()) {
            ledger_.book(task->id, Outcome::returned);
        } else if (PeriodicTask* const periodic = one.target<PeriodicTask>()) {
            ledger_.book(periodic->periodic->id, Outcome::returned);
        } else if (auto const object = std::dynamic_pointer_cast<TaskObject>(one.task())) {
            ledger_.book(object->id(), Outcome::returned);
            ++objectsReturned_;
        }
    }
    returned_ += stopped.size() + stopped.hooks();
    returnedHooks_ += stopped.hooks();
    if (!stopped.empty() || stopped.hooks() > 0) ++receivers_;
}

void Lifetime::hear(TaskFailure const& failure) {
    switch (failure.kind) {
        case TaskFailure::Kind::threw:
            ++toldOfThrown_;
            break;
        case TaskFailure::Kind::rejected:
            ++(failure.timeout ? rejected_ : rejectedHooks_);
            break;
        case TaskFailure::Kind::executorThrew:  // and kept the task, or it was cancelled meanwhile
            break;
        case TaskFailure::Kind::destructorThrew:
            findings_.add("a capture's destructor threw");
            break;
        case TaskFailure::Kind::noNextTime:
            findings_.add("a series of times ended");
    }
}

// ---- deadlines and schedules -------------------------------------------------------------------

/// Where the clock goes back a task may begin before and look after: nothing is early if the clock
/// has been there.
Clock::TimePoint Lifetime::reading() const noexcept {
    bool const goesBack = plan_.kind == Kind::systemManualClock;
    return goesBack ? Clock::TimePoint{nanoseconds{highest_.load()}} : subject_.clock().now();
}

Clock::TimePoint Lifetime::someTime(Random& random) const {
    auto const most = random.below(2) == 0 ? milliseconds{1} : milliseconds{20};
    return subject_.clock().now() + random.below(nanoseconds{most});
}

Timeout Lifetime::scheduleTask(Deed deed, Clock::TimePoint deadline, Random& random, Ledger::Id& id,
                               TimeoutOptions options, std::shared_ptr<Companion> companion) {
    if (isNearlyFull()) return {};
    id = ledger_.open(deadline);
    return place(Task{this, id, deed, Counted{living_}, std::move(companion)}, id, deadline, random,
                 options);
}

void Lifetime::remember(Caller& caller, Timeout timeout, Ledger::Id id, Of of,
                        std::shared_ptr<Periodic> periodic) {
    if (!timeout) return;
    if (plan_.keepsHandles || of == Of::periodic || of == Of::weak)
        kept_[caller.index].push_back({id, timeout, of == Of::periodic});
    Slot& slot = ownSlot(caller);
    std::lock_guard const lock{slot.mutex};
    slot.timeout = std::move(timeout);
    slot.id = id;
    slot.periodic = std::move(periodic);
    slot.isObject = of == Of::object;
}

Ledger::Id Lifetime::openForHook(Clock::TimePoint deadline) {
    Ledger::Id const id = ledger_.open(deadline);
    std::lock_guard const lock{hooksMutex_};
    hookAccounts_.push_back(id);
    return id;
}

Slot& Lifetime::ownSlot(Caller& caller) {
    constexpr std::size_t kOwn = std::tuple_size_v<decltype(slots_)> / kCallers;
    return slots_[caller.index * kOwn + caller.random.below(kOwn)];
}

Slot& Lifetime::anySlot(Caller& caller) {
    return isShared() ? slots_[caller.random.below(slots_.size())] : ownSlot(caller);
}

}  // namespace timingwheel::soak
