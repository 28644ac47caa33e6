#include "core/driver/TimerCore.h"

#include <timingwheel/detail/TimerStopped.h>

#include <algorithm>
#include <climits>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1::detail {

TimerCore::TimerCore(TimerOptions timerOptions, DrivenBy driver)
    : context_{std::move(timerOptions), driver, *this}, life_{context_, *this} {
    std::size_t const count = context_.shards();
    shards_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        shards_.push_back(std::make_unique<Shard>(context_, static_cast<std::uint32_t>(i)));
        if (driver != DrivenBy::thread) shards_.back()->open();
        context_.retain();  // each shard holds a reference until its last entry is gone
    }
    life_.listenToClock();
}

// ---- for callers ------------------------------------------------------------------------------

/// Calls `schedule` until it is accepted. The first schedule starts the driver thread.
template <class Schedule>
void TimerCore::scheduleOpen(Schedule&& schedule) {
    for (;;) {
        switch (schedule()) {
            case Shard::Answer::accepted:
                return;
            case Shard::Answer::notStarted:
                life_.start();
                break;
            case Shard::Answer::elsewhere:
                break;
            case Shard::Answer::full:
                context_.limit.refuse();
            case Shard::Answer::draining:
            case Shard::Answer::closed:
                refuseStopped();
        }
    }
}

Timeout TimerCore::newTimeout(TaskSource task, Clock::TimePoint deadline, Clock::TimePoint now,
                              TimeoutOptions timeout, Periodicity const* periodicity) {
    Tick const tick = context_.intake(deadline, now, timeout);
    TimeoutNode* const node = TimeoutNode::create(task, periodicity);
    if (periodicity != nullptr) node->periodicity().scheduled = tick;
    Timeout handle = TimeoutAccess::adopt(*node);  // one reference; the other is the driver's
    try {
        Tick const farthest =
            periodicity == nullptr ? tick : context_.intake(periodicity->horizon(now), {});
        accept(*node, tick, farthest, now);
    } catch (...) {
        Keeper::discard(context_, *node);
        throw;
    }
    return handle;
}

void TimerCore::schedule(HookEntry& hook, Clock::TimePoint deadline, Clock::TimePoint now,
                         TimeoutOptions timeout) {
    Tick const tick = context_.intake(deadline, now, timeout);
    Shard* shard = Shard::of(hook);
    Shard* former = nullptr;
    if (shard == nullptr || &shard->context() != &context_) {
        former = std::exchange(shard, &shardOfThisThread());
        if (former != nullptr) refuseBusy(*former, hook);
    } else if (isPending(TimeoutWord::of(hook).state()) && shard->reschedule(hook, tick, now)) {
        return;
    }
    if (!accepts_.load(std::memory_order_relaxed)) refuseStopped();
    HookEntry* const entry = &hook;
    scheduleOpen([&] {
        Shard::Answer const answer = shard->schedule({&entry, 1}, tick, now);
        // Another thread has given the hook a shard here meanwhile: like every later schedule, use
        // that one.
        if (answer == Shard::Answer::elsewhere) {
            shard = Shard::of(hook);
            former = nullptr;
        }
        return answer;
    });
    if (former != nullptr) former->dropShares();
}

/// Throws std::logic_error for a hook of another timer that still needs it.
void TimerCore::refuseBusy(Shard& former, HookEntry const& hook) const {
    char const* const why = isPending(TimeoutWord::of(hook).state()) ? "the hook is pending"
                            : former.isRunning(hook)                 ? "the hook's task runs"
                                                                     : nullptr;
    if (why == nullptr) return;
    throw std::logic_error{"timer \"" + context_.options.name + "\": " + why +
                           " on another timer, \"" + former.context().options.name + "\""};
}

void TimerCore::schedule(Shard& shard, std::span<HookEntry* const> hooks, Clock::TimePoint deadline,
                         Clock::TimePoint now, TimeoutOptions timeout) {
    Tick const tick = context_.intake(deadline, now, timeout);
    // Moves what is pending, and refuses the first that is not.
    auto const oneByOne = [&] {
        for (HookEntry* const hook : hooks) schedule(*hook, deadline, now, timeout);
    };
    if (!accepts_.load(std::memory_order_relaxed)) return oneByOne();
    scheduleOpen([&] {
        Shard::Answer const answer = shard.schedule(hooks, tick, now);
        if (answer != Shard::Answer::draining) return answer;
        oneByOne();
        return Shard::Answer::accepted;
    });
}

