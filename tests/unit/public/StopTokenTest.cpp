// What std::stop_token does with timers: deadlines as tokens, and schedules that a token cancels.

#include <support/Coroutine.h>
#include <support/TestTimers.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

// Shows G29.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

template <class T>
using StopTokens = OfWheelTimers<T>;
TYPED_TEST_SUITE(StopTokens, WheelTimers, NamesOfTimers);

TYPED_TEST(StopTokens, StopAfterTheirTimeAndNotBefore) {
    TypeParam timer{this->options()};
    StopAfter const deadline = timer.stopAfter(5ms);
    StopAfter const never = timer.stopAfter(Duration::max());
    std::stop_token const token = deadline;
    int calls = 0;
    std::stop_callback const callback{token, [&] { ++calls; }};
    this->clock.advance(4ms);
    EXPECT_FALSE(token.stop_requested());
    this->clock.advance(1ms);
    EXPECT_TRUE(token.stop_requested());
    EXPECT_EQ(calls, 1);
    StopAfter const past = timer.stopAfter(-1h);
    StopAfter const at = timer.stopAfter(this->now() + 500ms);
    this->clock.advance(499ms);
    EXPECT_TRUE(past.token().stop_requested());
    EXPECT_FALSE(at.token().stop_requested());
    this->clock.advance(1ms);
    EXPECT_TRUE(at.token().stop_requested());
    EXPECT_FALSE(never.token().stop_requested());
}

TYPED_TEST(StopTokens, AreNotStoppedOnceTheirDeadlineIsGone) {
    TypeParam timer{this->options()};
    std::optional<StopAfter> deadline;
    deadline.emplace(timer, 5ms);
    std::stop_token const token = *deadline;
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    deadline.reset();
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    this->clock.advance(1s);
    EXPECT_FALSE(token.stop_requested());
}

TYPED_TEST(StopTokens, PassOnTheStopOfAParent) {
    TypeParam timer{this->options()};
    std::stop_source parent;
    StopAfter const deadline = timer.stopAfter(1h, parent.get_token());
    EXPECT_FALSE(deadline.token().stop_requested());
    parent.request_stop();
    EXPECT_TRUE(deadline.token().stop_requested());
    StopAfter const late = timer.stopAfter(1h, parent.get_token());
    EXPECT_TRUE(late.token().stop_requested());
    EXPECT_EQ(timer.statistics().scheduled, 1U) << "nothing is scheduled for one that is stopped";
}

TYPED_TEST(StopTokens, AreNotStoppedByATimerThatStops) {
    TypeParam timer{this->options()};
    StopAfter const deadline = timer.stopAfter(1h);
    StopAfter const cancelled = timer.stopAfter(1h);
    timer.cancelAll();
    timer.stop();
    EXPECT_FALSE(deadline.token().stop_requested());
    EXPECT_FALSE(cancelled.token().stop_requested());
    EXPECT_THROW(static_cast<void>(timer.stopAfter(1ms)), std::logic_error);
}

/// An interface that takes a token: answers when it is stopped.
struct Client {
    WheelTimer& timer;
    StoppableSleep get(std::stop_token token) { return timer.sleep(1h, std::move(token)); }
};

TYPED_TEST(StopTokens, LiveAsLongAsTheExpressionThatMadeThem) {
    TypeParam timer{this->options()};
    Client client{timer};
    std::optional<Wake> answer;
    auto const ask = [&]() -> Coroutine {
        answer = co_await client.get(timer.stopAfter(5ms));
        EXPECT_EQ(timer.pendingTimeouts(), 0U) << "its deadline is gone with it";
    };
    Coroutine const coroutine = ask();
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    this->clock.advance(4ms);
    EXPECT_FALSE(answer);
    this->clock.advance(2ms);
    EXPECT_EQ(answer, Wake::stopped);
}

// Bug pattern: the last owner of the stop state goes while that calls its callbacks.
TYPED_TEST(StopTokens, MayLoseTheirDeadlineInACallback) {
    TypeParam timer{this->options()};
    /// When the token is stopped, nothing is left that keeps its state.
    struct Owner {
        struct End {
            Owner* owner;
            void operator()() const {
                Owner& all = *owner;
                all.callback.reset();
                all.deadline.reset();
                all.isOver = true;
            }
        };
        std::optional<StopAfter> deadline;
        std::optional<std::stop_callback<End>> callback;
        bool isOver = false;
    };
    for (bool const isParent : {false, true}) {
        std::stop_source parent;
        Owner owner;
        owner.deadline.emplace(timer, 1ms, parent.get_token());
        owner.callback.emplace(owner.deadline->token(), typename Owner::End{&owner});
        if (isParent)
            parent.request_stop();
        else
            this->clock.advance(1ms);
        EXPECT_TRUE(owner.isOver);
    }
}

