// What a ManualTimer tells the loop that drives it.

#include <support/AllocationCounter.h>
#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerLoop.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Times = std::vector<nanoseconds>;

Clock::TimePoint at(nanoseconds time) { return Clock::TimePoint{time}; }

/// Keeps what it is told since it was last asked.
class LoopLog final : public TimerLoop {
public:
    void onEarlier(TimePoint expiration) noexcept override {
        earlier_.push_back(expiration.time_since_epoch());
        thread = std::this_thread::get_id();
        if (timer == nullptr) return;
        answers.push_back(timer->nextExpiration() == expiration);
        pending.push_back(timer->pendingTimeouts());
    }
    void onIdle() noexcept override {
        ++idle_;
        if (timer != nullptr) pending.push_back(timer->pendingTimeouts());
    }

    Times earlier() { return std::exchange(earlier_, {}); }
    int idle() { return std::exchange(idle_, 0); }

    ManualTimer* timer = nullptr;  ///< questioned inside each call, if there is one
    std::thread::id thread;
    std::vector<bool> answers;
    std::vector<std::size_t> pending;

private:
    Times earlier_;
    int idle_ = 0;
};

class Object {
public:
    void onDue() { ++runs; }
    int runs = 0;
    TimerHook<&Object::onDue> hook{*this};
};

class TimerLoopTest : public testing::Test {
protected:
    void advanceTo(nanoseconds time) {
        clock.set(at(time));
        timer->advanceTo(clock.now());
    }

    SettableClock clock;
    LoopLog loop;
    std::unique_ptr<ManualTimer> timer =
        std::make_unique<ManualTimer>(TimerOptions{.clock = clock, .loop = &loop});
};

// ---- now earlier ------------------------------------------------------------------------------

// G26. Bug pattern: the loop is told of each schedule, or of what it wakes for anyway.
TEST_F(TimerLoopTest, IsToldOnceOfEachEarlierExpiration) {
    for (nanoseconds const delay : Times{10ms, 10ms, 15ms, 7ms, 7ms, 9ms, 3ms})
        timer->newTimeout([] {}, delay);
    EXPECT_EQ(loop.earlier(), (Times{10ms, 7ms, 3ms}));
    EXPECT_EQ(loop.idle(), 0);
}

// G26. Bug pattern: an expiration is lowered where nobody schedules.
TEST_F(TimerLoopTest, IsToldWhenAHandleOrAHookIsRescheduledToEarlier) {
    Object object;
    Timeout const timeout = timer->newTimeout([] {}, 18ms);
    timer->schedule(object.hook, 15ms);
    EXPECT_EQ(loop.earlier(), (Times{18ms, 15ms}));
    EXPECT_TRUE(timer->reschedule(timeout, 12ms));
    EXPECT_TRUE(object.hook.reschedule(9ms));
    EXPECT_TRUE(object.hook.reschedule(at(6ms)));
    EXPECT_EQ(loop.earlier(), (Times{12ms, 9ms, 6ms}));
    // Later it comes too early, once: the wheel is not told.
    EXPECT_TRUE(object.hook.reschedule(14ms));
    EXPECT_TRUE(timer->reschedule(timeout, 19ms));
    EXPECT_TRUE(loop.earlier().empty());
}

TEST_F(TimerLoopTest, IsToldOfWhatIsDueAtOnce) {
    advanceTo(5ms);
    EXPECT_EQ(timer->nextExpiration(), std::nullopt);
    timer->newTimeout([] {}, 0ms);
    EXPECT_EQ(loop.earlier(), Times{5ms});
    timer->newTimeout([] {}, -1h);
    EXPECT_TRUE(loop.earlier().empty());
}

TEST_F(TimerLoopTest, IsNotToldOfWhatIsNeverDue) {
    timer->newTimeout([] {}, Duration::max());
    timer->newTimeout([] {}, Clock::TimePoint::max());
    EXPECT_TRUE(loop.earlier().empty());
    timer->newTimeout([] {}, 1h);
    EXPECT_EQ(loop.earlier().size(), 1U);
}