/// Counts and schedules a node.
inline void TimerCore::accept(TimeoutNode& node, Tick deadline, Tick farthest,
                              Clock::TimePoint now) {
    if (!accepts_.load(std::memory_order_relaxed)) refuseStopped();
    context_.limit.acquire();
    try {
        Shard& shard = shardOfThisThread();
        scheduleOpen([&] { return shard.schedule(node, deadline, farthest, now); });
    } catch (...) {
        context_.limit.release();
        throw;
    }
}

std::size_t TimerCore::cancelAll() noexcept {
    TimerTaskList ended;
    std::size_t count = 0;
    // The user's code may destroy the timer: at the end of a run on another thread, or below.
    KeptTimer const kept{context_};
    for (auto const& shard : shards_) count += shard->cancelAll(ended);
    endGivenUp();
    Shard::endAll(ended);
    return count;
}

/// A thread always gets the same one, so two threads seldom need one lock.
Shard& TimerCore::shardOfThisThread() const noexcept {
    return *shards_[indexOfThisThread() & (shards_.size() - 1)];
}

void TimerCore::refuseStopped() const {
    throw TimerStopped{"timer \"" + context_.options.name +
                       "\" was stopped: it accepts nothing more"};
}

std::size_t TimerCore::pending() const {
    std::size_t sum = 0;
    for (auto const& shard : shards_) sum += shard->pending();
    return sum;
}

bool TimerCore::findPending(std::size_t shard, std::vector<FoundTimeout>& found) {
    found.clear();
    if (shard == shards_.size()) return false;
    FoundTimeouts all{found, context_.scale};
    {
        std::lock_guard const walking{walk_};
        shards_[shard]->findPending(all);
    }
    all.keepOneOfEach();
    return true;
}

TimerStatistics TimerCore::statistics() const {
    TimerStatistics statistics;
    statistics.name = context_.options.name;
    for (auto const& shard : shards_) shard->readInto(statistics);
    context_.runs.readInto(statistics);
    statistics.rescheduled += context_.pushedBack.sum();
    statistics.wakeUps = context_.alarm.wakeUps();
    statistics.refused = context_.limit.refused();
    return statistics;
}

void TimerCore::checkInvariants() const {
    for (auto const& shard : shards_) shard->checkInvariants();
}

// ---- the driver -------------------------------------------------------------------------------

int TimerCore::pollTimeout() const noexcept {
    auto const expiration = life_.nextExpiration();
    if (!expiration) return -1;
    auto const left = timeBetween(context_.now(), *expiration);
    if (left.count() <= 0) return 0;
    constexpr std::int64_t kMillisecond = 1'000'000;
    std::int64_t const milliseconds = (left.count() - 1) / kMillisecond + 1;
    return static_cast<int>(std::min<std::int64_t>(milliseconds, INT_MAX));
}

bool TimerCore::advance(Tick limit, PassBounds bounds) {
    RunFrame frame{context_};
    followClockBack();
    return runDue(limit, frame, bounds);
}

bool TimerCore::runDueInLoop(PassBounds bounds) {
    life_.refuseInside("runDue()");
    RunFrame pass{context_};  // keeps the timer in memory: a task may destroy it
    std::unique_lock const driving{pass_, std::try_to_lock};
    if (!driving) return false;
    shards_.front()->beginPass(pass);
    return makePass(pass, bounds);
}

/// stop() on another thread waits for the end of the pass. Until then clock and descriptor live.
/// REQUIRES: the pass has begun.
bool TimerCore::makePass(RunFrame& pass, PassBounds bounds) {
    bool isMoreDue = false;
    if (!life_.isStopRequested()) {
        RunFrame frame{context_};
        followClockBack();
        isMoreDue = runDue(context_.tickNow(), frame, bounds);
    }
    if (!life_.isStopRequested()) followClockBack();
    context_.alarm.stayAwayUntil([this] { return nextWake(); });
    shards_.front()->endPass(pass);
    return isMoreDue;
}

