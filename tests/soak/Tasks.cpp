/// What tasks do, on whatever thread they run.

#include "soak/Lifetime.h"

#include <stdexcept>

namespace timingwheel::soak {

void Task::operator()(Timeout const& self) { life->run(*this, self); }

void Lifetime::run(Task& task, Timeout const& self) {
    ledger_.ran(task.id, reading());
    Random random{task.id};
    switch (task.deed) {
        case Deed::nothing:
            break;
        case Deed::throwSomething:
            ++thrown_;
            throw std::runtime_error{"as it should"};
        case Deed::scheduleAnother:
            scheduleInside(random);
            break;
        case Deed::cancelAnother:
            others_.add(Operation::cancelFromInside);
            cancelSlot(isShared() ? slots_[random.below(slots_.size())]
                                  : ownSlot(callers_[plan_.onlyCaller]),
                       false);
            break;
        case Deed::cancelItself:
            others_.add(Operation::cancelFromInside);
            findings_.expect(!self.cancel(), "a task cancelled itself");
            findings_.expect(!self.cancelAndWait(), "a task cancelled itself, with waiting");
            break;
        case Deed::askItself:
            others_.add(Operation::askHandle);
            findings_.expect(self.isExpired() && !self.isDone(), "a task that runs is not expired");
            findings_.expect(!self.isPending() && !self.isCancelled(), "a task that runs is not");
            break;
        case Deed::moveItsPartner:
            others_.add(Operation::rescheduleFromInside);
            movePartner(*task.companion, random);
            break;
        case Deed::dropItsHandle: {
            std::lock_guard const lock{task.companion->mutex};
            task.companion->timeout = {};
            break;
        }
    }
}

void Lifetime::scheduleInside(Random& random) {
    others_.add(Operation::newTimeoutFromInside);
    Deed const deed = random.below(2) == 0 ? Deed::nothing : Deed::scheduleAnother;
    Ledger::Id id = 0;
    try {
        Timeout another = scheduleTask(deed, someTime(random), random, id);
        if (!another || !plan_.keepsHandles) return;
        std::lock_guard const lock{keptByTasks_};
        kept_[kCallers].push_back({id, std::move(another), false});
    } catch (std::logic_error const&) {
        findings_.expect(mayRefuse_, "a task may not schedule, and nobody has stopped");
    }
}

void Lifetime::movePartner(Companion& partner, Random& random) {
    std::lock_guard const lock{partner.mutex};
    auto const deadline = someTime(random);
    if (subject_.wheel()->reschedule(partner.timeout, deadline)) {
        ledger_.agree(partner.id, deadline);
        ++rescheduled_;
    }
}

TaskObject::TaskObject(Lifetime& life, Ledger::Id id)
    : life_{life}, id_{id}, counted_{life.living_} {}

void TaskObject::run(Timeout const&) { life_.ledger_.ran(id_, life_.reading()); }

void TaskObject::cancelled(Timeout const& timeout) {
    ++life_.toldOfCancelled_;
    life_.findings_.expect(timeout.isCancelled(), "told of a cancel, and it is not cancelled");
    if (id_ % 8 != 0) return;
    ++life_.thrown_;
    throw std::runtime_error{"cancelled() threw, as it should"};
}

void PeriodicTask::operator()(Timeout const& self) const { life->runPeriodic(*periodic, self); }

void Lifetime::runPeriodic(Periodic& periodic, Timeout const& self) {
    findings_.expect(!periodic.isInside.exchange(true), "a periodic task ran twice at once");
    ++periodicRuns_;
    auto const now = reading();
    // A clock that goes back, and a reschedule, begin the grid anew.
    if (subject_.manualClock() == nullptr && !periodic.isMoved) {
        auto const due =
            periodic.runs == 0 ? periodic.first
            : periodic.isFixedDelay
                ? periodic.ended + periodic.period
                : periodic.first + static_cast<std::int64_t>(periodic.runs) * periodic.period;
        findings_.expect(now >= due, "a run of a periodic task was early");
    }
    if (++periodic.runs >= periodic.cancelAfter) {
        others_.add(Operation::cancelFromInside);
        if (self.cancel()) ledger_.book(periodic.id, Outcome::cancelled);
    }
    bool const throws = (periodic.id + periodic.runs) % 8 == 0;
    periodic.ended = reading();
    periodic.isInside = false;
    if (!throws) return;
    ++thrown_;
    throw std::runtime_error{"a periodic task, as it should"};
}

void HookOwner::run() { life->ledger_.ran(id, life->reading()); }

bool Passing::schedule(Clock::TimePoint deadline) {
    Lifetime& life = life_;  // it may run, and be gone, before schedule() returns
    Ledger::Id const id = life.openForHook(deadline);
    id_ = id;
    return life.unlessRefused([&] {
        life.subject_.wheel()->schedule(hook_, deadline);
        life.ledger_.accept(id);
    });
}

void Passing::run() {
    life_.ledger_.ran(id_, life_.reading());
    if (--runsLeft_ > 0 && !life_.isNearlyFull()) {
        life_.others_.add(Operation::hookScheduleFromInside);
        Random random{id_};
        try {
            schedule(life_.someTime(random));
        } catch (std::logic_error const&) {
            life_.findings_.expect(life_.mayRefuse_, "a hook may not schedule itself");
        }
    } else if (destroysItself_) {
        life_.others_.add(Operation::hookDestroyFromInside);
        {
            std::lock_guard const lock{life_.hooksMutex_};
            life_.passing_.erase(this);
        }
        delete this;
    }
}

}  // namespace timingwheel::soak
