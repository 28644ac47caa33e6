#include "Surroundings.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace timingwheel::test::simulation {

using std::chrono::nanoseconds;

// ---- the executor -----------------------------------------------------------------------------

StrangeExecutor::StrangeExecutor(Habits habits, Dice dice)
    : habits_{std::move(habits)}, dice_{dice} {
    for (std::size_t i = 0; i < habits_.threads; ++i) threads_.emplace_back([this] { work(); });
}

StrangeExecutor::~StrangeExecutor() {
    {
        std::unique_lock lock{mutex_};
        isOver_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return entered_ == 0; });
    }
    for (std::thread& thread : threads_) thread.join();
}

class StrangeExecutor::Call {
public:
    explicit Call(StrangeExecutor& executor) : executor_{executor} {
        std::lock_guard const lock{executor_.mutex_};
        ++executor_.entered_;
    }
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    ~Call() {
        std::lock_guard const lock{executor_.mutex_};
        --executor_.entered_;
        executor_.changed_.notify_all();
    }

private:
    StrangeExecutor& executor_;
};

void StrangeExecutor::execute(Claim claim) {
    Scarcity const enough{false};
    Call const call{*this};
    Manner manner{};
    nanoseconds late{};
    {
        std::lock_guard const lock{mutex_};
        manner = habits_.manners[dice_.below(habits_.manners.size())];
        late = habits_.tick * static_cast<int>(dice_.below(4));
    }
    switch (manner) {
        case Manner::runs:
            return keep(std::move(claim));
        case Manner::runsLate:
            return keep(std::move(claim), late);
        case Manner::runsInline:
            return run(std::move(claim));
        case Manner::copies:
            keep(Claim{claim});
            return keep(std::move(claim), late);
        case Manner::drops:
            return;
        case Manner::dropsLate:
            return keep(std::move(claim), late, true);
        case Manner::throws:
            refuse();
        case Manner::throwsAfterRunning:
            run(std::move(claim));
            refuse();
        case Manner::throwsAfterKeeping:
            keep(std::move(claim));
            refuse();
    }
}

std::size_t StrangeExecutor::thrown() {
    std::lock_guard const lock{mutex_};
    return thrown_;
}

std::size_t StrangeExecutor::entered() {
    std::lock_guard const lock{mutex_};
    return entered_;
}

void StrangeExecutor::keep(Claim claim, nanoseconds wait, bool isDropped) {
    if (habits_.threads == 0) {
        if (!isDropped) run(std::move(claim));
        return;
    }
    std::lock_guard const lock{mutex_};
    kept_.push_back({std::move(claim), wait, isDropped});
    changed_.notify_all();
}

void StrangeExecutor::run(Claim claim) const {
    Scarcity const scarce{habits_.isScarce};
    claim();
}

void StrangeExecutor::refuse() {
    {
        std::lock_guard const lock{mutex_};
        ++thrown_;
    }
    throw std::runtime_error{"an executor throws"};
}

void StrangeExecutor::work() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return isOver_ || !kept_.empty(); });
        if (kept_.empty()) return;
        {
            Work work = std::move(kept_.front());
            kept_.pop_front();
            lock.unlock();
            if (work.wait != nanoseconds{0}) std::this_thread::sleep_for(work.wait);
            if (!work.isDropped) run(std::move(work.claim));
        }
        lock.lock();
    }
}

// ---- the thread factory -----------------------------------------------------------------------

std::thread StrangeFactory::make(std::function<void()> body) {
    auto const run = [body = std::move(body), isScarce = isScarce_] {
        Scarcity const scarce{isScarce};
        body();
    };
    std::lock_guard const lock{mutex_};
    FactoryFault const fault = std::exchange(hasFailed_, true) ? FactoryFault::none : fault_;
    if (fault == FactoryFault::throwsAtFirst) throw std::runtime_error{"no thread"};
    if (fault == FactoryFault::makesNoneAtFirst) return {};
    if (fault == FactoryFault::runsItselfAtFirst) run();
    if (fault == FactoryFault::none) return std::thread{run};
    Scarcity const enough{false};
    stray_.emplace_back(run);
    throw std::runtime_error{"no thread, although it was started"};
}