/// Counts what becomes of it.
struct Chore {
    std::shared_ptr<std::size_t> runs = std::make_shared<std::size_t>();
    std::shared_ptr<std::size_t> cancellations = std::make_shared<std::size_t>();

    void operator()(Timeout const&) const { ++*runs; }
    void cancelled(Timeout const&) const { ++*cancellations; }
};

TYPED_TEST(StopTokens, CancelWhatWasScheduledWithThem) {
    TypeParam timer{this->options()};
    std::stop_source source;
    std::stop_token const token = source.get_token();
    Chore const job;
    std::size_t const before = static_cast<std::size_t>(job.runs.use_count());
    auto const stoppable = [&] { return untilStopped(token, job); };
    Timeout const timeouts[]{timer.newTimeout(stoppable(), 5ms, {.tolerance = 1ms}),
                             timer.newTimeout(stoppable(), this->now() + 5ms),
                             timer.scheduleAtFixedRate(stoppable(), 1ms, 1ms),
                             timer.scheduleWithFixedDelay(stoppable(), 1ms, 1ms)};
    this->clock.advance(1ms);
    EXPECT_EQ(*job.runs, 2U);
    EXPECT_EQ(timer.pendingTimeouts(), 4U);
    source.request_stop();
    EXPECT_EQ(*job.cancellations, 4U);
    EXPECT_EQ(static_cast<std::size_t>(job.runs.use_count()), before) << "captures are destroyed";
    for (Timeout const& each : timeouts) EXPECT_TRUE(each.isCancelled());
    this->clock.advance(1s);
    EXPECT_EQ(*job.runs, 2U);
}

TYPED_TEST(StopTokens, LeaveWhatHasRun) {
    TypeParam timer{this->options()};
    std::stop_source source;
    Chore const job;
    Timeout const timeout = timer.newTimeout(untilStopped(source.get_token(), job), 5ms);
    this->clock.advance(5ms);
    EXPECT_EQ(*job.runs, 1U);
    EXPECT_EQ(job.runs.use_count(), 1) << "what waits for the token is gone with the task";
    source.request_stop();
    EXPECT_TRUE(timeout.isExpired());
    EXPECT_EQ(*job.cancellations, 0U);
}

