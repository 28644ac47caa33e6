/// A timer's life is over: what its books, its handles and its statistics say.

#include "soak/Lifetime.h"

#include <stdexcept>
#include <string>

namespace timingwheel::soak {

unsigned answersOf(Timeout const& timeout) noexcept {
    return (timeout.isPending() ? 1U : 0U) | (timeout.isExpired() ? 2U : 0U) |
           (timeout.isDone() ? 4U : 0U) | (timeout.isCancelled() ? 8U : 0U) |
           (timeout.isReturned() ? 16U : 0U) | (timeout.isRejected() ? 32U : 0U);
}

Remains Lifetime::judge(std::vector<Elder>& elders) {
    buryHooks();
    bookKept();
    bookHooks();
    bookRejected();
    others_.add(Operation::refusedAtTheLimit, refused_);
    Remains remains;
    remains.sum = ledger_.sum();
    remains.periodicRuns = periodicRuns_;
    remains.wakeUps = wakeUps_;
    remains.hasLateness = subject_.manualClock() == nullptr;
    if (remains.hasLateness)
        ledger_.forEachLateness([&](auto lateness) { remains.lateness.add(lateness); });
    LedgerSum const& sum = remains.sum;
    findings_.equal(sum.none, 0U, "accepted and without an outcome");
    findings_.equal(sum.several, 0U, "with more than one outcome, or with one and not accepted");
    findings_.equal(sum.early, 0U, "early");
    findings_.equal(toldOfThrown_.load(), thrown_.load(), "told of so many tasks that threw");
    // A flat timer also tells those that it returns, and what its destructor drops.
    if (!isFlat(plan_.kind) || !subject_.isGone())
        findings_.equal(toldOfCancelled_.load(),
                        objectsCancelled_ + (isFlat(plan_.kind) ? objectsReturned_.load() : 0),
                        "told of so many that were cancelled");
    findings_.expect(receivers_ <= 1, "several callers of stop() got tasks");
    compareKept();
    if (!subject_.isGone()) {
        compareStatistics(remains);
        subject_.destroyTimer();
    }
    findings_.equal(living_.load(), 0, "captures that live on after their timer");
    leave(elders);
    return remains;
}

/// Those that would have destroyed themselves, and were not run or refused to go on.
void Lifetime::buryHooks() {
    for (Passing* const passing : passing_) delete passing;
    passing_.clear();
}

/// What nobody has booked is what only the handle knows: that stop() or the destructor took it
/// where its task is of no known type, that the executor rejected it, or that it ran and there was
/// nothing to run on.
void Lifetime::bookKept() {
    for (auto const& ofCaller : kept_) {
        for (Kept const& kept : ofCaller) {
            if (ledger_.hasEnded(kept.id)) continue;
            Timeout const& timeout = kept.timeout;
            if (timeout.isRejected()) {
                ledger_.book(kept.id, Outcome::rejected);
                ++rejectedAndBooked_;
            } else if (timeout.isReturned()) {
                ledger_.book(kept.id, Outcome::returned);
            } else if (timeout.isExpired()) {
                ledger_.agree(kept.id, {});
                ledger_.book(kept.id, Outcome::ran);
                if (kept.isPeriodic) ++periodicExpired_;
            }
        }
    }
}

/// Of hooks that were returned, rejected or destroyed one knows only how many.
void Lifetime::bookHooks() {
    std::uint64_t returned = returnedHooks_;
    std::uint64_t rejected = rejectedHooks_;
    std::uint64_t destroyed = hooksDestroyed_;
    for (Ledger::Id const id : hookAccounts_) {
        if (!ledger_.isAccepted(id) || ledger_.hasEnded(id)) continue;
        if (plan_.ending == Ending::destroy) {
            ledger_.book(id, Outcome::returned);
        } else if (returned > 0) {
            --returned;
            ledger_.book(id, Outcome::returned);
        } else if (rejected > 0) {
            --rejected;
            ledger_.book(id, Outcome::rejected);
        } else if (destroyed > 0) {
            --destroyed;
            ledger_.book(id, Outcome::cancelled);
        }
    }
    if (plan_.ending == Ending::destroy) return;
    findings_.equal(returned, 0U, "hooks that stop() returned and that ended otherwise");
    findings_.equal(rejected, 0U, "hooks that were told rejected and that ended otherwise");
}

/// Where not all handles are kept: as many as the timer told.
void Lifetime::bookRejected() {
    std::uint64_t told = rejected_ - rejectedAndBooked_;
    for (std::size_t i = 0; i < ledger_.opened() && told > 0; ++i) {
        auto const id = static_cast<Ledger::Id>(i);
        if (!ledger_.isAccepted(id) || ledger_.hasEnded(id)) continue;
        ledger_.book(id, Outcome::rejected);
        --told;
    }
    findings_.equal(told, 0U, "told as rejected, and ended otherwise");
}

/// A handle agrees with the ledger.
void Lifetime::compareKept() {
    for (auto const& ofCaller : kept_) {
        for (Kept const& kept : ofCaller) {
            Timeout const& timeout = kept.timeout;
            auto const has = [&](Outcome outcome) { return ledger_.has(kept.id, outcome); };
            check(timeout);
            findings_.equal(timeout.isDone(), has(Outcome::ran), "done, by handle and ledger");
            findings_.equal(timeout.isReturned(), has(Outcome::returned),
                            "returned, by handle and ledger");
            findings_.equal(timeout.isCancelled(),
                            has(Outcome::cancelled) || has(Outcome::returned),
                            "cancelled, by handle and ledger");
            findings_.equal(timeout.isRejected(), has(Outcome::rejected),
                            "rejected, by handle and ledger");
            findings_.expect(!timeout.isPending(), "still pending");
        }
    }
}

void Lifetime::compareStatistics(Remains const& remains) {
    try {
        findings_.expect(subject_.timer().stop().empty(), "stop() returned something once more");
        findings_.equal(subject_.timer().pendingTimeouts(), 0U, "pending after the end");
        if (subject_.wheel() != nullptr) subject_.wheel()->checkInvariants();
        subject_.timer().newTimeout([] {}, std::chrono::hours{1});
        findings_.add("a timer accepted something after the end");
    } catch (std::logic_error const& error) {
        findings_.expect(std::string{error.what()}.find("stop") != std::string::npos, error.what());
    }
    LedgerSum const& sum = remains.sum;
    TimerStatistics const s = subject_.statistics();
    findings_.equal(s.scheduled, sum.accepted, "scheduled, by statistics and ledger");
    findings_.equal(s.fired, sum.ran, "fired, by statistics and ledger");
    findings_.equal(s.runs, sum.ran - periodicExpired_ + periodicRuns_, "runs");
    findings_.equal(s.cancelled, sum.cancelled, "cancelled, by statistics and ledger");
    findings_.equal(s.returned, sum.returned, "returned, by statistics and ledger");
    findings_.equal(s.returned, returned_.load(), "returned, by statistics and stop()");
    findings_.equal(s.rejected, sum.rejected, "rejected, by statistics and ledger");
    findings_.equal(s.refused, refused_.load(), "refused, by statistics and callers");
    findings_.equal(s.rescheduled, rescheduled_.load(), "rescheduled, by statistics and callers");
    findings_.equal(s.pending, 0U, "pending, by the statistics");
    findings_.equal(s.scheduled, s.fired + s.cancelled + s.returned + s.rejected, "the balance");
    if (subject_.events() == nullptr || subject_.wheel() == nullptr) return;
    CountingObserver const& events = *subject_.events();
    using Stage = TimerEvent::Stage;
    findings_.equal(events.count(Stage::schedule), s.scheduled, "schedules that were told");
    findings_.equal(events.count(Stage::run), s.runs, "runs that were told");
}

/// A few handles for the timers to come. Those of a ManualTimer stay with its thread.
void Lifetime::leave(std::vector<Elder>& elders) {
    if (!isShared()) return;
    constexpr std::size_t kLeft = 64;
    elders.clear();
    for (auto const& ofCaller : kept_) {
        std::size_t left = 0;
        for (auto kept = ofCaller.rbegin(); kept != ofCaller.rend() && left < kLeft; ++kept, ++left)
            elders.push_back({kept->timeout, answersOf(kept->timeout), kept->timeout.deadline()});
    }
}

}  // namespace timingwheel::soak