void StrangeFactory::joinStray() {
    for (std::thread& thread : stray_) thread.join();
    stray_.clear();
}

// ---- the clock --------------------------------------------------------------------------------

Clock::TimePoint SteppingClock::now() const noexcept {
    TimePoint const steady = steadyNow();
    Aside const aside;
    return steady + offset_;
}

std::unique_ptr<Clock::Waiter> SteppingClock::makeWaiter() {
    return waiterThat([this](Waiter& inner, TimePoint until) {
        Scarcity const enough{false};
        Sleepers::Registration const sleeper{sleepers_, inner};
        if (until == TimePoint::max())
            inner.waitUntil(until);
        else if (nanoseconds const left = until - now(); left > nanoseconds{0})
            inner.waitUntil(steadyNow() + left);
    });
}

void SteppingClock::step(nanoseconds by) {
    {
        TimePoint const steady = steadyNow();
        Aside const aside;
        highest_ = std::max(highest_, steady + offset_);
        offset_ = std::clamp(offset_ + by, -farthest_, farthest_);
    }
    sleepers_.wake();
}

Clock::TimePoint SteppingClock::highest() const {
    TimePoint const current = now();
    Aside const aside;
    return std::max(highest_, current);
}

// ---- the counter ------------------------------------------------------------------------------

namespace {

struct CounterState {
    StrangeCounter::Habit habit{};
    Dice dice{0};
    Clock::TimePoint counted{};  ///< until when
    std::uint64_t count = 0;
    bool isCalibrated = false;
    nanoseconds calibration{};
} state;  // kept aside

}  // namespace

void StrangeCounter::begin(Habit habit, Dice dice) {
    Clock::TimePoint const now = Clock::steady().now();
    Aside const aside;
    state = {
        .habit = habit, .dice = std::move(dice), .counted = now, .count = std::uint64_t{1} << 62};
}

void StrangeCounter::calibrated() {
    Aside const aside;
    state.counted -= std::exchange(state.calibration, nanoseconds{0});
    state.isCalibrated = true;
}

Clock::TimePoint StrangeCounter::exact() noexcept {
    Clock::TimePoint const now = Clock::steady().now();
    Aside const aside;
    if (!state.isCalibrated) state.calibration += std::chrono::microseconds{1};
    return now + state.calibration;
}

std::uint64_t StrangeCounter::count() noexcept {
    constexpr double kRate = 4;  // counts in a nanosecond
    constexpr std::uint64_t kSecond = 4'000'000'000;
    constexpr std::uint64_t kApart = 4'000;  // two processors' counters: by a microsecond at most
    Clock::TimePoint const now = exact();
    Aside const aside;
    double const passed = static_cast<double>((now - std::exchange(state.counted, now)).count());
    double rate = 1;
    std::uint64_t apart = 0;
    Habit const habit = state.isCalibrated ? state.habit : Habit::goesOn;
    bool const isNowAndThen = state.dice.oneIn(3);
    if (habit == Habit::jumpsForward && isNowAndThen)
        state.count += kSecond * state.dice.below(1'000);
    else if (habit == Habit::goesBack && isNowAndThen)
        state.count -= kSecond * (10 + state.dice.below(1'000));
    else if (habit == Habit::isSlewed)
        rate = state.dice.oneIn(2) ? 1.11 : 0.89;
    else if (habit == Habit::differsByProcessor)
        apart = state.dice.below(kApart);
    else if (habit == Habit::runsSlowly)
        rate = 0.6;
    state.count += static_cast<std::uint64_t>(passed * rate * kRate);
    return state.count + apart;
}

CountedClock::CountedClock(StrangeCounter::Habit habit, Dice dice) {
    StrangeCounter::begin(habit, std::move(dice));
    require(recent_.begin(), "the counter is not used");
    StrangeCounter::calibrated();
}

}  // namespace timingwheel::test::simulation
