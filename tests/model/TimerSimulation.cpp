#include <algorithm>
#include <model/TimerSimulation.h>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace timingwheel::model {

namespace {

using std::chrono::nanoseconds;

/// A periodic task cancels itself then: it would run for ever when the clock jumps to its end.
constexpr int kMostRuns = 12;

std::int64_t saturated(Wide value) {
    return static_cast<std::int64_t>(std::clamp<Wide>(value, kMin, kMax));
}
std::int64_t countOf(Clock::TimePoint time) { return time.time_since_epoch().count(); }
Clock::TimePoint timePoint(std::int64_t count) { return Clock::TimePoint{nanoseconds{count}}; }

struct Thrown {};

}  // namespace

// ---- ticks ------------------------------------------------------------------------------------

std::int64_t TickModel::ofDeadline(std::int64_t deadline, std::int64_t tolerance) const noexcept {
    Wide tick = 0;
    if (deadline > origin_) tick = (Wide{deadline} - origin_ + tick_ - 1) / tick_;
    if (tick >= kNever || (tick > 0 && deadline > kMax - tick_)) return kNever;
    Wide width = 1;
    for (std::size_t level = 0; width * sizeOf(sizes_, level) * tick_ <= tolerance; ++level)
        width *= sizeOf(sizes_, level);
    Wide const rounded = (tick + width - 1) / width * width;
    // No tolerance turns a deadline into "never".
    bool const isShown = rounded < kNever && origin_ + rounded * tick_ < kMax;
    return static_cast<std::int64_t>(isShown ? rounded : tick);
}

std::int64_t TickModel::ofNow(std::int64_t now) const noexcept {
    if (now < origin_) return -1;
    return static_cast<std::int64_t>(std::min<Wide>(kNever - 1, (Wide{now} - origin_) / tick_));
}

Clock::TimePoint TickModel::timeOf(std::int64_t tick) const noexcept {
    return timePoint(tick == kNever ? kMax : saturated(Wide{origin_} + Wide{tick} * tick_));
}

std::optional<std::int64_t> TickModel::at(Clock::TimePoint time) const noexcept {
    Wide const elapsed = Wide{countOf(time)} - origin_;
    if (time == Clock::TimePoint::max() || elapsed % tick_ != 0) return std::nullopt;
    return static_cast<std::int64_t>(elapsed / tick_);
}

// ---- what the timer holds ---------------------------------------------------------------------

/// Tells when it dies.
struct TimerSimulation::Capture {
    TimerSimulation& simulation;
    Record& record;

    Capture(TimerSimulation& owner, Record& of) : simulation{owner}, record{of} {
        record.holdsCapture = true;
    }
    Capture(Capture const&) = delete;
    Capture& operator=(Capture const&) = delete;
    ~Capture() { simulation.onCaptureDied(record); }
};

struct TimerSimulation::Hook {
    TimerSimulation& simulation;
    std::size_t slot;

    Hook(TimerSimulation& owner, std::size_t of) : simulation{owner}, slot{of} {}
    void run() { simulation.onHook(slot); }

    TimerHook<&Hook::run> timerHook{*this};
};

/// While it lives the timer runs tasks: what would wait for those is refused.
class TimerSimulation::Advance {
public:
    Advance(TimerSimulation& simulation, std::int64_t time)
        : simulation_{simulation}, outer_{std::exchange(simulation.told_, time)} {
        simulation.advancing_.push_back(simulation.timers_);
        simulation.sawTime(time);
    }
    Advance(Advance const&) = delete;
    Advance& operator=(Advance const&) = delete;
    ~Advance() {
        simulation_.advancing_.pop_back();
        simulation_.told_ = outer_;
    }

private:
    TimerSimulation& simulation_;
    std::int64_t outer_;
};

// ---- from the first to the last ---------------------------------------------------------------

