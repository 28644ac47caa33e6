#include "Scenario.h"

#include <timingwheel/RejectedExecution.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <new>
#include <stdexcept>
#include <string>

namespace timingwheel::test::simulation {

using std::chrono::nanoseconds;

namespace {

Clock::TimePoint after(Clock::TimePoint time, Duration delay) noexcept {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(time.time_since_epoch().count(), delay.count(), &sum))
        return Clock::TimePoint::max();
    return Clock::TimePoint{nanoseconds{sum}};
}

}  // namespace

// ---- what it is made of -----------------------------------------------------------------------

Shape::Shape(std::uint64_t number) : seed{number} {
    Dice dice{number};
    isFlat = dice.oneIn(3);
    tick = isFlat ? dice.oneOf<nanoseconds>({std::chrono::milliseconds{1}})
                  : dice.oneOf<nanoseconds>({nanoseconds{1'000}, std::chrono::milliseconds{1}});
    slots = dice.oneOf<std::int64_t>({2, 3, 4, 8});
    shards = dice.oneOf<std::size_t>({1, 1, 2});
    most = dice.oneOf<std::size_t>({0, 0, 0, 3});
    isObserved = dice.oneIn(4);
    isImmediate = isFlat && dice.oneIn(4);
    callers = dice.oneOf<std::size_t>({1, 2, 2, 3});
    operations = dice.oneOf<std::size_t>({3, 6, 12});
    end = dice.oneOf({End::stop, End::stop, End::stopEarly, End::stopByCaller, End::drain,
                      End::destroy, End::destroyFromATask, End::letGo, End::letGo});
    drawExecutor(dice);
    drawSurroundings(dice);
}

/// Of two in four sizes the levels differ.
std::vector<std::int64_t> Shape::levelSizes() const {
    if (slots == 2) return {2, 3};
    if (slots == 8) return {8, 2, 5};
    return {};
}

/// Half of all timers have none.
void Shape::drawExecutor(Dice& dice) {
    hasExecutor = dice.oneIn(2);
    executor.tick = tick;
    if (!hasExecutor) return;
    executor.threads = dice.oneOf<std::size_t>({0, 1, 1, 2});
    using enum Manner;
    using Manners = std::vector<Manner>;
    executor.manners =
        dice.oneOf<Manners>({{runs},
                             {runs, runs, runs, runs, runs, runs, drops, throws},
                             {runs, runsLate, runsInline, copies},
                             {runs, runsInline, throwsAfterRunning, throwsAfterKeeping},
                             {runs, runsLate, runsInline, copies, drops, dropsLate, throws,
                              throwsAfterRunning, throwsAfterKeeping}});
}

void Shape::drawSurroundings(Dice& dice) {
    time = dice.oneOf({Time::steady, Time::steady, Time::stepping, Time::manual});
    if (time == Time::steady && !isFlat && Dice{~seed}.oneIn(2)) {
        time = Time::counted;
        tick = executor.tick = std::chrono::microseconds{16};  // half of what a reading may be old
    }
    factory = dice.oneOf({FactoryFault::none, FactoryFault::none, FactoryFault::throwsAtFirst,
                          FactoryFault::throwsHavingStarted, FactoryFault::runsItselfAtFirst,
                          FactoryFault::makesNoneAtFirst});
    isScarce = dice.oneIn(3);
    executor.isScarce = isScarce;
    // A run starts eight threads at most.
    if (factory == FactoryFault::throwsHavingStarted) callers = std::min<std::size_t>(callers, 2);
    // Nobody moves the clock while the timer is drained, or destroyed by a task.
    bool const needsTime = end == End::drain || end == End::destroyFromATask;
    if (time == Time::manual && needsTime) end = End::stop;
    if (end == End::drain && isFlat) end = End::stop;
    // The executor may drop the task that does it.
    if (end == End::destroyFromATask && mayReject()) end = End::destroy;
    // A task that destroys the timer must not run inside another one, which then goes on using it.
    if (end == End::destroyFromATask) isImmediate = false;
}

bool Shape::isPunctual() const {
    return std::none_of(executor.manners.begin(), executor.manners.end(), [](Manner manner) {
        return manner == Manner::runsLate || manner == Manner::dropsLate ||
               manner == Manner::copies;
    });
}

bool Shape::mayReject() const {
    return hasExecutor &&
           std::any_of(executor.manners.begin(), executor.manners.end(), [](Manner manner) {
               return manner == Manner::drops || manner == Manner::dropsLate ||
                      manner == Manner::throws;
           });
}

// ---- tasks, hooks, the observer ---------------------------------------------------------------

namespace {

/// A batch takes another way, so a part of what hooks do is done by batches of one.
bool isByBatch(Duration wait) { return wait.count() % 3 == 0; }

}  // namespace

struct Scenario::Task {
    Capture capture;
    Scenario* scenario;

    void operator()(Timeout const& self) const { scenario->runTask(capture.id(), self); }
};

/// What has a hook, and dies with it.
class Scenario::Session {
public:
    explicit Session(Scenario& scenario) : scenario_{scenario} {}
    ~Session() {
        // Its run may use all of this: the hook, which comes last, must be waited for.
        if (isScheduled() && hook.cancelAndWait()) wasCancelled();
    }

    bool isScheduled() const { return hook.isPending(); }
    std::array<TimerHookBase*, 1> batch() { return {&hook}; }
    void wasCancelled() {
        std::lock_guard const lock{scenario_.mutex_};
        ++scenario_.hooksCancelled_;
        --scenario_.hookBalance_;
    }

private:
    void expire() {
        Scarcity const enough{false};
        std::lock_guard const lock{scenario_.mutex_};
        --scenario_.hookBalance_;
        ++runs_;
    }

    Scenario& scenario_;
    std::size_t runs_ = 0;

public:
    TimerHook<&Session::expire> hook{*this};
};

/// Counts what is delivered to it. Nothing may be once the timer is gone.
class Scenario::Counter final : public TimerObserver {
public:
    ~Counter() override { isGone_ = true; }
    void onEvent(TimerEvent const& event) noexcept override {
        Scarcity const enough{false};
        std::lock_guard const lock{mutex_};
        require(!isGone_, "an event is delivered after the observer's end");
        using enum TimerEvent::Stage;
        scheduled_ += event.stage == schedule;
        ended_ += event.stage == cancel || (event.stage == run && !event.isPeriodic);
    }
    std::size_t scheduled() {
        std::lock_guard const lock{mutex_};
        return scheduled_;
    }
    std::size_t ended() {
        std::lock_guard const lock{mutex_};
        return ended_;
    }

private:
    std::mutex mutex_;
    bool isGone_ = false;
    std::size_t scheduled_ = 0;
    std::size_t ended_ = 0;
};

/// A timer and what must outlive it, which goes as soon as it may.
struct Scenario::Whole {
    explicit Whole(Scenario& of) : scenario{of} {}
    Whole(Whole const&) = delete;
    Whole& operator=(Whole const&) = delete;
    ~Whole() {
        destroyTimer();
        if (executor == nullptr) return;
        // One whose task destroys the timer may still be in there.
        require(scenario.shape_.end == Shape::End::destroyFromATask || executor->entered() == 0,
                "the timer is gone, and calls the executor");
        std::size_t const thrown = executor->thrown();
        std::lock_guard const lock{scenario.mutex_};
        scenario.thrown_ = thrown;
    }
    /// Tasks that run meanwhile may use it.
    void destroyTimer() {
        Scarcity const scarce{scenario.shape_.isScarce};
        system.reset();
        flat.reset();
    }

    Scenario& scenario;
    std::unique_ptr<Clock> clock;
    std::unique_ptr<Counter> observer;
    std::unique_ptr<StrangeExecutor> executor;
    std::unique_ptr<SystemTimer> system;  // or
    std::unique_ptr<HashedWheelTimer> flat;
};

void Scenario::runTask(std::size_t id, Timeout const& self) {
    Scarcity const enough{false};
    books_.entered(id, highest());
    require(self.deadline() <= highest(), "a task runs before its deadline");
    Dice dice{shape_.seed ^ (id << 32)};
    if (dice.oneIn(3)) operate(dice, true);
    if (dice.oneIn(8)) std::this_thread::sleep_for(shape_.tick * 2);
    books_.left(id);
    if (dice.oneIn(16)) throw std::runtime_error{"a task throws"};
}

// ---- the timer and its surroundings -----------------------------------------------------------

Scenario::Scenario(std::uint64_t seed) : shape_{seed}, factory_{shape_.factory, shape_.isScarce} {}
Scenario::~Scenario() = default;

Clock::TimePoint Scenario::now() const { return clock_->now(); }
Clock::TimePoint Scenario::earliest() const {
    return stepping_ != nullptr ? stepping_->earliest() : now();
}
Clock::TimePoint Scenario::highest() const {
    return stepping_ != nullptr ? stepping_->highest() : now();
}

Scenario::Lease Scenario::makeTimer() {
    Dice dice{shape_.seed + 1};
    auto whole = std::make_shared<Whole>(*this);
    clock_ = &Clock::steady();
    if (shape_.time == Shape::Time::manual) {
        whole->clock = std::make_unique<ManualClock>();
        clock_ = whole->clock.get();
    } else if (shape_.time == Shape::Time::stepping) {
        auto clock = std::make_unique<SteppingClock>(2 * shape_.slots * shape_.tick);
        clock_ = stepping_ = clock.get();
        whole->clock = std::move(clock);
    } else if (shape_.time == Shape::Time::counted) {
        using enum StrangeCounter::Habit;
        auto const habit = Dice{shape_.seed + 3}.oneOf(
            {goesOn, jumpsForward, goesBack, isSlewed, differsByProcessor, runsSlowly});
        whole->clock = std::make_unique<CountedClock>(habit, Dice{shape_.seed + 4});
        clock_ = whole->clock.get();
    }
    if (shape_.hasExecutor)
        whole->executor = std::make_unique<StrangeExecutor>(shape_.executor, Dice{dice.seed()});
    if (shape_.isObserved) whole->observer = std::make_unique<Counter>();
    observer_ = whole->observer.get();
    Executor const executor = whole->executor ? Executor{*whole->executor} : Executor{};
    auto const onFailure = [this](TaskFailure const& failure) { fail(failure); };
    ThreadFactory const factory = [this](std::function<void()> body) {
        return factory_.make(std::move(body));
    };
    if (shape_.isFlat) {
        whole->flat = std::make_unique<HashedWheelTimer>(
            HashedWheelTimerOptions{.tick = shape_.tick,
                                    .ticksPerWheel = shape_.slots,
                                    .clock = *clock_,
                                    .executor = executor,
                                    .immediateIfDue = shape_.isImmediate,
                                    .maxPendingTimeouts = shape_.most,
                                    .leakDetection = false,
                                    .threadFactory = factory,
                                    .errorHandler = onFailure,
                                    .observer = observer_});
        timer_ = whole->flat.get();
    } else {
        bool const isCounted = shape_.time == Shape::Time::counted;
        whole->system =
            std::make_unique<SystemTimer>(TimerOptions{.tick = shape_.tick,
                                                       .wheelSize = shape_.slots,
                                                       .levelSizes = shape_.levelSizes(),
                                                       .clock = *clock_,
                                                       .coarseClock = isCounted,
                                                       .executor = executor,
                                                       .maxPendingTimeouts = shape_.most,
                                                       .shards = shape_.shards,
                                                       .threadFactory = factory,
                                                       .errorHandler = onFailure,
                                                       .observer = observer_});
        timer_ = wheel_ = whole->system.get();
    }
    return whole;
}

void Scenario::fail(TaskFailure const& failure) {
    Scarcity const enough{false};
    bool const isRejected = failure.kind == TaskFailure::Kind::rejected;
    if (isRejected && failure.timeout) books_.rejected();
    std::lock_guard const lock{mutex_};
    if (isRejected && !failure.timeout) ++hooksRejected_;
    if (failure.kind == TaskFailure::Kind::executorThrew || (isRejected && failure.exception))
        ++toldThrows_;
}

/// How late a timeout may be seen to run: a flat timer runs it at the tick after its deadline.
nanoseconds Scenario::slack() const { return shape_.isFlat ? 2 * shape_.tick : nanoseconds{0}; }

// ---- the threads ------------------------------------------------------------------------------

void Scenario::run() {
    Lease lease = makeTimer();
    bool const isTimely =
        shape_.isSteady() && shape_.isPunctual() && !(shape_.isScarce && shape_.isFlat);
    if (isTimely) onIdle([this](Clock::TimePoint time) { books_.idle(time, slack()); });
    if (shape_.end == Shape::End::letGo) books_.dropped();

    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < shape_.callers; ++i)
        callers.emplace_back([this, i, lease]() mutable {
            Dice dice{shape_.seed + 100 * (i + 1)};
            bool const stops = i == 0 && shape_.end == Shape::End::stopByCaller;
            call(dice, std::move(lease), stops);
        });
    if (shape_.end == Shape::End::letGo) lease.reset();
    if (shape_.end == Shape::End::stopEarly) stop();
    for (std::thread& caller : callers) caller.join();
    end(std::move(lease));
}

void Scenario::call(Dice& dice, Lease lease, bool stops) {
    std::unique_ptr<Session> session;
    std::size_t const last = dice.below(shape_.operations);
    for (std::size_t i = 0; i < shape_.operations; ++i) {
        if (lease == nullptr)
            operateWithoutTimer(dice, session);
        else if (wheel_ != nullptr && dice.oneIn(4))
            operateHook(dice, session);
        else if (dice.oneIn(6))
            letTimePass(dice);
        else
            operate(dice, false);
        if (i != last) continue;
        if (stops) stop();
        if (shape_.end != Shape::End::letGo) continue;
        if (wheel_ != nullptr) operateHook(dice, session);  // one that outlives it
        lease.reset();
    }
}

Duration Scenario::delay(Dice& dice) const {
    nanoseconds const tick = shape_.tick;
    std::int64_t const turn = shape_.slots * tick.count();
    return dice.oneOf<Duration>({nanoseconds{-1}, nanoseconds{0}, tick / 2, tick, tick + tick / 2,
                                 2 * tick, nanoseconds{turn - 1}, nanoseconds{turn},
                                 nanoseconds{turn * shape_.slots + 1}, tick * 1'000});
}

void Scenario::operate(Dice& dice, bool isInTask) {
    switch (dice.below(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
            static_cast<void>(schedule(dice, delay(dice), wheel_ != nullptr, shape_.isScarce));
            return;
        case 4:
        case 5:
        case 6:
            return cancel(dice, isInTask);
        case 7:
        case 8:
            return reschedule(dice);
        case 9:
            return std::this_thread::sleep_for(shape_.tick * static_cast<int>(dice.below(4)));
        case 10:
            static_cast<void>(pick(dice, true));  // drops a handle
            return;
        default:
            return ask(dice, true);
    }
}

/// What handles and hooks can do, whatever has become of the timer.
void Scenario::operateWithoutTimer(Dice& dice, std::unique_ptr<Session>& session) {
    switch (dice.below(8)) {
        case 0:
            return cancel(dice, false);
        case 1:
            static_cast<void>(pick(dice, true));
            return;
        case 2:
            return ask(dice, false);
        case 3:
            return session.reset();
        default:
            if (session != nullptr) moveHook(dice, *session, false);
    }
}

void Scenario::letTimePass(Dice& dice) {
    std::int64_t const turn = shape_.slots * shape_.tick.count();
    nanoseconds const time{
        static_cast<std::int64_t>(dice.below(2 * static_cast<std::size_t>(turn)))};
    if (shape_.isSteady()) return std::this_thread::sleep_for(time);
    if (stepping_ != nullptr) return stepping_->step(time - nanoseconds{turn});
    try {
        Scarcity const scarce{shape_.isScarce};
        static_cast<ManualClock*>(clock_)->advance(time);
    } catch (std::bad_alloc const&) {
        return;  // a part of the way
    }
    // What was due has run, on whatever executor.
    bool const isAlone = shape_.callers == 1 && shape_.end != Shape::End::stopEarly;
    if (!isAlone || (shape_.isScarce && shape_.isFlat)) return;
    Clock::TimePoint const reached = now();
    Aside const aside;
    books_.idle(reached, slack());
}

/// False if it was not accepted.
bool Scenario::schedule(Dice& dice, Duration wait, bool mayRepeat, bool isScarce) {
    bool const isPeriodic = mayRepeat && shape_.end != Shape::End::drain && dice.oneIn(6);
    bool const isFixed = dice.oneIn(2);
    std::size_t const id = books_.open(after(earliest(), wait), isPeriodic);
    Timeout timeout;
    try {
        Task task{Capture{books_, id}, this};
        Scarcity const scarce{isScarce};
        if (!isPeriodic)
            timeout = timer_->newTimeout(std::move(task), wait);
        else if (isFixed)
            timeout = wheel_->scheduleAtFixedRate(std::move(task), wait, 3 * shape_.tick);
        else
            timeout = wheel_->scheduleWithFixedDelay(std::move(task), wait, 3 * shape_.tick);
    } catch (RejectedExecution const&) {
        std::lock_guard const lock{mutex_};
        ++refused_;
    } catch (std::exception const&) {
        // It was stopped, has no thread, or no memory.
    }
    if (!timeout) {
        books_.refused(id);
        return false;
    }
    books_.accepted(id, std::max(timeout.deadline(), now()));
    // Where there is a limit each must be found again, to make room.
    if (dice.oneIn(5) && shape_.most == 0) return true;
    std::lock_guard const lock{mutex_};
    known_.push_back({id, std::move(timeout)});
    return true;
}

/// One of those that somebody scheduled; an empty one if there is none.
Scenario::Known Scenario::pick(Dice& dice, bool forGood) {
    std::lock_guard const lock{mutex_};
    if (known_.empty()) return {};
    Known& found = known_[dice.below(known_.size())];
    if (!forGood || shape_.most != 0) return found;
    std::swap(found, known_.back());
    Known last = std::move(known_.back());
    known_.pop_back();
    return last;
}

void Scenario::cancel(Dice& dice, bool isInTask) {
    Known const known = pick(dice, dice.oneIn(2));
    if (!known.timeout) return;
    bool const waits = !isInTask && !dice.oneIn(2);
    Scarcity const scarce{shape_.isScarce};
    // Two tasks that wait for each other would do so for ever.
    if (!waits) return books_.cancelled(known.id, known.timeout.cancel());
    books_.cancelled(known.id, known.timeout.cancelAndWait());
    books_.settled(known.id, known.timeout.isReturned());
}

void Scenario::reschedule(Dice& dice) {
    Known const known = pick(dice, false);
    if (!known.timeout || wheel_ == nullptr) return;
    Duration const wait = delay(dice);
    books_.moving(known.id, after(earliest(), wait));
    bool isMoved = false;
    try {
        Scarcity const scarce{shape_.isScarce};
        isMoved = wheel_->reschedule(known.timeout, wait);
    } catch (std::bad_alloc const&) {
        // It stays where it was.
    }
    books_.moved(known.id, isMoved, std::max(known.timeout.deadline(), now()));
}

void Scenario::ask(Dice& dice, bool hasTimer) {
    Known const known = pick(dice, false);
    if (known.timeout) {
        bool const wasOver = known.timeout.isDone() || known.timeout.isCancelled();
        static_cast<void>(known.timeout.remaining());
        require(!wasOver || !known.timeout.isPending(), "a timeout that has ended is pending");
    }
    if (!hasTimer) return;
    std::size_t const pending = timer_->pendingTimeouts();
    bool const isExact = shape_.most != 0 && wheel_ != nullptr && shape_.shards == 1;
    require(!isExact || pending <= shape_.most, "more are pending than may be");
    if (wheel_ != nullptr) wheel_->checkInvariants();
}

void Scenario::operateHook(Dice& dice, std::unique_ptr<Session>& session) {
    if (session == nullptr) session = std::make_unique<Session>(*this);
    if (session->isScheduled() && dice.oneIn(2)) {
        moveHook(dice, *session, true);
    } else {
        Duration const wait = delay(dice);
        bool const mayMove = session->isScheduled();
        {
            std::lock_guard const lock{mutex_};
            ++hooksScheduled_;
            hooksMaybeMoved_ += mayMove;
            ++hookBalance_;
        }
        try {
            Scarcity const scarce{shape_.isScarce};
            if (isByBatch(wait))
                wheel_->schedule(session->batch(), wait);
            else
                wheel_->schedule(session->hook, wait);
        } catch (std::exception const& error) {
            std::lock_guard const lock{mutex_};
            --hooksScheduled_;
            hooksMaybeMoved_ -= mayMove;
            --hookBalance_;
            refused_ += dynamic_cast<RejectedExecution const*>(&error) != nullptr;
        }
    }
    if (dice.oneIn(4)) session.reset();
}

void Scenario::moveHook(Dice& dice, Session& session, bool hasTimer) {
    bool isCancelled = false;
    try {
        Duration const wait = delay(dice);
        Scarcity const scarce{shape_.isScarce};
        switch (dice.below(4)) {
            case 0:
                isCancelled = hasTimer && isByBatch(wait) ? wheel_->cancel(session.batch()) == 1
                                                          : session.hook.cancel();
                break;
            case 1:
                isCancelled = session.hook.cancelAndWait();
                break;
            default:
                if (hasTimer && isByBatch(wait))
                    wheel_->reschedule(session.batch(), wait);
                else
                    session.hook.reschedule(wait);
        }
    } catch (std::bad_alloc const&) {
        // It stays where it was.
    }
    if (isCancelled) session.wasCancelled();
}

// ---- the end ----------------------------------------------------------------------------------

void Scenario::stop() {
    StoppedTimeouts const stopped = [this] {
        Scarcity const scarce{shape_.isScarce};
        return timer_->stop();
    }();
    books_.stopped();
    for (StoppedTimeout const timeout : stopped)
        books_.returned(timeout.target<Task>()->capture.id());
    std::lock_guard const lock{mutex_};
    hooksReturned_ += stopped.hooks();
}

/// What the timer has counted, what the observer has, and what the books know.
void Scenario::checkBalance(Whole const& whole) {
    TimerStatistics const statistics =
        whole.system != nullptr ? whole.system->statistics() : whole.flat->statistics();
    require(timer_->pendingTimeouts() == 0, "something is pending after stop()");
    require(statistics.scheduled ==
                statistics.fired + statistics.cancelled + statistics.rejected + statistics.returned,
            "the statistics do not balance");
    Books::Totals const booked = books_.totals();
    {
        std::lock_guard const lock{mutex_};
        // A schedule of a hook that is pending moves it.
        std::size_t const moved = booked.accepted + hooksScheduled_ - statistics.scheduled;
        require(moved <= hooksMaybeMoved_, "scheduled: miscounted");
        require(hookBalance_ - moved == hooksReturned_ + hooksRejected_,
                "a hook has no outcome, or two");
        auto const agree = [](std::uint64_t counted, std::size_t known, char const* what) {
            require(counted == known, std::string{what} + ": the timer counts " +
                                          std::to_string(counted) + ", there were " +
                                          std::to_string(known));
        };
        agree(statistics.cancelled, booked.cancelled + hooksCancelled_, "cancelled");
        agree(statistics.returned, booked.returned + hooksReturned_, "returned");
        agree(statistics.rejected, booked.rejected + hooksRejected_, "rejected");
        // One that found no memory for the words has not been counted here.
        require(shape_.isScarce || statistics.refused == refused_, "refused: miscounted");
    }
    // An event for which there is no memory is left out.
    if (observer_ == nullptr || shape_.isScarce) return;
    require(observer_->scheduled() == observer_->ended(),
            "the observer is told of " + std::to_string(observer_->scheduled()) +
                " timeouts and of " + std::to_string(observer_->ended()) + " ends");
    require(shape_.isFlat || observer_->scheduled() == statistics.scheduled,
            "not every schedule was delivered");
}

/// The limit was released once for each timeout, whatever has become of it.
void Scenario::checkPlaces() {
    if (shape_.most == 0 || !shape_.isSteady()) return;
    Dice dice{shape_.seed + 2};
    nanoseconds const far = shape_.tick * 1'000'000;
    std::size_t taken = 0;
    // Tasks that still run may be faster, and a flat timer takes a tick to make room. There is
    // memory: where it is scarce, many levels at once are seldom had.
    for (int round = 0; round < 200 && taken < shape_.most; ++round) {
        std::unique_lock lock{mutex_};
        std::vector<Known> const known = known_;
        lock.unlock();
        for (Known const& each : known) books_.cancelled(each.id, each.timeout.cancel());
        std::this_thread::sleep_for(2 * shape_.tick);
        taken = 0;
        while (taken < shape_.most && schedule(dice, far, false, false)) ++taken;
    }
    require(taken == shape_.most, "the limit was not released");
    // One more is accepted only where a task that still runs has cancelled one of them.
    if (!schedule(dice, far, false, false)) return;
    std::lock_guard const lock{mutex_};
    auto const pending = std::count_if(known_.begin(), known_.end(),
                                       [](Known const& each) { return each.timeout.isPending(); });
    require(static_cast<std::size_t>(pending) <= shape_.most, "more were accepted than the limit");
}

void Scenario::destroyFromATask(Whole& whole) {
    bool isGone = false;
    std::condition_variable gone;
    auto const task = [&] {
        Scarcity const enough{false};
        whole.destroyTimer();
        whole.observer.reset();
        whole.clock.reset();
        std::lock_guard const lock{mutex_};
        isGone = true;
        gone.notify_one();
    };
    bool isScheduled = false;
    for (int attempt = 0; attempt < 2 && !isScheduled; ++attempt) {
        try {
            timer_->newTimeout(task, Duration{});
            isScheduled = true;
        } catch (std::exception const&) {
            // There was no thread at first, or the limit was reached.
        }
    }
    if (!isScheduled) return;
    std::unique_lock lock{mutex_};
    gone.wait(lock, [&] { return isGone; });
}

/// Each timeout whose handle was kept has ended, in one way.
void Scenario::checkHandles() {
    for (Known const& known : known_) {
        Timeout const& timeout = known.timeout;
        require(timeout.timer() == nullptr, "a handle has a timer that is gone");
        require(!timeout.isPending(), "a timeout is pending in no timer");
        require(!timeout.cancel(), "a cancel() wins in no timer");
        require(timeout.isExpired() + timeout.isCancelled() + timeout.isRejected() == 1,
                "a handle tells of no outcome, or of two");
    }
    known_.clear();
}

void Scenario::end(Lease lease) {
    switch (shape_.end) {
        case Shape::End::stop:
            checkPlaces();
            stop();
            break;
        case Shape::End::stopEarly:
        case Shape::End::stopByCaller:
        case Shape::End::letGo:
            break;
        case Shape::End::drain:
            lease->system->drain();
            books_.stopped();
            break;
        case Shape::End::destroy:
            books_.dropped();
            break;
        case Shape::End::destroyFromATask:
            books_.dropped();
            destroyFromATask(*lease);
            break;
    }
    bool const hasStopped = shape_.end == Shape::End::stop || shape_.end == Shape::End::stopEarly ||
                            shape_.end == Shape::End::stopByCaller ||
                            shape_.end == Shape::End::drain;
    if (hasStopped) checkBalance(*lease);
    lease.reset();
    factory_.joinStray();
    checkHandles();
    // One whose task destroys the timer may throw after that.
    require(toldThrows_ == thrown_ || shape_.end == Shape::End::destroyFromATask,
            "the executor threw " + std::to_string(thrown_) +
                " times, and the error handler was told " + std::to_string(toldThrows_) + " times");
    books_.close();
}

}  // namespace timingwheel::test::simulation