TEST_F(TimerLoopTest, IsToldOfWhatIsEarlierThanItsLastAnswer) {
    timer->newTimeout([] {}, 3ms);
    timer->newTimeout([] {}, 9ms);
    EXPECT_EQ(loop.earlier(), Times{3ms});
    advanceTo(4ms);
    EXPECT_EQ(timer->nextExpiration(), at(9ms));
    timer->newTimeout([] {}, at(8ms));
    EXPECT_EQ(loop.earlier(), Times{8ms});
    advanceTo(10ms);
    EXPECT_EQ(timer->pollTimeout(), -1);  // asks, too
    timer->newTimeout([] {}, 5ms);
    EXPECT_EQ(loop.earlier(), Times{15ms});
}

// Bug pattern: each task that schedules wakes the loop that runs it.
TEST_F(TimerLoopTest, IsToldOfNothingEarlierFromAdvanceToUntilItAsks) {
    timer->newTimeout(
        [this] {
            timer->newTimeout([] {}, 5ms);
            EXPECT_LE(timer->nextExpiration(), at(6ms));
            timer->newTimeout([] {}, 3ms);
        },
        1ms);
    EXPECT_EQ(loop.earlier(), Times{1ms});
    advanceTo(1ms);
    timer->newTimeout([] {}, 2ms);
    EXPECT_TRUE(loop.earlier().empty());
    EXPECT_EQ(timer->nextExpiration(), at(3ms));
    timer->newTimeout([] {}, 1ms);
    EXPECT_EQ(loop.earlier(), Times{2ms});
}

// The loop has come early, for something else.
TEST_F(TimerLoopTest, IsToldOfNothingEarlierBeforeItAsksThoughNothingWasDue) {
    timer->newTimeout([] {}, 9ms);
    EXPECT_EQ(loop.earlier(), Times{9ms});
    advanceTo(1ms);
    timer->newTimeout([] {}, 3ms);
    EXPECT_TRUE(loop.earlier().empty());
    EXPECT_EQ(timer->nextExpiration(), at(4ms));
}

// Bug pattern: it is told under a lock, or before the timeout is there.
TEST_F(TimerLoopTest, MayQuestionTheTimer) {
    loop.timer = timer.get();
    Timeout const first = timer->newTimeout([] {}, 10ms);
    timer->newTimeout([] {}, 5ms);
    EXPECT_TRUE(timer->reschedule(first, 2ms));
    EXPECT_EQ(loop.answers, (std::vector<bool>{true, true, true}));
    EXPECT_EQ(loop.pending, (std::vector<std::size_t>{1, 2, 2}));
    static_cast<void>(timer->stop());
    EXPECT_EQ(loop.pending.back(), 0U);
    EXPECT_EQ(loop.idle(), 1);
}

// G26: "also by another thread". The lock is the user's: a ManualTimer has none.
TEST_F(TimerLoopTest, IsToldOnTheThreadThatUsesTheTimer) {
    std::mutex mutex;
    std::thread::id id;
    std::thread other{[&] {
        std::lock_guard const lock{mutex};
        timer->newTimeout([] {}, 5ms);
        id = std::this_thread::get_id();
    }};
    other.join();
    std::lock_guard const lock{mutex};
    EXPECT_EQ(loop.earlier(), Times{5ms});
    EXPECT_EQ(loop.thread, id);
}

TEST(TimerLoop, AManualClockThatDrivesAsksForTheLoop) {
    ManualClock clock;
    LoopLog loop;
    ManualTimer timer{{.clock = clock, .loop = &loop}};
    timer.newTimeout([&] { timer.newTimeout([] {}, 10ms); }, 5ms);
    EXPECT_EQ(loop.earlier(), Times{5ms});
    clock.advance(5ms);
    EXPECT_TRUE(loop.earlier().empty());
    timer.newTimeout([] {}, 12ms);
    timer.newTimeout([] {}, 3ms);
    EXPECT_EQ(loop.earlier(), Times{8ms});
    clock.advance(1h);
    EXPECT_EQ(loop.idle(), 1);
}