void TimerSimulation::compare(Scenario const& scenario, Comparisons& comparisons) {
    TimerSimulation simulation{scenario.setting, comparisons};
    simulation.play(scenario.commands);
    simulation.finish();
}

TimerSimulation::TimerSimulation(Setting const& setting, Comparisons& comparisons)
    : setting_{setting},
      comparisons_{comparisons},
      settable_{setting.start},
      manual_{setting.start} {
    for (std::size_t i = 0; i < kHooks; ++i)
        hooks_[i] = std::make_unique<Hook>(*this, kHandles + i);
    renew();
}

/// A failed scenario leaves timeouts pending: their captures tell records that still live.
TimerSimulation::~TimerSimulation() {
    waiting_.clear();
    timer_.reset();
}

void TimerSimulation::play(std::vector<Command> const& commands) {
    for (Command const& command : commands) {
        ++command_;
        if (command.when == Command::When::now)
            apply(command);
        else
            waiting_.push_back(command);
        check();
        checkStatistics();
        if (failure_.empty()) continue;
        std::ostringstream out;
        out << failure_ << "\n  at command " << command_ << ": " << command;
        throw std::logic_error{out.str()};
    }
}

/// All that can become due does, and the rest is returned.
void TimerSimulation::finish() {
    waiting_.clear();
    Command last{};
    last.amount = nanoseconds::max();
    last.atMost = std::numeric_limits<std::size_t>::max();
    last.action = Action::jump;
    ++command_;
    apply(last);
    // What becomes due meanwhile waits for the next call.
    if (setting_.clock == ClockKind::settable)
        for (int i = 0; i <= kMostRuns; ++i, ++command_) advanceTo(now(), last.atMost);
    check();
    for (auto const& [tick, record] : pending_)
        require(ticks_.timeOf(tick) == Clock::TimePoint::max() || tick > ticks_.ofNow(now()),
                "it never ran", comparisons_.due);
    stop();
    check();
    checkStatistics();
    if (!failure_.empty()) throw std::logic_error{failure_ + "\n  at the end"};
}

// ---- the commands -----------------------------------------------------------------------------

void TimerSimulation::apply(Command const& command) {
    switch (command.action) {
        case Action::schedule:
        case Action::scheduleAt:
        case Action::schedulePeriodically:
            return schedule(command);
        case Action::cancel:
            return cancel(command);
        case Action::reschedule:
        case Action::rescheduleTo:
            return reschedule(command);
        case Action::advance:
        case Action::advanceAhead:
            return advance(command);
        case Action::jump:
            return jump(command);
        case Action::drop:
            return drop(command.slot);
        case Action::cancelAll:
            return cancelAll();
        case Action::stop:
            return stop();
        case Action::renew:
            if (refusing_ == 0) renew();  // not while the timer is being called
            return;
        case Action::throwSomething:
            return;  // only a task does
    }
}

void TimerSimulation::schedule(Command const& given) {
    Command command = given;
    if (command.action == Action::schedulePeriodically) command.slot %= kHandles;
    std::size_t const slot = command.slot;
    Record const* const former = slots_[slot];
    bool const isPending = former != nullptr && former->state == State::pending;
    if (slot >= kHandles && isPending && former->timer == timers_) return reschedule(command);
    Refusal const expected = refusalOf(slot);
    Record& record = *records_.emplace_back(std::make_unique<Record>());
    record.slot = slot;
    record.timer = timers_;
    record.state = State::cancelled;  // until it is accepted
    record.exact = later(command.amount.count());
    bool const isDue = record.exact <= now();
    std::int64_t tick = ticks_.ofNow(now());
    if (command.action == Action::schedulePeriodically) {
        record.isPeriodic = true;
        record.rate = command.rate;
        record.period = command.period.count();
        record.grid = std::max(record.exact, now());
        command.tolerance = nanoseconds{0};
    }
    if (!isDue) tick = ticks_.ofDeadline(record.exact, command.tolerance.count());
    if (expected == Refusal::rejected) ++refused_;

    Refusal actual = Refusal::none;
    if (expected != Refusal::none) ++refusing_;
    try {
        callSchedule(command, record);
    } catch (RejectedExecution const&) {
        actual = Refusal::rejected;
    } catch (std::logic_error const&) {
        actual = Refusal::logicError;
    }
    if (expected != Refusal::none) --refusing_;
    require(actual == expected, "schedule() is refused, or it is not");
    if (actual != Refusal::none) return;

    ++scheduled_;
    record.state = State::pending;
    slots_[slot] = &record;
    place(record, tick);
    if (isDue) record.exact = kMin;
}

