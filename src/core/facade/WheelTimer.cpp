#include "core/base/OptionChecks.h"
#include "core/driver/TimerCore.h"
#include "core/facade/HookAccess.h"

#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/platform/Prefetch.h>

#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::inline v1 {

using detail::HookAccess;
using detail::HookEntry;
using detail::Shard;
using detail::TimeoutAccess;
using detail::TimeoutEntry;
using detail::TimeoutNode;
using detail::TimeoutState;
using detail::TimeoutWord;
using detail::TimerCore;

namespace {

/// Refuses an entry that another timer keeps. `what()` names it.
template <class What>
void refuseOfAnotherTimer(TimerCore const& core, TimeoutEntry const& entry, What&& what) {
    detail::Keeper const* const keeper = entry.keeper.load(std::memory_order_acquire);
    if (keeper == nullptr || &keeper->context() == &core.context()) [[likely]]
        return;
    if (TimeoutWord::of(entry).state() == TimeoutState::idle) return;  // it was refused there
    detail::refuseOption(what(), "of another timer",
                         "one of timer \"" + core.context().options.name + "\"");
}

/// A handle's node. Null for an empty handle.
TimeoutNode* nodeOf(TimerCore const& core, Timeout const& timeout) {
    TimeoutNode* const node = TimeoutAccess::node(timeout);
    if (node != nullptr) refuseOfAnotherTimer(core, *node, [] { return "the timeout"; });
    return node;
}

// ---- batches ----------------------------------------------------------------------------------

/// Null for an empty handle.
TimeoutEntry* entryOf(TimerHookBase* hook) noexcept { return &HookAccess::entry(*hook); }
TimeoutEntry* entryOf(Timeout const* timeout) noexcept { return TimeoutAccess::node(*timeout); }

std::string nameAt(char const* batch, std::size_t index) {
    return std::string{batch} + "[" + std::to_string(index) + "]";
}

template <class Pointer>
void refuseNull(std::span<Pointer const> batch, char const* name) {
    for (std::size_t i = 0; i < batch.size(); ++i)
        if (batch[i] == nullptr)
            detail::refuseOption(nameAt(name, i), "null", "a pointer to something");
}

/// Also fetches the entries from memory: these reads do not wait for each other.
template <class Pointer>
void refuseOfAnotherTimer(TimerCore const& core, std::span<Pointer const> batch, char const* name) {
    for (std::size_t i = 0; i < batch.size(); ++i)
        if (TimeoutEntry const* const entry = entryOf(batch[i]))
            refuseOfAnotherTimer(core, *entry, [&] { return nameAt(name, i); });
}

/// Counts the push-backs of a batch, and adds them to the timer's at its end, also if it throws.
/// Keeps the timer in memory until then: a hook's task may have destroyed it.
struct PushBacks {
    explicit PushBacks(detail::TimerContext& ofTimer) noexcept : context{ofTimer} {
        context.retain();
    }
    PushBacks(PushBacks const&) = delete;
    PushBacks& operator=(PushBacks const&) = delete;
    ~PushBacks() {
        context.pushedBack.add(count);
        context.release();
    }
    void add() noexcept { ++count; }
    void takeBack() noexcept { --count; }

    detail::TimerContext& context;
    std::size_t count = 0;
};

template <class Pointer>
std::size_t rescheduleAll(TimerCore& core, std::span<Pointer const> batch, char const* name,
                          When when, TimeoutOptions options) {
    auto const [now, time] = core.context().clock.after(when);
    Tick const deadline = core.context().intake(time, now, options);
    refuseOfAnotherTimer(core, batch, name);
    std::size_t moved = 0;
    PushBacks pushedBack{core.context()};
    for (Pointer const each : batch) {
        TimeoutEntry* const entry = entryOf(each);
        Shard* const shard = entry != nullptr ? Shard::of(*entry) : nullptr;
        if (shard == nullptr) continue;
        if (!shard->pushBack(*entry, deadline, pushedBack) && shard->move(*entry, deadline, now))
            ++moved;
    }
    return moved + pushedBack.count;
}

/// Calls `act(shard, entries)` for at most kPerHold neighbours of one shard of any timer. The shard
/// is null for hooks that were never scheduled. Skips null pointers.
template <class Act>
void forNeighbours(std::span<TimerHookBase* const> hooks, Act&& act) {
    std::array<HookEntry*, Shard::kPerHold> entries;
    std::size_t count = 0;
    Shard* shard = nullptr;
    for (TimerHookBase* const hook : hooks) {
        if (hook == nullptr) continue;
        HookEntry& entry = HookAccess::entry(*hook);
        Shard* const next = Shard::of(entry);
        if (next != shard || count == entries.size()) {
            act(shard, std::span<HookEntry* const>{entries.data(), count});
            count = 0;
        }
        shard = next;
        entries[count++] = &entry;
    }
    act(shard, std::span<HookEntry* const>{entries.data(), count});
}

}  // namespace

WheelTimer::WheelTimer(TimerOptions options, detail::DrivenBy driver)
    : core_{new TimerCore{std::move(options), driver}} {
    core_->context().owner.store(this, std::memory_order_release);
}

WheelTimer::~WheelTimer() { core_->life().disown(); }

Timeout WheelTimer::accept(detail::TaskSource task, When when, TimeoutOptions options) {
    auto const [now, deadline] = core_->context().clock.after(when);
    return core_->newTimeout(task, deadline, now, options, nullptr);
}

