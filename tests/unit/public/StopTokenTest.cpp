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
    this->clock.advance(1s);
    EXPECT_TRUE(past.token().stop_requested());
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
    StoppableSleep get(std::stop_token token) { return timer.sleepFor(1h, std::move(token)); }
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
struct Job {
    std::shared_ptr<std::size_t> runs = std::make_shared<std::size_t>();
    std::shared_ptr<std::size_t> cancellations = std::make_shared<std::size_t>();

    void operator()(Timeout const&) const { ++*runs; }
    void cancelled(Timeout const&) const { ++*cancellations; }
};

TYPED_TEST(StopTokens, CancelWhatWasScheduledWithThem) {
    TypeParam timer{this->options()};
    std::stop_source source;
    std::stop_token const token = source.get_token();
    Job const job;
    std::size_t const before = static_cast<std::size_t>(job.runs.use_count());
    Timeout const timeouts[]{timer.newTimeout(job, 5ms, token, {.tolerance = 1ms}),
                             timer.newTimeout(job, this->now() + 5ms, token),
                             timer.scheduleAtFixedRate(job, 1ms, 1ms, token),
                             timer.scheduleWithFixedDelay(job, 1ms, 1ms, token)};
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
    Job const job;
    Timeout const timeout = timer.newTimeout(job, 5ms, source.get_token());
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
    Job const job;
    Timeout const once = timer.newTimeout(job, -1h, source.get_token());
    Timeout const often = timer.scheduleAtFixedRate(job, -1h, 1ms, source.get_token());
    EXPECT_TRUE(once.isCancelled());
    EXPECT_TRUE(often.isCancelled());
    EXPECT_EQ(*job.cancellations, 2U);
    this->clock.advance(2h);
    EXPECT_EQ(*job.runs, 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(StopTokens, RefuseAnEmptyTask) {
    TypeParam timer{this->options()};
    EXPECT_THROW(timer.newTimeout(std::function<void()>{}, 1ms, std::stop_source{}.get_token()),
                 std::invalid_argument);
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