/// What a fixed rate does, as a function.
auto TimerSimulation::timesOf(Record const& record) {
    return [first = timePoint(record.exact), period = nanoseconds{record.period},
            isFirst = true](Clock::TimePoint after) mutable {
        if (std::exchange(isFirst, false)) return first;
        bool const isBeyond = Clock::TimePoint::max() - period < after;
        return isBeyond ? Clock::TimePoint::max() : after + period;
    };
}

void TimerSimulation::callSchedule(Command const& command, Record& record) {
    TimeoutOptions const options{.tolerance = command.tolerance};
    bool const isAbsolute = command.action == Action::scheduleAt;
    Clock::TimePoint const deadline = timePoint(record.exact);
    if (record.slot >= kHandles) {
        TimerHookBase& hook = hooks_[record.slot - kHandles]->timerHook;
        record.hook = &hook;
        if (isAbsolute) return timer_->schedule(hook, deadline, options);
        return timer_->schedule(hook, command.amount, options);
    }
    auto task = [this, capture = std::make_shared<Capture>(*this, record)](Timeout const& self) {
        onRun(capture->record, self, self.deadline());
    };
    Timeout& handle = handles_[record.slot];
    if (isAbsolute)
        handle = timer_->newTimeout(std::move(task), deadline, options);
    else if (!record.isPeriodic)
        handle = timer_->newTimeout(std::move(task), command.amount, options);
    else if (record.rate == Rate::fixedDelay)
        handle = timer_->scheduleWithFixedDelay(std::move(task), command.amount, command.period);
    else if (record.rate == Rate::catchUp && record.exact > now() && record.period % 2 == 0)
        handle = timer_->scheduleAtTimes(std::move(task), timesOf(record), MissedTicks::catchUp);
    else
        handle = timer_->scheduleAtFixedRate(std::move(task), command.amount, command.period,
                                             record.rate == Rate::skip    ? MissedTicks::skip
                                             : record.rate == Rate::shift ? MissedTicks::shift
                                                                          : MissedTicks::catchUp);
}

void TimerSimulation::cancel(Command const& command) {
    Record* const record = slots_[command.slot];
    bool const isPending = record != nullptr && record->state == State::pending;
    bool const expected =
        isPending || (record != nullptr && record->isPeriodic && record->state == State::running);
    if (isPending)
        take(*record, State::cancelled);
    else if (expected)
        record->state = State::cancelled;
    if (expected && record->timer == timers_) ++cancelled_;

    bool cancelled = false;
    if (command.slot < kHandles) {
        // A capture that dies meanwhile may drop the handle.
        Timeout const& handle = handles_[command.slot];
        cancelled = command.waits ? handle.cancelAndWait() : handle.cancel();
    } else {
        TimerHookBase& hook = hooks_[command.slot - kHandles]->timerHook;
        cancelled = command.waits ? hook.cancelAndWait() : hook.cancel();
    }
    require(cancelled == expected, "cancel() does not tell the truth");
}