// ---- nothing is pending any more --------------------------------------------------------------

// G26. Bug pattern: only those who ask learn that the last one was cancelled.
TEST_F(TimerLoopTest, IsToldOnceThatNothingIsPendingWhateverEndedTheLast) {
    auto const two = [this] {
        static_cast<void>(timer->newTimeout([] {}, 1ms));
        return timer->newTimeout([] {}, 2ms);
    };
    nanoseconds now{};

    two();
    EXPECT_EQ(loop.idle(), 0);
    advanceTo(now += 1ms);
    EXPECT_EQ(loop.idle(), 0) << "one is left";
    advanceTo(now += 1ms);
    EXPECT_EQ(loop.idle(), 1) << "run";
    advanceTo(now += 1ms);
    EXPECT_EQ(loop.idle(), 0) << "nothing has changed";

    Timeout const last = two();
    advanceTo(now += 1ms);
    EXPECT_TRUE(last.cancel());
    EXPECT_EQ(loop.idle(), 1) << "cancel()";
    EXPECT_FALSE(last.cancel());
    EXPECT_EQ(loop.idle(), 0);

    {
        ScopedTimeout const scoped{timer->newTimeout([] {}, 1ms)};
    }
    EXPECT_EQ(loop.idle(), 1) << "a ScopedTimeout";

    {
        Object object;
        timer->schedule(object.hook, 1ms);
        EXPECT_TRUE(object.hook.cancel());
        EXPECT_EQ(loop.idle(), 1) << "cancel() of a hook";
        timer->schedule(object.hook, 1ms);
        EXPECT_EQ(loop.idle(), 0);
    }
    EXPECT_EQ(loop.idle(), 1) << "the death of a hook";

    two();
    EXPECT_EQ(timer->stop().size(), 2U);
    EXPECT_EQ(loop.idle(), 1) << "stop()";
    EXPECT_EQ(timer->stop().size(), 0U);
    timer.reset();
    EXPECT_EQ(loop.idle(), 0) << "nothing was pending";
}

TEST_F(TimerLoopTest, IsToldThatNothingIsPendingWhenTheTimerIsDestroyed) {
    timer->newTimeout([] {}, 1ms);
    timer.reset();
    EXPECT_EQ(loop.idle(), 1);
}

// G8
TEST_F(TimerLoopTest, IsToldThatNothingIsPendingWhenATaskDestroysTheTimer) {
    int idleInside = 0;
    for (bool const isLast : {false, true}) {
        timer = std::make_unique<ManualTimer>(TimerOptions{.clock = clock, .loop = &loop});
        timer->newTimeout(
            [&] {
                timer.reset();
                idleInside = loop.idle();
            },
            0ms);
        if (!isLast) timer->newTimeout([] {}, 1h);
        timer->advanceTo(clock.now());
        EXPECT_EQ(idleInside, 1) << isLast;
        EXPECT_EQ(loop.idle(), 0) << isLast;
    }
}

// Bug pattern: the count is zero between the run of a task and what that schedules.
TEST_F(TimerLoopTest, IsNotToldThatNothingIsPendingWhileATaskGoesOn) {
    int runs = 0;
    std::function<void()> const again = [&] {
        if (++runs < 3) timer->newTimeout(again, 1ms);
    };
    timer->newTimeout(again, 1ms);
    advanceTo(1ms);
    EXPECT_EQ(loop.idle(), 0);
    advanceTo(2ms);
    EXPECT_EQ(loop.idle(), 0);
    advanceTo(3ms);
    EXPECT_EQ(loop.idle(), 1);

    Timeout const periodic = timer->scheduleAtFixedRate([] {}, 1ms, 1ms);
    advanceTo(8ms);
    EXPECT_EQ(loop.idle(), 0);
    EXPECT_TRUE(periodic.cancel());
    EXPECT_EQ(loop.idle(), 1);
}

