#include "Scenario.h"

#include <timingwheel/RejectedExecution.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace timingwheel::test::simulation {

using std::chrono::nanoseconds;

namespace {

Clock::TimePoint now() noexcept { return Clock::steady().now(); }

Clock::TimePoint after(Clock::TimePoint time, Duration delay) noexcept {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(time.time_since_epoch().count(), delay.count(), &sum))
        return Clock::TimePoint::max();
    return Clock::TimePoint{nanoseconds{sum}};
}

}  // namespace

// ---- the executor -----------------------------------------------------------------------------

FaultyExecutor::FaultyExecutor(std::size_t threads, std::size_t dropsOneIn, Dice dice)
    : dropsOneIn_{dropsOneIn}, dice_{dice}, threads_{threads} {}

void FaultyExecutor::execute(Claim claim) {
    if (dropsOneIn_ != 0) {
        std::lock_guard const lock{mutex_};
        if (dice_.oneIn(dropsOneIn_)) {
            if (dice_.oneIn(2)) throw std::runtime_error{"refused"};
            return;
        }
    }
    threads_.execute(std::move(claim));
}

// ---- what it is made of -----------------------------------------------------------------------

Shape::Shape(std::uint64_t number) : seed{number} {
    Dice dice{number};
    isFlat = dice.oneIn(3);
    tick = isFlat ? dice.oneOf<nanoseconds>({std::chrono::milliseconds{1}})
                  : dice.oneOf<nanoseconds>({nanoseconds{1'000}, std::chrono::milliseconds{1}});
    slots = dice.oneOf<std::int64_t>({2, 3, 4, 8});
    shards = dice.oneOf<std::size_t>({1, 1, 2});
    executorThreads = dice.oneOf<std::size_t>({0, 0, 1, 2});
    dropsOneIn = executorThreads == 0 ? 0 : dice.oneOf<std::size_t>({0, 0, 4});
    most = dice.oneOf<std::size_t>({0, 0, 0, 3});
    isObserved = dice.oneIn(5);
    callers = dice.oneOf<std::size_t>({1, 2, 2, 3});
    operations = dice.oneOf<std::size_t>({3, 6, 12});
    end = dice.oneOf(
        {End::stop, End::stop, End::stopEarly, End::drain, End::destroy, End::destroyFromATask});
    if (end == End::drain && isFlat) end = End::stop;
    // The executor may drop the task that does it.
    if (end == End::destroyFromATask && dropsOneIn != 0) end = End::destroy;
}

// ---- tasks, hooks, the observer ---------------------------------------------------------------

struct Scenario::Task {
    Capture capture;
    Scenario* scenario;

    void operator()() const { scenario->runTask(capture.id()); }
};

/// What has a hook, and dies with it.
class Scenario::Session {
public:
    explicit Session(Scenario& scenario) : scenario_{scenario} {}
    ~Session() {
        // Its run may use all of this: the hook, which comes last, must be waited for.
        if (isScheduled() && hook.cancelAndWait()) count(-1);
    }

    bool isScheduled() const { return hook.isPending(); }
    void count(int change) {
        std::lock_guard const lock{scenario_.mutex_};
        scenario_.hookBalance_ += static_cast<std::size_t>(change);
    }

private:
    void expire() {
        std::lock_guard const lock{scenario_.mutex_};
        --scenario_.hookBalance_;
        ++runs_;
    }

    Scenario& scenario_;
    std::size_t runs_ = 0;

public:
    TimerHook<&Session::expire> hook{*this};
};

/// Counts what it is told, and must not be told anything once the timer has stopped.
class Scenario::Counter final : public TimerObserver {
public:
    ~Counter() override { events = SIZE_MAX; }
    void onEvent(TimerEvent const& event) noexcept override {
        std::lock_guard const lock{mutex};
        require(events != SIZE_MAX, "the observer is told something after stop()");
        ++events;
        last = event.stage;
    }
    std::mutex mutex;
    std::size_t events = 0;
    TimerEvent::Stage last{};
};

void Scenario::runTask(std::size_t id) {
    books_.entered(id, now());
    Dice dice{shape_.seed ^ (id << 32)};
    if (dice.oneIn(3)) operate(dice, true);
    if (dice.oneIn(8)) std::this_thread::sleep_for(shape_.tick * 2);
    books_.left(id);
    if (dice.oneIn(16)) throw std::runtime_error{"a task throws"};
}

// ---- the threads ------------------------------------------------------------------------------

Scenario::Scenario(std::uint64_t seed) : shape_{seed} {}
Scenario::~Scenario() = default;

void Scenario::makeTimer() {
    Dice dice{shape_.seed + 1};
    if (shape_.executorThreads != 0)
        executor_.emplace(shape_.executorThreads, shape_.dropsOneIn, Dice{dice.seed()});
    if (shape_.isObserved) observer_ = std::make_unique<Counter>();
    Executor const executor = executor_ ? Executor{*executor_} : Executor{};
    auto const onFailure = [this](TaskFailure const& failure) {
        if (failure.kind != TaskFailure::Kind::rejected) return;
        if (failure.timeout) return books_.rejected();
        std::lock_guard const lock{mutex_};
        ++hooksRejected_;
    };
    if (shape_.isFlat) {
        flat_.emplace(HashedWheelTimerOptions{.tick = shape_.tick,
                                              .ticksPerWheel = shape_.slots,
                                              .executor = executor,
                                              .immediateIfDue = dice.oneIn(4),
                                              .maxPendingTimeouts = shape_.most,
                                              .leakDetection = false,
                                              .errorHandler = onFailure,
                                              .observer = observer_.get()});
        timer_ = &*flat_;
        return;
    }
    system_.emplace(TimerOptions{.tick = shape_.tick,
                                 .wheelSize = shape_.slots,
                                 .executor = executor,
                                 .maxPendingTimeouts = shape_.most,
                                 .shards = shape_.shards,
                                 .errorHandler = onFailure,
                                 .observer = observer_.get()});
    timer_ = wheel_ = &*system_;
}

void Scenario::run() {
    makeTimer();
    nanoseconds const slack = shape_.isFlat ? 2 * shape_.tick : nanoseconds{0};
    onIdle([this, slack](Clock::TimePoint time) { books_.idle(time, slack); });

    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < shape_.callers; ++i)
        callers.emplace_back([this, i] { call(shape_.seed + 100 * (i + 1)); });
    if (shape_.end == Shape::End::stopEarly) stop();
    for (std::thread& caller : callers) caller.join();
    end();
}

void Scenario::call(std::uint64_t seed) {
    Dice dice{seed};
    std::unique_ptr<Session> session;
    for (std::size_t i = 0; i < shape_.operations; ++i) {
        if (wheel_ == nullptr || !dice.oneIn(4)) {
            operate(dice, false);
            continue;
        }
        if (session == nullptr) session = std::make_unique<Session>(*this);
        operateHook(dice, *session);
        if (dice.oneIn(4)) session.reset();
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
            return schedule(dice);
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
            return ask(dice);
    }
}

void Scenario::schedule(Dice& dice) {
    Duration const wait = delay(dice);
    bool const isPeriodic = wheel_ != nullptr && shape_.end != Shape::End::drain && dice.oneIn(6);
    std::size_t const id = books_.open(after(now(), wait), isPeriodic);
    Timeout timeout;
    try {
        Task task{Capture{books_, id}, this};
        if (!isPeriodic)
            timeout = timer_->newTimeout(std::move(task), wait);
        else if (dice.oneIn(2))
            timeout = wheel_->scheduleAtFixedRate(std::move(task), wait, 3 * shape_.tick);
        else
            timeout = wheel_->scheduleWithFixedDelay(std::move(task), wait, 3 * shape_.tick);
    } catch (std::logic_error const&) {  // it was stopped
        return books_.refused(id);
    } catch (RejectedExecution const&) {
        return books_.refused(id);
    }
    books_.accepted(id, std::max(timeout.deadline(), now()));
    if (dice.oneIn(5)) return;
    std::lock_guard const lock{mutex_};
    known_.push_back({id, std::move(timeout)});
}

/// One of those that somebody scheduled; an empty one if there is none.
Scenario::Known Scenario::pick(Dice& dice, bool forGood) {
    std::lock_guard const lock{mutex_};
    if (known_.empty()) return {};
    Known& found = known_[dice.below(known_.size())];
    if (!forGood) return found;
    std::swap(found, known_.back());
    Known last = std::move(known_.back());
    known_.pop_back();
    return last;
}

void Scenario::cancel(Dice& dice, bool isInTask) {
    Known const known = pick(dice, dice.oneIn(2));
    if (!known.timeout) return;
    // Two tasks that wait for each other would do so for ever.
    if (isInTask || dice.oneIn(2)) return books_.cancelled(known.id, known.timeout.cancel());
    books_.cancelled(known.id, known.timeout.cancelAndWait());
    books_.settled(known.id, known.timeout.isReturned());
}

void Scenario::reschedule(Dice& dice) {
    Known const known = pick(dice, false);
    if (!known.timeout || wheel_ == nullptr) return;
    Duration const wait = delay(dice);
    books_.moving(known.id, after(now(), wait));
    bool const isMoved = wheel_->reschedule(known.timeout, wait);
    books_.moved(known.id, isMoved, std::max(known.timeout.deadline(), now()));
}

void Scenario::ask(Dice& dice) {
    Known const known = pick(dice, false);
    if (known.timeout) {
        bool const wasOver = known.timeout.isDone() || known.timeout.isCancelled();
        static_cast<void>(known.timeout.remaining());
        require(!wasOver || !known.timeout.isPending(), "a timeout that has ended is pending");
    }
    if (timer_ == nullptr) return;
    static_cast<void>(timer_->pendingTimeouts());
    if (wheel_ != nullptr) wheel_->checkInvariants();
}

void Scenario::operateHook(Dice& dice, Session& session) {
    if (session.isScheduled() && dice.oneIn(2)) {
        if (dice.oneIn(2))
            session.hook.reschedule(delay(dice));
        else if (session.hook.cancel())
            session.count(-1);
        return;
    }
    session.count(1);
    try {
        wheel_->schedule(session.hook, delay(dice));
    } catch (std::logic_error const&) {
        session.count(-1);
    } catch (RejectedExecution const&) {
        session.count(-1);
    }
}

// ---- the end ----------------------------------------------------------------------------------

void Scenario::stop() {
    StoppedTimeouts const stopped = timer_->stop();
    books_.stopped();
    for (StoppedTimeout const timeout : stopped)
        books_.returned(timeout.target<Task>()->capture.id());
    std::lock_guard const lock{mutex_};
    hooksReturned_ += stopped.hooks();
}

void Scenario::checkBalance() {
    TimerStatistics const statistics =
        wheel_ != nullptr ? wheel_->statistics() : flat_->statistics();
    require(timer_->pendingTimeouts() == 0, "something is pending after stop()");
    require(statistics.scheduled ==
                statistics.fired + statistics.cancelled + statistics.rejected + statistics.returned,
            "the statistics do not balance");
    std::lock_guard const lock{mutex_};
    require(hookBalance_ == hooksReturned_ + hooksRejected_, "a hook has no outcome, or two");
}

/// Tasks that run meanwhile may use the timer.
void Scenario::destroy() {
    system_.reset();
    flat_.reset();
    timer_ = wheel_ = nullptr;
}

void Scenario::destroyFromATask() {
    bool isGone = false;
    std::condition_variable gone;
    auto const task = [&] {
        destroy();
        std::lock_guard const lock{mutex_};
        isGone = true;
        gone.notify_one();
    };
    try {
        timer_->newTimeout(task, Duration{});
    } catch (RejectedExecution const&) {
        return;
    }
    std::unique_lock lock{mutex_};
    gone.wait(lock, [&] { return isGone; });
}

void Scenario::end() {
    switch (shape_.end) {
        case Shape::End::stop:
        case Shape::End::stopEarly:
            stop();
            checkBalance();
            break;
        case Shape::End::drain:
            system_->drain();
            books_.stopped();
            checkBalance();
            break;
        case Shape::End::destroy:
            books_.dropped();
            break;
        case Shape::End::destroyFromATask:
            books_.dropped();
            destroyFromATask();
            break;
    }
    destroy();
    observer_.reset();
    for (Known const& known : known_) {
        require(known.timeout.timer() == nullptr, "a handle has a timer that is gone");
        require(!known.timeout.isPending(), "a timeout is pending in no timer");
        require(!known.timeout.cancel(), "a cancel() wins in no timer");
    }
    known_.clear();
    executor_.reset();
    books_.close();
}

}  // namespace timingwheel::test::simulation