/// Also the schedule of a hook that is pending.
void TimerSimulation::reschedule(Command const& command) {
    Record* const record = slots_[command.slot];
    bool const isBySchedule =
        command.action == Action::schedule || command.action == Action::scheduleAt;
    bool const isAbsolute =
        command.action == Action::rescheduleTo || command.action == Action::scheduleAt;
    bool const expected = record != nullptr && record->state == State::pending;
    bool const isForeign = command.slot < kHandles && record != nullptr && record->timer != timers_;
    TimeoutOptions const options{.tolerance = command.tolerance};
    std::int64_t const exact = later(command.amount.count());
    ask(command.slot);
    bool done = false;
    bool isRefused = false;
    try {
        if (command.slot >= kHandles) {
            TimerHookBase& hook = hooks_[command.slot - kHandles]->timerHook;
            When const when = isAbsolute ? When{timePoint(exact)} : When{command.amount};
            done = isBySchedule || hook.reschedule(when, options);
            if (isBySchedule) timer_->schedule(hook, when, options);
        } else {
            Timeout const& handle = handles_[command.slot];
            done = isAbsolute ? timer_->reschedule(handle, timePoint(exact), options)
                              : timer_->reschedule(handle, command.amount, options);
        }
    } catch (std::invalid_argument const&) {
        isRefused = true;
    }
    require(isRefused == isForeign, "reschedule() of another timer's timeout");
    require(done == expected, "reschedule() does not tell the truth");
    if (!done || !expected) return;

    ++rescheduled_;
    bool const isDue = exact <= now();
    std::int64_t const current = ticks_.ofNow(now());
    std::int64_t const before = record->first;
    std::int64_t tick = ticks_.ofDeadline(exact, command.tolerance.count());
    // A push-back to a time point does not look at the clock.
    bool const isLooking = !isAbsolute || isBySchedule || command.tolerance.count() != 0;
    if (isDue && isLooking) tick = current;
    take(*record, State::pending);
    place(*record, tick);
    if (isDue) record->first = std::min(tick, current);
    record->exact = isDue ? kMin : exact;
    record->isMoved = true;
    ask(command.slot);
    // A fixed rate counts from where it was moved to, and not if that is where it was.
    std::int64_t const otherwise = isDue ? record->first : std::max(tick, current);
    std::int64_t const moved = tick > before ? tick : otherwise;
    if (record->isPeriodic)
        record->isMoved = moved != record->scheduledTick && record->first != record->scheduledTick;
}

void TimerSimulation::advance(Command const& command) {
    std::int64_t const time = command.amount.count() < 0 ? now() : clockAfter(command.amount);
    if (setting_.clock == ClockKind::manual)
        return moveManualClock(time, command.action == Action::advance);
    if (command.action == Action::advance) settable_.set(timePoint(time));
    sawTime(time);
    advanceTo(time, command.atMost);
}

void TimerSimulation::advanceTo(std::int64_t time, std::size_t atMost) {
    if (isInside()) {
        bool isRefused = false;
        try {
            timer_->advanceTo(timePoint(time), atMost);
        } catch (std::logic_error const&) {
            isRefused = true;
        }
        return require(isRefused, "advanceTo() from inside a task");
    }
    std::uint64_t const timer = timers_;
    std::uint64_t const before = runs_;
    bool more = false;
    {
        Advance const advance{*this, time};
        more = timer_->advanceTo(timePoint(time), atMost);
    }
    if (timer != timers_) return;  // a task destroyed it
    std::uint64_t const ran = runs_ - before;
    std::int64_t const tick = ticks_.ofNow(time);
    require(ran <= atMost, "more tasks ran than were allowed");
    if (ran < atMost) checkNothingDue(tick, more);
    if (!more) return checkNothingDue(tick, false);
    require(
        ran == atMost || std::any_of(pending_.begin(), pending_.end(),
                                     [&](auto const& item) { return item.second->first <= tick; }),
        "advanceTo() says that more is due");
}