bool TimerCore::runDue(Tick limit, RunFrame& frame, PassBounds bounds) {
    bool const hasThread = context_.drivenBy == DrivenBy::thread;
    bool const isTimed = bounds.time.count() != Duration::max().count();
    Clock::TimePoint const begun = isTimed ? context_.now() : Clock::TimePoint{};
    // A caller may name a time ahead of a clock that nobody sets.
    bool const followsClock =
        context_.clock.mayGoBack() ||
        (context_.drivenBy != DrivenBy::caller && !context_.clock.neverGoesBack());
    if (!hasThread) shards_.front()->admitArrivals();
    for (std::size_t ran = 0;;) {
        // A clock of the user's may go back during a task. Nothing runs before it shows its time.
        if (followsClock && !life_.isStopRequested()) limit = std::min(limit, context_.tickNow());
        auto const [shard, wake, others] = earliestShard();
        if (wake > limit || life_.isStopRequested()) return false;
        if (ran == bounds.tasks) return true;
        if (isTimed && ran > 0 && timeSince(begun, context_.now()) >= bounds.time.nanoseconds())
            return true;

        // With a driver thread, admit what is due on arrival at once: as time follows the clock, it
        // comes behind all that was due before. A caller may name a time ahead of the clock, where
        // a task that makes itself due at once would hold it up for ever.
        if (hasThread) shard->admitArrivals();
        std::size_t const most = isTimed || followsClock ? 1 : bounds.tasks - ran;
        auto const served = shard->serve(std::min(limit, others), frame, most);
        ran += served.started;
        if (served.moved == 0 && shard->nextWake() <= limit) return true;
    }
}

/// Shards with the same next wake take turns in coming first, so none starves.
TimerCore::Earliest TimerCore::earliestShard() noexcept {
    std::size_t const count = shards_.size();
    Earliest earliest{nullptr, Tick::max(), Tick::max()};
    for (std::size_t i = 0; i < count; ++i) {
        Shard& shard = *shards_[(firstShard_ + i) & (count - 1)];
        Tick const wake = shard.nextWake();
        if (earliest.shard == nullptr || wake < earliest.wake) {
            earliest.others = earliest.wake;
            earliest.wake = wake;
            earliest.shard = &shard;
        } else {
            earliest.others = std::min(earliest.others, wake);
        }
    }
    ++firstShard_;
    return earliest;
}

Tick TimerCore::nextWake() const noexcept {
    Tick wake = Tick::max();
    for (auto const& shard : shards_) wake = std::min(wake, shard->nextWake());
    return wake;
}

void TimerCore::followClockBack() noexcept {
    if (!context_.clock.mayGoBack()) return;
    for (auto const& shard : shards_) shard->followClockBack();
}

void TimerCore::drive() noexcept {
    RunFrame frame{context_};
    while (!life_.isStopRequested()) {
        followClockBack();
        runDue(context_.tickNow(), frame);
        if (life_.isStopRequested())
            return;  // by a task that destroyed the timer: the clock may be gone
        // It may have been set during a run, which the waiter does not notice.
        followClockBack();
        Tick const until = nextWake();
        if (until <= context_.tickNow()) continue;
        context_.alarm.sleep(until, context_.scale.timeOf(until), [this](Tick tick) {
            return nextWake() < tick || life_.isStopRequested();
        });
    }
}

/// A clock that is set by hand drives.
void TimerCore::runDueHere() {
    if (context_.drivenBy == DrivenBy::loop) {
        RunFrame pass{context_};
        std::lock_guard const driving{pass_};
        shards_.front()->beginPassOfClock(pass);
        makePass(pass, {});
        return;
    }
    advance(context_.tickNow(), {});
}

// ---- start and stop ---------------------------------------------------------------------------

StoppedTimeouts TimerCore::stop(Lifecycle::Caller caller) { return life_.stop(caller); }

void TimerCore::open() noexcept {
    for (auto const& shard : shards_) shard->open();
}

void TimerCore::close(StoppedTimeouts& stopped) noexcept {
    accepts_.store(false, std::memory_order_relaxed);
    for (auto const& shard : shards_) shard->close(stopped);
}

void TimerCore::collect(StoppedTimeouts& stopped) noexcept {
    for (auto const& shard : shards_) shard->collectLate(stopped);
}

void TimerCore::endGivenUp() noexcept {
    bool const inside = RunFrame::isInside(context_);
    RunFrame frame{context_};  // keeps the timer in memory
    frame.givesUp = true;
    for (auto const& shard : shards_) shard->endGivenUp(frame);
    // Another thread's call may be notifying what this one gave up. A task does not wait for that:
    // the other call may wait for this thread.
    if (inside) return;
    for (auto const& shard : shards_) shard->waitForGivenUp();
}

void TimerCore::orphanKeepers() noexcept {
    for (auto const& shard : shards_) shard->orphan();
}

void TimerCore::drain() {
    life_.refuseInside("drain()");
    KeptTimer const kept{context_};  // a task that this waits for may destroy the timer
    accepts_.store(false, std::memory_order_relaxed);
    // A start() in between opens no shard that is draining.
    for (auto const& shard : shards_) shard->beginDraining();
    for (auto const& shard : shards_) shard->waitUntilDrained();
    static_cast<void>(stop(Lifecycle::Caller::user));
}

}  // namespace timingwheel::inline v1::detail