TYPED_TEST(StopTokens, ThatAreStoppedAlreadyLetNothingRun) {
    TypeParam timer{this->options()};
    std::stop_source source;
    source.request_stop();
    Chore const job;
    auto const stoppable = [&] { return untilStopped(source.get_token(), job); };
    Timeout const once = timer.newTimeout(stoppable(), -1h);
    Timeout const often = timer.scheduleAtFixedRate(stoppable(), -1h, 0ms);
    EXPECT_TRUE(once.isCancelled());
    EXPECT_TRUE(often.isCancelled());
    EXPECT_EQ(*job.cancellations, 2U);
    this->clock.advance(2h);
    EXPECT_EQ(*job.runs, 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(StopTokens, RefuseAnEmptyTask) {
    TypeParam timer{this->options()};
    std::stop_source source;
    for (int round = 0; round < 2; ++round, source.request_stop()) {
        auto const empty = untilStopped(source.get_token(), std::function<void()>{});
        EXPECT_THROW(timer.newTimeout(empty, 1ms), std::invalid_argument);
    }
}

TYPED_TEST(StopTokens, AreOnTopOfEachOtherAndOfAnObjectThatMayDie) {
    TypeParam timer{this->options()};
    auto const object = std::make_shared<int>(0);
    for (bool const isInner : {true, false}) {
        std::stop_source inner;
        std::stop_source outer;
        auto const task = ifAlive(object, [](int& runs) { ++runs; });
        Timeout const beat = timer.scheduleAtFixedRate(
            untilStopped(outer.get_token(), untilStopped(inner.get_token(), task)), 1ms, 1ms);
        this->clock.advance(3ms);
        (isInner ? inner : outer).request_stop();
        EXPECT_TRUE(beat.isCancelled());
        this->clock.advance(3ms);
    }
    EXPECT_EQ(*object, 6);
    EXPECT_EQ(object.use_count(), 1);
}

/// Hooks of one user.
struct Hooked {
    void onIdle() { ++runs; }
    int runs = 0;
    TimerHook<&Hooked::onIdle> hook{*this};
};

TYPED_TEST(StopTokens, CancelTheHooksThatWereScheduledWithThem) {
    TypeParam timer{this->options()};
    std::stop_source source;
    std::stop_token const token = source.get_token();
    Hooked single;
    Hooked first;
    Hooked second;
    Hooked released;
    TimerHookBase* const batch[]{&first.hook, &second.hook};
    CancelOnStop const ofSingle = timer.schedule(single.hook, 5ms, token, {.tolerance = 0ms});
    CancelOnStop const ofBatch = timer.schedule(batch, this->now() + 5ms, token);
    { CancelOnStop const ofReleased = timer.schedule(released.hook, 5ms, token); }
    EXPECT_EQ(timer.pendingTimeouts(), 4U);
    source.request_stop();
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    this->clock.advance(5ms);
    EXPECT_EQ(single.runs + first.runs + second.runs, 0);
    EXPECT_EQ(released.runs, 1);
}

TYPED_TEST(StopTokens, ThatAreStoppedAlreadyScheduleNoHookAndCancelWhatWasPending) {
    TypeParam timer{this->options()};
    TypeParam other{this->options()};
    std::stop_source source;
    source.request_stop();
    Hooked pending;
    Hooked idle;
    Hooked elsewhere;
    TimerHookBase* const batch[]{&pending.hook, &idle.hook, nullptr, &elsewhere.hook};
    for (bool const isBatch : {false, true}) {
        timer.schedule(pending.hook, 5ms);
        other.schedule(elsewhere.hook, 5ms);
        if (isBatch) {
            CancelOnStop const onStop = timer.schedule(batch, 1ms, source.get_token());
        } else {
            CancelOnStop const first = timer.schedule(pending.hook, 1ms, source.get_token());
            CancelOnStop const second = timer.schedule(idle.hook, 1ms, source.get_token());
        }
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
        EXPECT_EQ(other.pendingTimeouts(), isBatch ? 0U : 1U) << "wherever it is";
    }
    EXPECT_EQ(timer.statistics().scheduled, 2U);
}

// The timer may be gone when the token is stopped, and a hook may have moved to another one.
TYPED_TEST(StopTokens, CancelHooksInWhateverTimerTheyAreThen) {
    std::stop_source source;
    Hooked moved;
    Hooked orphan;
    TimerHookBase* const batch[]{&moved.hook, &orphan.hook};
    TypeParam second{this->options()};
    std::optional<TypeParam> timer;
    timer.emplace(this->options());
    CancelOnStop const onStop = timer->schedule(batch, 5ms, source.get_token());
    EXPECT_TRUE(moved.hook.cancel());
    second.schedule(moved.hook, 5ms);
    timer.reset();
    source.request_stop();
    EXPECT_FALSE(moved.hook.isPending());
    EXPECT_EQ(second.pendingTimeouts(), 0U);
}

TYPED_TEST(StopTokens, CancelAHandleOrAHookWhileSomebodyBindsThem) {
    struct Session {
        void onIdle() { ++runs; }
        int runs = 0;
        TimerHook<&Session::onIdle> hook{*this};
    };
    TypeParam timer{this->options()};
    std::stop_source source;
    Session session;
    Session spared;
    timer.schedule(session.hook, 5ms);
    timer.schedule(spared.hook, 5ms);
    Timeout const timeout = timer.newTimeout([] {}, 5ms);
    CancelOnStop const first{source.get_token(), timeout};
    CancelOnStop const second{source.get_token(), session.hook};
    { CancelOnStop const third{source.get_token(), spared.hook}; }
    source.request_stop();
    EXPECT_TRUE(timeout.isCancelled());
    EXPECT_FALSE(session.hook.isPending());
    EXPECT_TRUE(spared.hook.isPending());
    this->clock.advance(5ms);
    EXPECT_EQ(session.runs, 0);
    EXPECT_EQ(spared.runs, 1);
}

}  // namespace
}  // namespace timingwheel::test