void TimerSimulation::moveManualClock(std::int64_t time, bool stepping) {
    if (!advancing_.empty()) {
        bool isRefused = false;
        try {
            stepping ? manual_.advanceTo(timePoint(time)) : manual_.jumpTo(timePoint(time));
        } catch (std::logic_error const&) {
            isRefused = true;
        }
        return require(isRefused, "a ManualClock was moved from inside a task");
    }
    {
        Advance const advance{*this, now()};
        stepping ? manual_.advanceTo(timePoint(time)) : manual_.jumpTo(timePoint(time));
    }
    sawTime(now());
    checkNothingDue(ticks_.ofNow(now()), false);
}

void TimerSimulation::jump(Command const& command) {
    std::int64_t const time = clockAfter(command.amount);
    if (setting_.clock == ClockKind::manual) return moveManualClock(time, false);
    settable_.set(timePoint(time));
    sawTime(time);
}

void TimerSimulation::drop(std::size_t slot) {
    Record* const record = std::exchange(slots_[slot], nullptr);
    if (slot < kHandles) {
        handles_[slot] = Timeout{};
        return;
    }
    for (Record* const running : running_)
        if (running->slot == slot) running->hook = nullptr;
    if (record != nullptr && record->state == State::pending) {
        take(*record, State::cancelled);
        ++cancelled_;
    }
    hooks_[slot - kHandles].reset();
    hooks_[slot - kHandles] = std::make_unique<Hook>(*this, slot);
}

void TimerSimulation::cancelAll() {
    std::size_t expected = pending_.size();
    while (!pending_.empty()) take(*pending_.begin()->second, State::cancelled);
    for (Record* const record : running_) {
        if (!record->isPeriodic || record->state != State::running || record->timer != timers_)
            continue;
        record->state = State::cancelled;
        ++expected;
    }
    cancelled_ += expected;
    std::uint64_t const timer = timers_;
    std::size_t const cancelled = timer_->cancelAll();  // what dies meanwhile may renew the timer
    require(cancelled == expected, "cancelAll() cancels other timeouts");
    if (timer == timers_) timer_->checkInvariants();
}

void TimerSimulation::stop() {
    if (isInside()) {
        bool isRefused = false;
        try {
            static_cast<void>(timer_->stop());
        } catch (std::logic_error const&) {
            isRefused = true;
        }
        return require(isRefused, "stop() from inside a task");
    }
    std::size_t hooks = 0;
    for (auto const& [tick, record] : pending_) hooks += record->hook != nullptr ? 1U : 0U;
    std::size_t const handles = pending_.size() - hooks;
    returnAll();
    isStopped_ = true;
    StoppedTimeouts const stopped = timer_->stop();
    require(stopped.size() == handles, "stop() returns other timeouts");
    require(stopped.hooks() == hooks, "stop() returns other hooks");
    for (StoppedTimeout const& timeout : stopped)
        require(timeout.timeout().isReturned(), "stop() returns what it did not");
}

/// The last multiple of the alignment, as far as ticks and the clock reach back.
std::int64_t TimerSimulation::originAt(std::int64_t now) const {
    std::int64_t const alignment = setting_.alignment.count();
    if (alignment == 0) return now;
    std::int64_t const since = (now % alignment + alignment) % alignment;
    if (since / setting_.tick.count() > Tick::kMax / 2 || now < kMin + since) return now;
    return now - since;
}

void TimerSimulation::renew() {
    std::unique_ptr<ManualTimer> const former = std::move(timer_);
    returnAll();
    ++timers_;
    isStopped_ = false;
    scheduled_ = fired_ = runs_ = cancelled_ = returned_ = rescheduled_ = refused_ = 0;
    std::int64_t const origin = originAt(now());
    ticks_ = TickModel{origin, setting_.tick.count(), setting_.levelSizes};
    highest_ = ticks_.ofNow(now());
    lastTick_ = -1;
    TimerOptions options = withLevels(TimerOptions{.tick = setting_.tick}, setting_.levelSizes);
    if (setting_.alignment.count() != 0) options.start = timePoint(origin);
    if (setting_.clock == ClockKind::manual)
        options.clock = manual_;
    else
        options.clock = settable_;
    options.maxPendingTimeouts = setting_.maxPendingTimeouts;
    options.errorHandler = [this](TaskFailure const& failure) {
        require(failure.kind == TaskFailure::Kind::threw, "a strange failure");
        ++toldFailures_;
    };
    options.slowTaskHandler = [](SlowTask const&) {};  // the clock jumped
    timer_ = std::make_unique<ManualTimer>(std::move(options));
}