TEST_F(TimerLoopTest, IsToldAtTheEndOfAdvanceToThatItsTasksEndedEverything) {
    Timeout const other = timer->newTimeout([] {}, 1h);
    int inside = -1;
    timer->newTimeout(
        [&] {
            EXPECT_TRUE(other.cancel());
            timer->newTimeout([] {}, 1h).cancel();
            inside = loop.idle();
        },
        1ms);
    advanceTo(1ms);
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(loop.idle(), 1);

    timer->scheduleAtFixedRate([](Timeout const& self) { self.cancel(); }, 1ms, 1ms);
    advanceTo(2ms);
    EXPECT_EQ(loop.idle(), 1);
}

/// Schedules and cancels once more for each timeout that is scheduled or cancelled, and cancels its
/// victim for one that is cancelled.
class Meddler final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        using Stage = TimerEvent::Stage;
        if (isBusy_ || (event.stage != Stage::schedule && event.stage != Stage::cancel)) return;
        isBusy_ = true;
        timer->newTimeout([] {}, 1h).cancel();
        if (event.stage == Stage::cancel && victim) victim.cancel();
        isBusy_ = false;
    }
    ManualTimer* timer = nullptr;
    Timeout victim;

private:
    bool isBusy_ = false;
};

TEST(TimerLoop, IsToldOnceThatNothingIsPendingThoughAnObserverSchedulesAndCancels) {
    SettableClock clock;
    LoopLog loop;
    Meddler meddler;
    ManualTimer timer{{.clock = clock, .observer = &meddler, .loop = &loop}};
    meddler.timer = &timer;
    Timeout const first = timer.newTimeout([] {}, 1ms);
    EXPECT_EQ(loop.idle(), 0);
    EXPECT_TRUE(first.cancel());
    EXPECT_EQ(loop.idle(), 1);
    // The observer cancels the last one while it is told of another.
    meddler.victim = timer.newTimeout([] {}, 1h);
    Timeout const second = timer.newTimeout([] {}, 1h);
    EXPECT_EQ(loop.idle(), 0);
    EXPECT_TRUE(second.cancel());
    EXPECT_EQ(loop.idle(), 1);
}

// ---- what it costs, and what is refused -------------------------------------------------------

class CountingLoop final : public TimerLoop {
public:
    void onEarlier(TimePoint) noexcept override { ++calls; }
    void onIdle() noexcept override { ++calls; }
    int calls = 0;
};

TEST(TimerLoop, IsToldWithoutAnAllocation) {
    CountingLoop loop;
    ManualTimer timer{{.loop = &loop}};
    Object object;
    timer.schedule(object.hook, 10ms);  // builds the level
    AllocationCounter const counter;
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(object.hook.reschedule(5ms));
        EXPECT_TRUE(object.hook.cancel());
        timer.schedule(object.hook, 10ms);
    }
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_GT(loop.calls, 10);
}

TEST(TimerLoop, IsRefusedByATimerWithAThread) {
    LoopLog loop;
    try {
        SystemTimer const timer{{.loop = &loop}};
        FAIL();
    } catch (std::invalid_argument const& error) {
        EXPECT_TRUE(std::string{error.what()}.starts_with("loop is set")) << error.what();
    }
}

class ThrowingLoop final : public TimerLoop {
public:
    void onEarlier(TimePoint) noexcept override { fail(); }

private:
    static void fail() { throw std::runtime_error{"a loop must not throw"}; }
};

TEST(TimerLoopDeathTest, ALoopThatThrowsEndsTheProcess) {
    ThrowingLoop loop;
    ManualTimer timer{{.loop = &loop}};
    EXPECT_DEATH(timer.newTimeout([] {}, 1ms), "a loop must not throw");
}

