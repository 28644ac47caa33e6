#include <support/AllocationCounter.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Hook = OfWheelTimers<T>;
TYPED_TEST_SUITE(Hook, WheelTimers, NamesOfTimers);

/// Runs what the test says.
struct Subject {
    void run() {
        ++runs;
        if (act) act();
    }
    void quietly() noexcept { ++runs; }
    int runs = 0;
    std::function<void()> act;
    TimerHook<&Subject::run> hook{*this};
};
void onSubject(Subject& subject) { subject.runs += 10; }
void onSubjectQuietly(Subject& subject) noexcept { subject.runs += 100; }
/// Of an object that it only reads.
std::atomic<int> looks = 0;
void lookAt(std::vector<int> const& counts) { looks = counts.front(); }

static_assert(sizeof(TimerHook<&Subject::run>) == 48);
static_assert(sizeof(TimerHook<&onSubject>) == 48);
static_assert(!std::is_copy_constructible_v<TimerHook<&Subject::run>>);
static_assert(!std::is_move_constructible_v<TimerHook<&Subject::run>>);

TYPED_TEST(Hook, CallsAFunctionOfAConstObject) {
    TypeParam timer{this->options()};
    std::vector<int> const counts{7};
    TimerHook<&lookAt> hook{counts};
    timer.schedule(hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(looks.exchange(0), 7);
}

TYPED_TEST(Hook, CallsMembersAndFunctionsNoexceptOnesToo) {
    TypeParam timer{this->options()};
    Subject subject;
    TimerHook<&Subject::quietly> quietly{subject};
    TimerHook<&onSubject> function{subject};
    TimerHook<&onSubjectQuietly> functionQuietly{subject};
    for (TimerHookBase* const hook :
         {static_cast<TimerHookBase*>(&subject.hook), static_cast<TimerHookBase*>(&quietly),
          static_cast<TimerHookBase*>(&function), static_cast<TimerHookBase*>(&functionQuietly)})
        timer.schedule(*hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(subject.runs, 112);
}

/// Calls of every kind that a hook takes besides those above.
struct Caller {
    void look() const { ++looks; }
    void lookQuietly() const noexcept { looks += 10; }
    int count() { return looks += 100; }
    bool countQuietly() const noexcept { return (looks += 1000) != 0; }
    mutable int looks = 0;
};
int countOf(Caller& caller) { return caller.looks += 10'000; }

static_assert(sizeof(TimerHook<&Caller::look>) == 48);
static_assert(sizeof(TimerHook<[](Caller&) {}>) == 48);
static_assert(std::is_same_v<TimerHook<&Caller::countQuietly>::Object, Caller>);
static_assert(std::is_same_v<TimerHook<[](Caller&) noexcept {}>::Object, Caller>);

// Bug pattern: a hook takes only what returns nothing and may change the object.
TYPED_TEST(Hook, CallsConstMembersFunctionsWithAResultAndLambdas) {
    TypeParam timer{this->options()};
    Caller caller;
    TimerHook<&Caller::look> look{caller};
    TimerHook<&Caller::lookQuietly> lookQuietly{caller};
    TimerHook<&Caller::count> count{caller};
    TimerHook<&Caller::countQuietly> countQuietly{caller};
    TimerHook<&countOf> function{caller};
    TimerHook<[](Caller& c) { c.looks += 100'000; }> lambda{caller};
    TimerHook<[](Caller& c) noexcept { return c.looks += 1'000'000; }> lambdaQuietly{caller};
    for (TimerHookBase* const hook : std::initializer_list<TimerHookBase*>{
             &look, &lookQuietly, &count, &countQuietly, &function, &lambda, &lambdaQuietly})
        timer.schedule(*hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(caller.looks, 1'111'111);
}

// Every operation in every state: docs/decisions/0001.
TYPED_TEST(Hook, SaysNoWhileItIsIdle) {
    TypeParam timer{this->options()};
    Subject s;
    auto const expectIdle = [&] {
        EXPECT_FALSE(s.hook.isPending());
        EXPECT_FALSE(s.hook.cancel());
        EXPECT_FALSE(s.hook.cancelAndWait());
        EXPECT_FALSE(s.hook.reschedule(1ms));
        EXPECT_FALSE(s.hook.reschedule(this->now() + 1s));
        EXPECT_FALSE(s.hook.isPending());
    };
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint::max());
    expectIdle();
    timer.schedule(s.hook, 1ms);
    auto const deadline = s.hook.deadline();
    this->clock.advance(1ms);
    expectIdle();  // expired
    EXPECT_EQ(s.hook.deadline(), deadline);
    timer.schedule(s.hook, 1ms);
    EXPECT_TRUE(s.hook.cancel());
    expectIdle();  // cancelled
    timer.schedule(s.hook, 1ms);
    EXPECT_EQ(timer.stop().hooks(), 1U);
    expectIdle();  // returned
    EXPECT_EQ(s.runs, 1);
}

TYPED_TEST(Hook, IsPendingUntilItsTaskIsEntered) {
    TypeParam timer{this->options()};
    Subject s;
    s.act = [&] {
        EXPECT_FALSE(s.hook.isPending());
        EXPECT_FALSE(s.hook.cancel());
        EXPECT_FALSE(s.hook.cancelAndWait());
        EXPECT_FALSE(s.hook.reschedule(1s));
    };
    timer.schedule(s.hook, 1500us);
    EXPECT_TRUE(s.hook.isPending());
    EXPECT_EQ(s.hook.deadline(), this->now() + 2ms);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    this->clock.advance(1999us);
    EXPECT_EQ(s.runs, 0);
    this->clock.advance(1us);
    EXPECT_EQ(s.runs, 1);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(Hook, MovesWhenItIsScheduledWhileItIsPending) {
    TypeParam timer{this->options({.maxPendingTimeouts = 1})};
    Subject s;
    timer.schedule(s.hook, 10ms);
    timer.schedule(s.hook, 30ms);  // at the limit, which counts it already
    EXPECT_EQ(s.hook.deadline(), this->now() + 30ms);
    timer.schedule(s.hook, this->now() + 20ms);
    EXPECT_EQ(s.hook.deadline(), this->now() + 20ms);
    TimerHookBase* const batch[]{&s.hook, &s.hook};
    timer.schedule(batch, 15ms);
    EXPECT_EQ(s.hook.deadline(), this->now() + 15ms);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    this->clock.advance(14ms);
    EXPECT_EQ(s.runs, 0);
    timer.schedule(s.hook, -1h);
    this->clock.advance(1ms);
    EXPECT_EQ(s.runs, 1);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    this->clock.advance(1s);
    EXPECT_EQ(s.runs, 1);
    EXPECT_EQ(timer.statistics().scheduled, 1U);
    EXPECT_EQ(timer.statistics().rescheduled, 5U);
    timer.schedule(s.hook, 1ms);  // and the limit has been released once
    EXPECT_THROW(timer.newTimeout([] {}, 1ms), RejectedExecution);
    timer.checkInvariants();
}

// Within a tick there is no order: the first to run moves the other.
TYPED_TEST(Hook, MovesWhenItIsScheduledWhileItIsDueAndWaits) {
    TypeParam timer{this->options()};
    Subject one;
    Subject other;
    one.act = [&] {
        if (other.runs == 0) timer.schedule(other.hook, 5ms);
    };
    other.act = [&] {
        if (one.runs == 0) timer.schedule(one.hook, 5ms);
    };
    timer.schedule(one.hook, 1ms);
    timer.schedule(other.hook, 1ms);
    this->clock.advance(5ms);
    EXPECT_EQ(one.runs + other.runs, 1);
    this->clock.advance(1ms);
    EXPECT_EQ(one.runs, 1);
    EXPECT_EQ(other.runs, 1);
    this->clock.advance(1s);
    EXPECT_EQ(one.runs + other.runs, 2);
    timer.checkInvariants();
}

TYPED_TEST(Hook, OfAnotherTimerIsALogicErrorWhileItIsPendingAndChangesNothing) {
    TypeParam timer{this->options({.name = "once"})};
    TypeParam second{this->options({.name = "second"})};
    Subject s;
    timer.schedule(s.hook, 10ms);
    TimerHookBase* const batch[]{&s.hook};
    for (int i = 0; i < 2; ++i) {
        expectThrows<std::logic_error>([&] { second.schedule(s.hook, this->now()); },
                                       "the hook is pending on another timer, \"once\"");
        EXPECT_THROW(second.schedule(batch, 1ms), std::logic_error);
        EXPECT_EQ(s.hook.deadline(), this->now() + 10ms);
        EXPECT_EQ(timer.pendingTimeouts(), 1U);
        EXPECT_EQ(second.pendingTimeouts(), 0U);
    }
    this->clock.advance(10ms);
    EXPECT_EQ(s.runs, 1);
    EXPECT_EQ(timer.statistics().scheduled, 1U);
    second.schedule(s.hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(s.runs, 2);
}

TYPED_TEST(Hook, MayBeScheduledAgainAndAgain) {
    TypeParam timer{this->options()};
    Subject s;
    timer.newTimeout([] {}, 100s).cancel();
    timer.schedule(s.hook, 1ms);
    EXPECT_TRUE(s.hook.cancel());
    AllocationCounter const counter;
    for (int i = 0; i < 1000; ++i) {
        timer.schedule(s.hook, 10s);
        EXPECT_TRUE(s.hook.reschedule(20s));
        EXPECT_TRUE(s.hook.reschedule(5s));
        EXPECT_TRUE(s.hook.cancel());
    }
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_EQ(timer.statistics().scheduled, 1001U + 1U);
}

TYPED_TEST(Hook, MayScheduleItselfInItsTask) {
    TypeParam timer{this->options()};
    Subject s;
    std::vector<Clock::TimePoint> times;
    s.act = [&] {
        times.push_back(this->now());
        if (s.runs < 1000) timer.schedule(s.hook, 3ms);
        EXPECT_EQ(s.hook.isPending(), s.runs < 1000);
    };
    timer.schedule(s.hook, 3ms);
    this->clock.advance(4ms);
    EXPECT_TRUE(s.hook.isPending());
    this->clock.advance(10s);
    ASSERT_EQ(times.size(), 1000U);
    EXPECT_EQ(times.back(), Clock::TimePoint{3000ms});
}

TYPED_TEST(Hook, MayScheduleAndCancelAndMoveItselfInItsTask) {
    TypeParam timer{this->options()};
    Subject s;
    s.act = [&] {
        if (s.runs > 1) return;
        timer.schedule(s.hook, 1ms);
        EXPECT_TRUE(s.hook.cancel());
        timer.schedule(s.hook, 1ms);
        EXPECT_TRUE(s.hook.reschedule(9ms));
        timer.schedule(s.hook, 7ms);
    };
    timer.schedule(s.hook, 1ms);
    this->clock.advance(7ms);
    EXPECT_EQ(s.runs, 1);
    this->clock.advance(1ms);
    EXPECT_EQ(s.runs, 2);
}

/// Dies in its own task.
struct Mortal {
    explicit Mortal(int& counter) : deaths{counter} {}
    ~Mortal() { ++deaths; }
    void end() { delete this; }
    int& deaths;
    TimerHook<&Mortal::end> hook{*this};
};

// Bug pattern: the entry is touched after the task it ran has freed it.
// It took a share of its timer's memory each time.
TYPED_TEST(Hook, LeavesNoMemoryBehindHoweverOftenItIsScheduled) {
    auto const useTimer = [] {
        ManualClock brief;
        Subject s;
        TypeParam timer{{.clock = brief}};
        for (int i = 0; i < 3; ++i) {
            timer.schedule(s.hook, 1ms);
            brief.advance(1ms);
            timer.schedule(s.hook, 1ms);
            EXPECT_TRUE(s.hook.cancel());
        }
        EXPECT_EQ(s.runs, 3);
    };
    useTimer();  // what is made once in a process is there
    AllocationCounter const counter{Threads::all};
    useTimer();
    EXPECT_EQ(counter.deallocations(), counter.allocations());
}

TYPED_TEST(Hook, MayDieInItsTask) {
    TypeParam timer{this->options()};
    int deaths = 0;
    for (int i = 0; i < 100; ++i) timer.schedule((new Mortal{deaths})->hook, (1 + i % 3) * 1ms);
    this->clock.advance(5ms);
    EXPECT_EQ(deaths, 100);
    EXPECT_EQ(timer.statistics().fired, 100U);
}

TEST(Hook, MayDieInItsTaskOnAnExecutor) {
    ManualClock clock;
    ThreadExecutor executor;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    int deaths = 0;
    for (int i = 0; i < 100; ++i) timer.schedule((new Mortal{deaths})->hook, (1 + i % 3) * 1ms);
    clock.advance(5ms);
    EXPECT_EQ(deaths, 100);
}

TYPED_TEST(Hook, MayDieAfterItScheduledItselfAgain) {
    struct Both {
        void run() {
            timer.schedule(hook, 1ms);
            delete this;
        }
        WheelTimer& timer;
        TimerHook<&Both::run> hook{*this};
    };
    TypeParam timer{this->options()};
    timer.schedule((new Both{timer})->hook, 1ms);
    this->clock.advance(5ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().cancelled, 1U);
}

TYPED_TEST(Hook, ItsTaskMayDestroyAnotherOne) {
    TypeParam timer{this->options()};
    auto other = std::make_unique<Subject>();
    Subject s;
    s.act = [&] { other.reset(); };
    timer.schedule(s.hook, 1ms);
    timer.schedule(other->hook, 2ms);
    this->clock.jump(2ms);
    EXPECT_EQ(s.runs, 1);
    EXPECT_EQ(timer.statistics().cancelled, 1U);
}

TYPED_TEST(Hook, CancelsWhenItDies) {
    TypeParam timer{this->options()};
    {
        Subject s;
        timer.schedule(s.hook, 1ms);
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    timer.checkInvariants();
    this->clock.advance(1ms);
    EXPECT_EQ(timer.statistics().fired, 0U);
}

// G11
TYPED_TEST(Hook, MayOutliveItsTimer) {
    Subject pending;
    Subject expired;
    Subject never;
    {
        TypeParam timer{this->options()};
        timer.schedule(pending.hook, 1h);
        timer.schedule(expired.hook, 1ms);
        this->clock.advance(1ms);
    }
    for (Subject* const s : {&pending, &expired, &never}) {
        EXPECT_FALSE(s->hook.isPending());
        EXPECT_FALSE(s->hook.cancel());
        EXPECT_FALSE(s->hook.cancelAndWait());
        EXPECT_FALSE(s->hook.reschedule(1ms));
        EXPECT_FALSE(s->hook.reschedule(this->now()));
    }
    EXPECT_EQ(expired.hook.deadline(), Clock::TimePoint{1ms});
    EXPECT_EQ(pending.hook.deadline(), Clock::TimePoint{1h});
}

/// A clock that stands still. Whoever asks it after its end is counted too: it lies where it lay.
class AskedClock final : public Clock {
public:
    TimePoint now() const noexcept override {
        ++asked;
        return TimePoint{};
    }
    std::unique_ptr<Waiter> makeWaiter() override { return waiterUntilWoken(); }
    static inline std::atomic<int> asked{0};
};

// G11
// Bug pattern: a hook asks the clock before it looks at its state, and the clock is gone.
TYPED_TEST(Hook, MayOutliveItsTimerAndTheClock) {
    for (bool const isStopped : {false, true}) {
        std::optional<AskedClock> mortal{std::in_place};
        std::optional<TypeParam> timer{std::in_place, TimerOptions{.clock = *mortal}};
        Subject subject;
        timer->schedule(subject.hook, 1s);
        EXPECT_TRUE(subject.hook.reschedule(2s));
        if (isStopped) static_cast<void>(timer->stop());
        timer.reset();
        mortal.reset();
        int const asked = AskedClock::asked;
        EXPECT_FALSE(subject.hook.reschedule(1s));
        EXPECT_FALSE(subject.hook.reschedule(Clock::TimePoint{} + 1s));
        EXPECT_FALSE(subject.hook.cancel());
        EXPECT_FALSE(subject.hook.cancelAndWait());
        EXPECT_FALSE(subject.hook.isPending());
        EXPECT_EQ(subject.hook.deadline(), Clock::TimePoint{} + 2s);
        EXPECT_EQ(AskedClock::asked, asked) << "the clock is gone";
    }
}

// Bug pattern: a hook that moves to another timer keeps the former one's memory.
TYPED_TEST(Hook, LetsGoOfItsFormerTimersMemory) {
    TypeParam second{this->options()};
    Subject warm;
    second.schedule(warm.hook, 1s);  // has its levels, and its thread
    Subject subject;
    AllocationCounter const counter{Threads::all};
    {
        ManualClock own;
        TypeParam first{{.clock = own}};
        first.schedule(subject.hook, 1s);
    }
    EXPECT_GT(counter.allocations(), counter.deallocations());  // it holds its shard
    second.schedule(subject.hook, 1s);
    EXPECT_EQ(counter.allocations(), counter.deallocations());
}

TYPED_TEST(Hook, MayNotGoToASecondTimerInItsRun) {
    Subject s;
    TypeParam first{this->options()};
    TypeParam second{this->options({.name = "second"})};
    s.act = [&] {
        expectThrows<std::logic_error>([&] { second.schedule(s.hook, 1ms); },
                                       "timer \"second\": the hook's task runs on another timer");
    };
    first.schedule(s.hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(s.runs, 1);
    EXPECT_FALSE(s.hook.isPending());
}

TYPED_TEST(Hook, MayGoToASecondTimerAfterTheFirst) {
    Subject s;
    auto first = std::make_unique<TypeParam>(this->options());
    TypeParam second{this->options()};
    first->schedule(s.hook, 1ms);
    this->clock.advance(1ms);
    second.schedule(s.hook, 1ms);
    EXPECT_EQ(first->pendingTimeouts(), 0U);
    this->clock.advance(1ms);
    first->schedule(s.hook, 1ms);
    EXPECT_TRUE(s.hook.cancel());
    first->schedule(s.hook, 1h);
    first.reset();
    second.schedule(s.hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(s.runs, 3);
}

// G16, G18: a hook that is pending counts once.
TYPED_TEST(Hook, ThatIsPendingMovesAtTheLimit) {
    Subject s;
    TypeParam timer{this->options({.maxPendingTimeouts = 1})};
    timer.schedule(s.hook, 1ms);
    timer.schedule(s.hook, 2ms);
    EXPECT_EQ(timer.statistics().refused, 0U);
    this->clock.advance(2ms);
    EXPECT_EQ(s.runs, 1);
}

// G16: refused by the second timer, it is what it was.
TYPED_TEST(Hook, IsUnchangedWhenASecondTimerRefusesIt) {
    Subject s;
    TypeParam first{this->options()};
    TypeParam stopped{this->options()};
    TypeParam full{this->options({.maxPendingTimeouts = 1})};
    static_cast<void>(stopped.stop());
    full.newTimeout([] {}, 1h);
    first.schedule(s.hook, 5ms);
    this->clock.advance(5ms);
    EXPECT_THROW(stopped.schedule(s.hook, 1ms), std::logic_error);
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{5ms});
    EXPECT_THROW(full.schedule(s.hook, 1ms), RejectedExecution);
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{5ms});
    EXPECT_FALSE(s.hook.isPending());
    first.schedule(s.hook, 1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(s.runs, 2);
}

// ---- push-backs --------------------------------------------------------------------------------

TYPED_TEST(Hook, PushedBackManyTimesItFiresOnceAndOnTime) {
    TypeParam timer{this->options({.wheelSize = 4})};
    timer.newTimeout([] {}, 10s).cancel();
    Subject s;
    timer.schedule(s.hook, 10ms);
    for (int i = 0; i < 500; ++i) {
        this->clock.advance(1ms);
        EXPECT_TRUE(s.hook.reschedule(this->now() + 10ms));
        EXPECT_EQ(s.hook.deadline(), this->now() + 10ms);
        EXPECT_TRUE(s.hook.isPending());
        timer.checkInvariants();
    }
    EXPECT_EQ(s.runs, 0);
    this->clock.advance(10ms - 1ns);
    EXPECT_EQ(s.runs, 0);
    this->clock.advance(1ns);
    EXPECT_EQ(s.runs, 1);
    this->clock.advance(1s);
    EXPECT_EQ(s.runs, 1);
    EXPECT_EQ(timer.statistics().rescheduled, 500U);
}

TYPED_TEST(Hook, MovedEarlierItFiresEarlier) {
    TypeParam timer{this->options()};
    for (nanoseconds const delay : {1ms, 19ms, 20ms, 21ms, 400ms, 999ms}) {
        Subject s;
        timer.schedule(s.hook, 1000ms);
        EXPECT_TRUE(s.hook.reschedule(5s));
        EXPECT_TRUE(s.hook.reschedule(delay));
        this->clock.advance(delay - 1ns);
        EXPECT_EQ(s.runs, 0);
        this->clock.advance(1ns);
        EXPECT_EQ(s.runs, 1);
    }
}

TYPED_TEST(Hook, MovedBeyondTheLevelsItFiresThen) {
    TypeParam timer{this->options({.wheelSize = 2})};
    for (nanoseconds const delay : {10ms, 100ms, 1000ms, 100000ms}) {
        Subject s;
        timer.schedule(s.hook, 1ms);
        EXPECT_TRUE(s.hook.reschedule(delay));
        this->clock.advance(delay - 1ns);
        EXPECT_EQ(s.runs, 0);
        this->clock.advance(1ns);
        EXPECT_EQ(s.runs, 1);
    }
    Subject never;
    timer.schedule(never.hook, 1ms);
    EXPECT_TRUE(never.hook.reschedule(Duration::max()));
    this->clock.advance(1h);
    EXPECT_EQ(never.runs, 0);
    EXPECT_EQ(never.hook.deadline(), Clock::TimePoint::max());
}

TYPED_TEST(Hook, MovedToThePastItFiresAtOnce) {
    TypeParam timer{this->options()};
    this->clock.advance(1s);
    Subject s;
    timer.schedule(s.hook, 1h);
    EXPECT_TRUE(s.hook.reschedule(Clock::TimePoint{1ms}));
    this->clock.advance(0ms);
    EXPECT_EQ(s.runs, 1);
    timer.schedule(s.hook, 1h);
    EXPECT_TRUE(s.hook.reschedule(-1h));
    this->clock.advance(0ms);
    EXPECT_EQ(s.runs, 2);
}

TYPED_TEST(Hook, APushBackTakesATolerance) {
    TypeParam timer{this->options()};
    Subject s;
    timer.schedule(s.hook, 100ms, {.tolerance = 1s});
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{400ms});
    EXPECT_TRUE(s.hook.reschedule(1001ms, {.tolerance = 400ms}));
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{1200ms});
    EXPECT_TRUE(s.hook.reschedule(1001ms));
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{1001ms});
    EXPECT_TRUE(s.hook.reschedule(Clock::TimePoint{1001ms}, {.tolerance = 400ms}));
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{1200ms});
    s.hook.cancel();
    timer.schedule(s.hook, Clock::TimePoint{801ms}, {.tolerance = 400ms});
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{1200ms});
    EXPECT_TRUE(s.hook.reschedule(1001ms));
    EXPECT_THROW(s.hook.reschedule(1s, {.tolerance = -1ns}), std::invalid_argument);
    EXPECT_EQ(s.hook.deadline(), Clock::TimePoint{1001ms});
}

// Bug pattern: a refused hook loses its shard again while another thread uses that.
TYPED_TEST(Hook, StaysWithTheTimerThatRefusedItAndCanBeScheduledAnywhere) {
    TypeParam timer{this->options({.maxPendingTimeouts = 1})};
    Subject first;
    Subject refused;
    timer.schedule(first.hook, 10ms);
    EXPECT_THROW(timer.schedule(refused.hook, 10ms), RejectedExecution);
    EXPECT_FALSE(refused.hook.isPending());
    EXPECT_EQ(refused.hook.deadline(), Clock::TimePoint::max());
    EXPECT_FALSE(refused.hook.cancel());
    EXPECT_FALSE(refused.hook.reschedule(1ms));
    {
        TypeParam other{this->options()};
        TimerHookBase* const batch[]{&refused.hook};
        EXPECT_EQ(other.cancel(batch), 0U);
        other.schedule(refused.hook, 5ms);
        EXPECT_TRUE(refused.hook.cancel());
        EXPECT_THROW(timer.schedule(refused.hook, 10ms), RejectedExecution);
    }
    first.hook.cancel();
    timer.schedule(refused.hook, 10ms);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    timer.checkInvariants();
}

TEST(Hook, RefusesANegativeToleranceBeforeItsFirstSchedule) {
    Subject s;
    EXPECT_FALSE(s.hook.reschedule(1s));
    EXPECT_THROW(s.hook.reschedule(1s, {.tolerance = -1ns}), std::invalid_argument);
}

// A push-back after the bucket was taken out: the driver has not come to the entry yet.
TEST(Hook, WinsOverItsTurnWhenItIsPushedBackByATaskBeforeIt) {
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    Subject a;
    Subject b;
    a.act = [&] { EXPECT_EQ(b.hook.reschedule(10ms), b.runs == 0); };
    b.act = [&] { EXPECT_EQ(a.hook.reschedule(10ms), a.runs == 0); };
    timer.schedule(a.hook, 5ms);
    timer.schedule(b.hook, 5ms);
    clock.advance(5ms);
    EXPECT_EQ(a.runs + b.runs, 1);
    clock.advance(10ms);
    EXPECT_EQ(a.runs, 1);
    EXPECT_EQ(b.runs, 1);
}

// G7
TYPED_TEST(Hook, ATaskThatThrowsIsToldWithAnEmptyHandle) {
    TypeParam timer{this->options()};
    Subject s;
    s.act = [] { throw std::runtime_error{"hooked"}; };
    timer.schedule(s.hook, 1ms);
    this->clock.advance(1ms);
    auto const entries = this->failures.entries();
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].what, "hooked");
    EXPECT_FALSE(entries[0].timeout);
    timer.schedule(s.hook, 1ms);
    EXPECT_TRUE(s.hook.isPending());
}

// G7. Bug pattern: what is told of a hook does not say which of thousands it was.
TYPED_TEST(Hook, AFailureOfItNamesItsObject) {
    std::vector<void const*> failed;
    TypeParam timer{this->options({.errorHandler = [&](TaskFailure const& failure) {
        EXPECT_EQ(failure.kind, TaskFailure::Kind::threw);
        failed.push_back(failure.object);
    }})};
    Subject a;
    Subject b;
    for (Subject* const s : {&a, &b}) s->act = [] { throw 1; };
    timer.schedule(a.hook, 1ms);
    timer.schedule(b.hook, 2ms);
    timer.newTimeout([] { throw 1; }, 3ms);
    this->clock.advance(3ms);
    EXPECT_EQ(failed, (std::vector<void const*>{&a, &b, nullptr}));
}

TEST(Hook, ASlowRunOfItNamesItsObject) {
    SettableClock clock;
    std::vector<void const*> slow;
    ManualTimer timer{
        {.clock = clock, .slowTaskThreshold = 1s, .slowTaskHandler = [&](SlowTask const& task) {
             EXPECT_EQ(task.duration, 1s);
             slow.push_back(task.object);
         }}};
    Subject a;
    Subject b;
    a.act = [&] { clock.add(1s); };
    timer.schedule(a.hook, 1ms);
    timer.schedule(b.hook, 2ms);
    timer.newTimeout([&] { clock.add(1s); }, 3ms);
    timer.advanceTo(Clock::TimePoint{3ms});
    EXPECT_EQ(slow, (std::vector<void const*>{&a, nullptr}));
}

TEST(Hook, ARejectionOfItNamesItsObject) {
    struct Refusing {
        void execute(Claim) { throw 1; }
    };
    ManualClock clock;
    Refusing executor;
    std::vector<void const*> rejected;
    SystemTimer timer{
        {.clock = clock, .executor = executor, .errorHandler = [&](TaskFailure const& failure) {
             EXPECT_EQ(failure.kind, TaskFailure::Kind::rejected);
             rejected.push_back(failure.object);
         }}};
    Subject s;
    timer.schedule(s.hook, 1ms);
    timer.newTimeout([] {}, 2ms);
    clock.advance(2ms);
    EXPECT_EQ(rejected, (std::vector<void const*>{&s, nullptr}));
}

/// Remembers which entries ran.
class RunsOfEntries final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        if (event.stage == TimerEvent::Stage::run) entries.push_back(event.entry);
    }
    std::vector<void const*> entries;
};