// ---- what the timer calls ---------------------------------------------------------------------

void TimerSimulation::onRun(Record& record, Timeout const& self, Clock::TimePoint deadline) {
    if (setting_.clock == ClockKind::manual) {
        told_ = now();
        advancing_.back() = record.timer;
        sawTime(told_);
    }
    require(record.state == State::pending, "it runs, but was not pending");
    require(record.timer == timers_, "it runs on a timer that is gone");
    if (record.state != State::pending || record.timer != timers_) return;
    settle(record, deadline);
    require(deadline == ticks_.timeOf(record.first), "its deadline is no tick",
            comparisons_.deadlines);
    std::int64_t const tick = record.first;
    require(told_ >= record.exact, "it is early");
    require(tick <= ticks_.ofNow(told_), "it is early by its tick");
    take(record, State::running);
    // What arrives during an advance waits for the next one, and so for the rest of a tick that has
    // begun.
    for (auto const& [last, other] : pending_)
        require(last >= tick || other->command == command_ || tick == lastTick_,
                "it overtakes an earlier deadline", comparisons_.order);
    lastTick_ = tick;

    ++runs_;
    if (!record.isPeriodic) ++fired_;
    if (record.hook != nullptr) record.state = State::expired;
    running_.push_back(&record);
    check();
    bool const throws = react(Command::When::inTask, record.slot);
    if (record.isPeriodic && ++record.runs >= kMostRuns && record.state == State::running) {
        record.state = State::cancelled;
        if (record.timer == timers_) ++cancelled_;
        require(self.cancel(), "a periodic task cannot cancel itself");
    }
    afterRun(record);
    running_.pop_back();
    if (!throws) return;
    ++thrown_;
    throw Thrown{};
}

void TimerSimulation::onHook(std::size_t slot) {
    Record* const record = slots_[slot];
    require(record != nullptr, "a hook runs that was not scheduled");
    if (record == nullptr) return;
    onRun(*record, Timeout{}, hooks_[slot - kHandles]->timerHook.deadline());
}

void TimerSimulation::afterRun(Record& record) {
    if (record.state != State::running) return;  // a hook, or cancelled meanwhile
    if (!record.isPeriodic) {
        record.state = State::expired;
        return;
    }
    if (record.timer != timers_) {  // it destroyed its timer
        record.state = State::returned;
        return;
    }
    Wide const ended = now();
    Wide next = ended + record.period;
    if (record.rate != Rate::fixedDelay) {
        if (record.isMoved) record.grid = countOf(ticks_.timeOf(record.first));
        next = Wide{record.grid} + record.period;
        bool const isMissed = ticks_.ofDeadline(saturated(next)) <= ticks_.ofNow(saturated(ended));
        if (isMissed && record.rate == Rate::shift) next = ended + record.period;
        if (isMissed && record.rate == Rate::skip)
            next += ((ended - next) / record.period + 1) * record.period;
    }
    record.grid = saturated(next);
    record.exact = record.grid;
    record.isMoved = false;
    record.state = State::pending;
    place(record, ticks_.ofDeadline(record.grid));
}

void TimerSimulation::onCaptureDied(Record& record) {
    record.holdsCapture = false;
    static_cast<void>(react(Command::When::inDestructor, record.slot));
}