// ---- all of it, by chance ---------------------------------------------------------------------

/// Knows until when it may sleep, and counts what should not be told.
class SleepingLoop final : public TimerLoop {
public:
    void onEarlier(TimePoint expiration) noexcept override {
        if (isInside || expiration >= knows) ++needless;
        knows = expiration;
    }
    void onIdle() noexcept override { ++idle; }

    TimePoint knows = TimePoint::max();
    bool isInside = false;
    std::uint64_t needless = 0;
    std::uint64_t idle = 0;
};

/// One timer with a loop and one without, which is asked for the truth.
class Twins {
public:
    explicit Twins(std::uint64_t seed) : random_{seed} {}

    void step() {
        std::size_t const before = plain_.pendingTimeouts();
        switch (below(8)) {
            case 0:
            case 1:
            case 2: {
                Duration const delay = below(200) * 1ms;
                pairs_.push_back({told_.newTimeout([] {}, delay), plain_.newTimeout([] {}, delay)});
                break;
            }
            case 3:
                if (Pair* const pair = any()) pair->both([](Timeout const& t) { t.cancel(); });
                break;
            case 4:
            case 5:
                if (Pair* const pair = any()) {
                    Duration const delay = below(200) * 1ms;
                    told_.reschedule(pair->told, delay);
                    plain_.reschedule(pair->plain, delay);
                }
                break;
            default:
                advance();
        }
        std::size_t const after = plain_.pendingTimeouts();
        if (before > 0 && after == 0) ++emptied_;
        if (told_.pendingTimeouts() != after) ++wrong_;
        if (plain_.nextExpiration().value_or(Clock::TimePoint::max()) < loop_.knows) ++wrong_;
        if (loop_.idle != emptied_) ++wrong_;
    }

    std::uint64_t wrong() const { return wrong_ + loop_.needless; }

private:
    struct Pair {
        template <class Act>
        void both(Act&& act) {
            act(told);
            act(plain);
        }
        Timeout told;
        Timeout plain;
    };

    /// A loop as it should be: advances, asks, and sleeps.
    void advance() {
        clock_.add(below(50) * 1ms);
        loop_.isInside = true;
        std::size_t const atMost = 1 + static_cast<std::size_t>(below(20));
        told_.advanceTo(clock_.now(), atMost);
        loop_.isInside = false;
        plain_.advanceTo(clock_.now(), atMost);
        loop_.knows = told_.nextExpiration().value_or(Clock::TimePoint::max());
        if (below(10) == 0) pairs_.clear();
    }
    int below(int end) { return std::uniform_int_distribution<int>{0, end - 1}(random_); }
    Pair* any() {
        if (pairs_.empty()) return nullptr;
        return &pairs_[static_cast<std::size_t>(below(static_cast<int>(pairs_.size())))];
    }

    std::mt19937_64 random_;
    SettableClock clock_;
    SleepingLoop loop_;
    ManualTimer told_{{.wheelSize = 4, .clock = clock_, .loop = &loop_}};
    ManualTimer plain_{{.wheelSize = 4, .clock = clock_}};
    std::vector<Pair> pairs_;
    std::uint64_t emptied_ = 0;
    std::uint64_t wrong_ = 0;
};

// G26
TEST(TimerLoop, WhoSleepsAsToldOversleepsNothingAndIsToldNothingTwice) {
    std::uint64_t const seed = seedOr(23);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::uint64_t wrong = 0;
    std::size_t const steps = scaled(40'000);
    for (std::size_t done = 0; done < steps; done += 400) {
        Twins twins{seed + done};
        for (int i = 0; i < 400; ++i) twins.step();
        wrong += twins.wrong();
    }
    figure("G26", "expirations that a loop oversleeps, or is told needlessly", wrong, exactly(0),
           {steps, 40'000});
}

}  // namespace
}  // namespace timingwheel::test