TYPED_TEST(Hook, IsWhatAnObserverHearsOf) {
    RunsOfEntries observer;
    TypeParam timer{this->options({.observer = &observer})};
    Subject a;
    Subject b;
    timer.schedule(a.hook, 1ms);
    timer.schedule(b.hook, 2ms);
    this->clock.advance(2ms);
    EXPECT_EQ(observer.entries, (std::vector<void const*>{TimerObserver::entryOf(a.hook),
                                                          TimerObserver::entryOf(b.hook)}));
    EXPECT_NE(TimerObserver::entryOf(a.hook), TimerObserver::entryOf(b.hook));
}

// G5: the destructor waits for a run that has begun on another thread.
TEST(Hook, ItsDestructorWaitsForARunThatHasBegun) {
    Watchdog const watchdog{"the destructor of a hook whose task runs"};
    SystemTimer timer;
    Latch entered;
    Latch leave;
    auto s = std::make_unique<Subject>();
    s->act = [&] {
        entered.open();
        leave.wait();
    };
    timer.schedule(s->hook, 0ms);
    entered.wait();
    std::atomic<bool> isGone{false};
    std::thread destroying{[&] {
        nameThisThread("destroying");
        s.reset();
        isGone = true;
    }};
    waitUntilAsleep("destroying", [&isGone] { return isGone.load(); });
    EXPECT_FALSE(isGone);
    leave.open();
    destroying.join();
}

}  // namespace
}  // namespace timingwheel::test