/// Returns whether one of the commands wants to throw.
bool TimerSimulation::react(Command::When when, std::size_t host) {
    struct Inside {
        explicit Inside(int& counter) noexcept : count{counter} { ++count; }
        Inside(Inside const&) = delete;
        Inside& operator=(Inside const&) = delete;
        ~Inside() { --count; }
        int& count;
    } const inside{inside_};
    bool throws = false;
    for (;;) {
        auto const found = std::find_if(waiting_.begin(), waiting_.end(), [&](Command const& c) {
            return c.when == when && c.host == host;
        });
        if (found == waiting_.end()) return throws;
        Command const command = *found;
        waiting_.erase(found);
        throws = throws || command.action == Action::throwSomething;
        apply(command);
        check();
    }
}

// ---- the model --------------------------------------------------------------------------------

TimerSimulation::Refusal TimerSimulation::refusalOf(std::size_t slot) const {
    Record const* const former = slots_[slot];
    if (slot >= kHandles) {
        if (former != nullptr && former->state == State::pending) return Refusal::logicError;
        TimerHookBase const* const hook = &hooks_[slot - kHandles]->timerHook;
        for (Record const* const record : running_)
            if (record->hook == hook && record->timer != timers_) return Refusal::logicError;
    }
    if (isStopped_) return Refusal::logicError;
    std::size_t places = pending_.size();
    for (Record const* const record : running_)
        if (record->isPeriodic && record->timer == timers_) ++places;
    bool const isFull = setting_.maxPendingTimeouts != 0 && places >= setting_.maxPendingTimeouts;
    return isFull ? Refusal::rejected : Refusal::none;
}

void TimerSimulation::place(Record& record, std::int64_t tick) {
    record.command = command_;
    record.first = tick;
    record.last = std::max(tick, highest_);
    pending_.emplace(record.last, &record);
}

void TimerSimulation::settle(Record& record, Clock::TimePoint deadline) {
    std::int64_t const last = record.last;
    require(deadline >= ticks_.timeOf(record.first) && deadline <= ticks_.timeOf(last),
            "the deadline is another one", comparisons_.deadlines);
    if (record.first != last) {
        take(record, record.state);
        record.first = record.last = ticks_.at(deadline).value_or(last);
        pending_.emplace(record.last, &record);
    }
    if (!record.isMoved) record.scheduledTick = record.first;
}

void TimerSimulation::ask(std::size_t slot) {
    Record* const record = slots_[slot];
    if (record == nullptr || record->state != State::pending || record->timer != timers_) return;
    settle(*record, slot < kHandles ? handles_[slot].deadline()
                                    : hooks_[slot - kHandles]->timerHook.deadline());
}

void TimerSimulation::take(Record& record, State state) {
    std::erase_if(pending_, [&](auto const& item) { return item.second == &record; });
    record.state = state;
}

void TimerSimulation::returnAll() {
    returned_ += pending_.size();
    for (auto const& [tick, record] : pending_) record->state = State::returned;
    pending_.clear();
}

void TimerSimulation::sawTime(std::int64_t time) {
    highest_ = std::max(highest_, ticks_.ofNow(time));
}

std::int64_t TimerSimulation::now() const {
    bool const isManual = setting_.clock == ClockKind::manual;
    return countOf(isManual ? manual_.now() : settable_.now());
}

/// The longest delay means never.
std::int64_t TimerSimulation::later(std::int64_t delay) const {
    return delay == kMax ? kMax : saturated(Wide{now()} + delay);
}

/// The end of time means never: no clock gets there.
std::int64_t TimerSimulation::clockAfter(nanoseconds amount) const {
    return std::min(later(amount.count()), kMax - 1);
}

bool TimerSimulation::isInside() const {
    return std::find(advancing_.begin(), advancing_.end(), timers_) != advancing_.end();
}

// ---- comparing --------------------------------------------------------------------------------