Timeout WheelTimer::acceptPeriodic(detail::TaskSource task, Duration first, Duration period,
                                   bool fixedDelay, MissedTicks missed) {
    if (period.nanoseconds() < core_->context().scale.tick())
        detail::refuseOption(
            fixedDelay ? "delay" : "period", std::to_string(period.count()) + " ns",
            "at least one tick, " + std::to_string(core_->context().scale.tick().count()) + " ns");
    // A rate has no runs before it was scheduled: none is made up for.
    auto const [now, deadline] =
        core_->context().clock.after(first.count() < 0 ? Duration{} : first);
    using Rule = detail::Periodicity::Rule;
    detail::Periodicity const periodicity{.period = period.nanoseconds(),
                                          .rule = fixedDelay ? Rule::fixedDelay : Rule::fixedRate,
                                          .missed = missed,
                                          .current = deadline};
    return core_->newTimeout(task, deadline, now, {}, &periodicity);
}

Timeout WheelTimer::acceptAtTimes(detail::TaskSource task, MissedTicks missed) {
    if (missed == MissedTicks::shift)
        detail::refuseOption("missed", "shift",
                             "skip or catchUp: times that a function computes cannot be shifted");
    TimePoint const now = core_->context().clock.callersNow();
    detail::TimesOfTask const times{task.operations->timeAfter, task.task};
    std::optional<TimePoint> const first = times.after(now);
    if (!first)
        detail::refuseOption("the time that timeAfter returned", "none",
                             "one that is still to come: a series has at least that");
    detail::Periodicity const periodicity{
        .rule = detail::Periodicity::Rule::timesOfTask, .missed = missed, .current = *first};
    return core_->newTimeout(task, *first, now, {}, &periodicity);
}

void WheelTimer::schedule(TimerHookBase& hook, When when, TimeoutOptions options) {
    auto const [now, deadline] = core_->context().clock.after(when);
    core_->schedule(HookAccess::entry(hook), deadline, now, options);
}

void detail::schedule(WheelTimer& timer, TimerHookBase& hook, When when) {
    timer.schedule(hook, when);
}

bool WheelTimer::reschedule(Timeout const& timeout, When when, TimeoutOptions options) {
    // A tolerance may round the past to what is far ahead: then the clock has to be read.
    if (when.isTimePoint() && options.tolerance.count() == 0) {
        Tick const tick = core_->context().intake(when.timePoint(), options);
        TimeoutNode* const node = nodeOf(*core_, timeout);
        return node != nullptr && Shard::of(*node)->rescheduleAt(*node, when.timePoint(), tick);
    }
    // The entry comes from memory while the clock is read.
    detail::prefetchToWrite(TimeoutAccess::node(timeout));
    auto const [now, deadline] = core_->context().clock.after(when);
    Tick const tick = core_->context().intake(deadline, now, options);
    TimeoutNode* const node = nodeOf(*core_, timeout);
    return node != nullptr && Shard::of(*node)->reschedule(*node, tick, now);
}

// ---- batches ----------------------------------------------------------------------------------

std::size_t WheelTimer::reschedule(std::span<TimerHookBase* const> hooks, When when,
                                   TimeoutOptions options) {
    refuseNull(hooks, "hooks");
    return rescheduleAll(*core_, hooks, "hooks", when, options);
}

std::size_t WheelTimer::reschedule(std::span<Timeout const* const> timeouts, When when,
                                   TimeoutOptions options) {
    refuseNull(timeouts, "timeouts");
    return rescheduleAll(*core_, timeouts, "timeouts", when, options);
}

void WheelTimer::schedule(std::span<TimerHookBase* const> hooks, When when,
                          TimeoutOptions options) {
    refuseNull(hooks, "hooks");
    detail::TimerContext::checkTolerance(options);
    TimerCore& core = *core_;
    // The task of a hook may destroy the timer before the next is scheduled, which is refused then.
    detail::KeptTimer const kept{core.context()};
    auto const delayed = core.context().clock.after(when);
    forNeighbours(hooks, [&](Shard* shard, std::span<HookEntry* const> entries) {
        if (shard != nullptr && &shard->context() == &core.context())
            return core.schedule(*shard, entries, delayed.deadline, delayed.now, options);
        for (HookEntry* const entry : entries)
            core.schedule(*entry, delayed.deadline, delayed.now, options);
    });
}

std::size_t WheelTimer::cancel(std::span<TimerHookBase* const> hooks) {
    refuseNull(hooks, "hooks");
    refuseOfAnotherTimer(*core_, hooks, "hooks");
    return detail::cancelEach(hooks);
}

std::size_t detail::cancelEach(std::span<TimerHookBase* const> hooks) noexcept {
    std::size_t cancelled = 0;
    forNeighbours(hooks, [&](Shard* shard, std::span<HookEntry* const> entries) {
        if (shard != nullptr) cancelled += shard->cancel(entries);
    });
    return cancelled;
}

// ---- stop, look -------------------------------------------------------------------------------

void WheelTimer::stopForGood() noexcept {
    static_cast<void>(core_->stop(detail::Lifecycle::Caller::destructor));
}

std::size_t WheelTimer::cancelAll() noexcept { return core_->cancelAll(); }

StoppedTimeouts WheelTimer::stop() { return core_->stop(detail::Lifecycle::Caller::user); }

std::size_t WheelTimer::pendingTimeouts() const { return core_->pending(); }

bool WheelTimer::findPending(std::size_t part, std::vector<detail::FoundTimeout>& found) const {
    return core_->findPending(part, found);
}

TimerStatistics WheelTimer::statistics() const { return core_->statistics(); }

Clock& WheelTimer::clock() const noexcept { return core_->context().clock.get(); }

std::string const& WheelTimer::name() const noexcept { return core_->context().options.name; }

std::chrono::nanoseconds WheelTimer::tick() const noexcept { return core_->context().scale.tick(); }

void WheelTimer::checkInvariants() const { core_->checkInvariants(); }

}  // namespace timingwheel::inline v1