void TimerSimulation::check() {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
        ask(slot);
        if (slot < kHandles)
            checkHandle(slot);
        else
            require(hooks_[slot - kHandles]->timerHook.isPending() ==
                        (slots_[slot] != nullptr && slots_[slot]->state == State::pending),
                    "a hook is pending, or it is not");
    }
    require(timer_->pendingTimeouts() == pending_.size(), "pendingTimeouts()");
    auto const next = timer_->nextExpiration();
    require((timer_->pollTimeout() == -1) == !next, "pollTimeout()");
    if (!pending_.empty()) {
        Clock::TimePoint const earliest = ticks_.timeOf(pending_.begin()->first);
        require(earliest == Clock::TimePoint::max() || (next && *next <= earliest),
                "nextExpiration() is later than the earliest deadline");
    }
    try {
        timer_->checkInvariants();
    } catch (std::logic_error const& error) {
        require(false, error.what());
    }
}

void TimerSimulation::checkHandle(std::size_t slot) {
    Timeout const& handle = handles_[slot];
    Record const* const record = slots_[slot];
    require(static_cast<bool>(handle) == (record != nullptr), "a handle is empty, or it is not");
    if (record == nullptr) return;
    State const state = record->state;
    bool const isReturned = state == State::returned;
    require(handle.isPending() == (state == State::pending), "isPending()");
    require(handle.isExpired() ==
                (state == State::expired || (state == State::running && !record->isPeriodic)),
            "isExpired()");
    require(handle.isDone() == (state == State::expired), "isDone()");
    require(handle.isCancelled() == (state == State::cancelled || isReturned), "isCancelled()");
    require(handle.isReturned() == isReturned, "isReturned()");
    require(!handle.isRejected(), "isRejected()");
    if (state != State::pending) return;
    require(handle.timer() == timer_.get(), "timer()");
    bool const isNever = handle.deadline() == Clock::TimePoint::max();
    Wide const left = std::max<Wide>(0, Wide{countOf(handle.deadline())} - now());
    require(handle.remaining().count() == (isNever ? kMax : saturated(left)), "remaining()");
}

/// Nothing is left that is due, but for what arrived during this very command.
void TimerSimulation::checkNothingDue(std::int64_t tick, bool mayHaveArrived) {
    for (auto const& [last, record] : pending_)
        require(last > tick || (mayHaveArrived && record->command == command_),
                "it is due and has not run", comparisons_.due);
}

/// When the timer rests.
void TimerSimulation::checkStatistics() {
    TimerStatistics const told = timer_->statistics();
    require(told.pending == pending_.size(), "statistics: pending");
    require(told.scheduled == scheduled_, "statistics: scheduled");
    require(told.fired == fired_, "statistics: fired");
    require(told.runs == runs_, "statistics: runs");
    require(told.cancelled == cancelled_, "statistics: cancelled");
    require(told.returned == returned_, "statistics: returned");
    require(told.rescheduled == rescheduled_, "statistics: rescheduled");
    require(told.refused == refused_, "statistics: refused");
    require(scheduled_ == pending_.size() + fired_ + cancelled_ + returned_,
            "an outcome is missing");
    require(toldFailures_ == thrown_, "the error handler heard of other failures");
    for (auto const& record : records_)
        require(
            record->hook != nullptr || record->holdsCapture == (record->state == State::pending),
            "a capture lives too long, or not long enough");
}

/// A task cannot throw what ends the test: the first failure is kept.
void TimerSimulation::require(bool holds, char const* what) {
    if (!holds && failure_.empty()) failure_ = what;
    if (inside_ == 0) return;
    ++comparisons_.inside.made;
    if (!holds) ++comparisons_.inside.wrong;
}

void TimerSimulation::require(bool holds, char const* what, Comparison& respect) {
    ++respect.made;
    if (!holds) ++respect.wrong;
    require(holds, what);
}

}  // namespace timingwheel::model
