// Timers as schedulers of senders: every operation completes once, in one way, and where it was
// said.

#include <support/AllocationCounter.h>
#include <support/Executors.h>
#include <support/Figure.h>
#include <support/Receiver.h>
#include <support/TestTimers.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/TimedScheduler.h>

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

// Shows G29.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

using Operation = TimedOperation<Receiver>;
using StoppableOperation = TimedOperation<StoppableReceiver<std::stop_token>>;

static_assert(sizeof(TimedSender) == 24);
static_assert(!std::is_copy_constructible_v<Operation>);
static_assert(std::copyable<TimedSender> && std::copyable<TimedScheduler>);
static_assert(std::equality_comparable<TimedScheduler>);
static_assert(std::is_nothrow_move_constructible_v<TimedScheduler>);

/// Connects a sender with a receiver that a token stops.
StoppableOperation connect(TimedSender const& sender, Completion& completion,
                           std::stop_token token) {
    return sender.connect(StoppableReceiver{completion, std::move(token)});
}

template <class T>
using ATimedScheduler = OfWheelTimers<T>;
TYPED_TEST_SUITE(ATimedScheduler, WheelTimers, NamesOfTimers);

TYPED_TEST(ATimedScheduler, CompletesAtItsTimeAndNotBefore) {
    TypeParam timer{this->options()};
    TimedScheduler const scheduler{timer};
    Completion after;
    Completion at;
    auto first = scheduler.schedule_after(5ms).connect(Receiver{&after});
    auto second = scheduler.schedule_at(scheduler.now() + 7ms).connect(Receiver{&at});
    EXPECT_EQ(timer.pendingTimeouts(), 0U) << "nothing has started";
    first.start();
    second.start();
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    this->clock.advance(4ms);
    EXPECT_EQ(after.count(), 0);
    this->clock.advance(1ms);
    EXPECT_EQ(after.values, 1);
    EXPECT_EQ(at.count(), 0);
    this->clock.advance(2ms);
    EXPECT_EQ(at.values, 1);
    this->clock.advance(1h);
    EXPECT_EQ(after.count() + at.count(), 2);
}

// Bug pattern: the delay counts from the making of the sender (stdexec's issue 847).
TYPED_TEST(ATimedScheduler, CountsADelayFromTheStart) {
    TypeParam timer{this->options()};
    TimedSender const sender = TimedScheduler{timer}.schedule_after(5ms);
    this->clock.advance(1h);
    Completion completion;
    auto operation = sender.connect(Receiver{&completion});
    this->clock.advance(1h);
    operation.start();
    this->clock.advance(4ms);
    EXPECT_EQ(completion.count(), 0);
    this->clock.advance(1ms);
    EXPECT_EQ(completion.values, 1);
}

template <class T>
constexpr bool kHasThread = std::is_same_v<T, SystemTimer>;

TYPED_TEST(ATimedScheduler, HandsOverToTheTimer) {
    TypeParam timer{this->options()};
    Completion completion;
    auto operation = TimedScheduler{timer}.schedule().connect(Receiver{&completion});
    operation.start();
    if (!kHasThread<TypeParam>) {
        EXPECT_EQ(completion.count(), 0) << "it completes in advanceTo or runDue";
    }
    this->clock.advance(Duration{});  // waits for the driver, or is it
    EXPECT_EQ(completion.values, 1);
    EXPECT_EQ(completion.thread == std::this_thread::get_id(), !kHasThread<TypeParam>);
}

TYPED_TEST(ATimedScheduler, CompletesOnTheTimerWhenItsTokenIsStopped) {
    TypeParam timer{this->options()};
    std::stop_source source;
    Completion completion;
    auto operation =
        connect(TimedScheduler{timer}.schedule_after(1h), completion, source.get_token());
    operation.start();
    this->clock.advance(1s);
    EXPECT_EQ(completion.count(), 0);
    source.request_stop();
    if (!kHasThread<TypeParam>) {
        EXPECT_EQ(completion.count(), 0) << "it completes in advanceTo or runDue";
    }
    this->clock.advance(Duration{});
    EXPECT_EQ(completion.stops, 1);
    EXPECT_EQ(completion.thread == std::this_thread::get_id(), !kHasThread<TypeParam>);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    this->clock.advance(2h);
    EXPECT_EQ(completion.count(), 1);
}

TYPED_TEST(ATimedScheduler, CompletesInTheWayThatCameFirst) {
    TypeParam timer{this->options()};
    TimedSender const sender = TimedScheduler{timer}.schedule_after(5ms);
    std::stop_source source;
    Completion expired;
    auto first = connect(sender, expired, source.get_token());
    first.start();
    this->clock.advance(5ms);
    source.request_stop();
    this->clock.advance(1s);
    EXPECT_EQ(expired.values, 1);
    EXPECT_EQ(expired.count(), 1);

    std::stop_source another;
    Completion stopped;
    auto second = connect(sender, stopped, another.get_token());
    second.start();
    another.request_stop();
    this->clock.advance(5ms);
    EXPECT_EQ(stopped.stops, 1);
    EXPECT_EQ(stopped.count(), 1);
}

TYPED_TEST(ATimedScheduler, SchedulesNothingWithATokenThatIsStoppedAlready) {
    TypeParam timer{this->options()};
    std::stop_source source;
    source.request_stop();
    Completion completion;
    auto operation = connect(TimedScheduler{timer}.schedule(), completion, source.get_token());
    operation.start();
    EXPECT_EQ(completion.stops, 1);
    EXPECT_EQ(completion.thread, std::this_thread::get_id());
    EXPECT_EQ(timer.statistics().scheduled, 0U);
}

// Bug pattern: the callback stays with a token that dies once its receiver has completed.
TYPED_TEST(ATimedScheduler, LetsGoOfTheTokenBeforeItCompletes) {
    TypeParam timer{this->options()};
    std::deque<OwnStopSource> sources(4);
    std::deque<Completion> completions(4);
    int left = 0;
    using Own = TimedOperation<StoppableReceiver<OwnStopSource::Token>>;
    std::deque<std::optional<Own>> operations(4);
    for (std::size_t i = 0; i < 4; ++i) {
        completions[i].then = [&, i] { left += sources[i].hasCallback() ? 1 : 0; };
        StoppableReceiver const receiver{completions[i], sources[i].token()};
        Duration const delay = i == 0 ? Duration{1ms} : Duration{1h};
        operations[i].emplace(
            Elided{[&] { return TimedScheduler{timer}.schedule_after(delay).connect(receiver); }});
        operations[i]->start();
        EXPECT_TRUE(sources[i].hasCallback());
    }
    this->clock.advance(1ms);
    EXPECT_EQ(completions[0].values, 1);
    sources[1].requestStop();
    this->clock.advance(1ms);
    EXPECT_EQ(completions[1].stops, 1);
    timer.cancelAll();
    EXPECT_EQ(completions[2].stops, 1);
    EXPECT_EQ(completions[3].stops, 1);
    EXPECT_EQ(left, 0);
}

TYPED_TEST(ATimedScheduler, TakesAnyDelay) {
    TypeParam timer{this->options()};
    TimedScheduler const scheduler{timer};
    std::stop_source source;
    std::deque<Completion> completions(5);
    std::deque<StoppableOperation> operations;
    auto const start = [&](TimedSender const& sender) {
        Completion& completion = completions[operations.size()];
        operations.emplace_back(
            Elided{[&] { return connect(sender, completion, source.get_token()); }});
        operations.back().start();
    };
    start(scheduler.schedule_after(0ms));
    start(scheduler.schedule_after(-1h));
    start(scheduler.schedule_after(Duration{-Duration::max().nanoseconds()}));
    start(scheduler.schedule_at(scheduler.now() - 1h));
    start(scheduler.schedule_after(Duration::max()));
    this->clock.advance(Duration{});
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(completions[i].values, 1) << i;
    this->clock.advance(std::chrono::hours{1'000'000});
    EXPECT_EQ(completions[4].count(), 0);
    source.request_stop();
    this->clock.advance(1ms);
    EXPECT_EQ(completions[4].stops, 1);
    EXPECT_THROW(
        static_cast<void>(scheduler.schedule_after(std::chrono::duration<double>{std::nan("")})),
        std::invalid_argument);
}

TYPED_TEST(ATimedScheduler, SaysWhyItCouldNotStart) {
    TypeParam timer{this->options({.maxPendingTimeouts = 1})};
    TimedSender const sender = TimedScheduler{timer}.schedule_after(1ms);
    Timeout const other = timer.newTimeout([] {}, 1h);
    Completion full;
    auto first = sender.connect(Receiver{&full});
    first.start();
    EXPECT_EQ(full.errors, 1);
    EXPECT_THROW(std::rethrow_exception(full.error), RejectedExecution);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);

    timer.stop();
    Completion stopped;
    auto second = sender.connect(Receiver{&stopped});
    second.start();
    EXPECT_EQ(stopped.stops, 1) << "that is no error";
    EXPECT_EQ(full.count() + stopped.count(), 2);
}

TYPED_TEST(ATimedScheduler, CompletesWithAnErrorWithoutMemory) {
    TypeParam timer{this->options()};
    timer.newTimeout([] {}, 1ms);  // the thread is there
    Completion completion;
    auto operation = TimedScheduler{timer}.schedule_after(1000h).connect(Receiver{&completion});
    {
        AllocationFailure const failure{1, AllocationFailure::Repeat::forEver};
        operation.start();
        EXPECT_TRUE(failure.happened());
    }
    EXPECT_EQ(completion.errors, 1);
    EXPECT_THROW(std::rethrow_exception(completion.error), std::bad_alloc);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    timer.checkInvariants();
}

/// Many that wait for long, and when they complete look whether the timer is empty.
struct Crowd {
    Crowd(WheelTimer& timer, std::size_t count) : completions(count) {
        for (std::size_t i = 0; i < count; ++i) {
            completions[i].then = [&timer, this] { stillPending += timer.pendingTimeouts(); };
            auto const delay = 1ms * static_cast<int>(1 + i * i);
            operations.emplace_back(Elided{[&] {
                return connect(TimedScheduler{timer}.schedule_after(delay), completions[i],
                               source.get_token());
            }});
            operations.back().start();
        }
    }
    void expectAllStopped() const {
        for (Completion const& each : completions) {
            ASSERT_EQ(each.stops, 1);
            ASSERT_EQ(each.count(), 1);
            ASSERT_EQ(each.thread, std::this_thread::get_id());
        }
        EXPECT_EQ(stillPending, 0U) << "they complete when the timer is empty";
    }

    std::stop_source source;
    std::deque<Completion> completions;
    std::deque<StoppableOperation> operations;
    std::size_t stillPending = 0;
};

constexpr std::size_t kManyOperations = 600;  // several chunks

TYPED_TEST(ATimedScheduler, CompletesOnTheThreadThatStopsTheTimer) {
    TypeParam timer{this->options()};
    Crowd crowd{timer, kManyOperations};
    StoppedTimeouts const stopped = timer.stop();
    crowd.expectAllStopped();
    EXPECT_EQ(stopped.hooks(), kManyOperations);
    timer.checkInvariants();
}

TYPED_TEST(ATimedScheduler, CompletesInTheDestructorOfItsTimer) {
    std::optional<TypeParam> timer{this->options()};
    Crowd crowd{*timer, kManyOperations};
    timer.reset();
    crowd.expectAllStopped();
    crowd.source.request_stop();
    crowd.expectAllStopped();
}

TYPED_TEST(ATimedScheduler, CompletesInCancelAllAndTheTimerGoesOn) {
    TypeParam timer{this->options()};
    Crowd crowd{timer, kManyOperations};
    EXPECT_EQ(timer.cancelAll(), kManyOperations);
    crowd.expectAllStopped();
    Completion completion;
    auto operation = TimedScheduler{timer}.schedule_after(1ms).connect(Receiver{&completion});
    operation.start();
    this->clock.advance(1ms);
    EXPECT_EQ(completion.values, 1);
    timer.checkInvariants();
}

TYPED_TEST(ATimedScheduler, ForgetsAnOperationThatIsDestroyed) {
    TypeParam timer{this->options()};
    TimedSender const sender = TimedScheduler{timer}.schedule_after(5ms);
    std::stop_source source;
    Completion completion;
    {
        auto const notStarted = connect(sender, completion, source.get_token());
        auto plain = sender.connect(Receiver{&completion});
        auto stoppable = connect(sender, completion, source.get_token());
        plain.start();
        stoppable.start();
        EXPECT_EQ(timer.pendingTimeouts(), 2U);
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    source.request_stop();
    this->clock.advance(1s);
    EXPECT_EQ(completion.count(), 0);
    EXPECT_EQ(timer.statistics().cancelled, 2U);
}

TYPED_TEST(ATimedScheduler, LetsACompletionDestroyItsOperation) {
    TypeParam timer{this->options()};
    std::deque<Completion> completions(5);
    std::deque<std::stop_source> sources(5);
    std::deque<std::unique_ptr<StoppableOperation>> operations(5);
    auto const start = [&](std::size_t i, Duration delay) {
        completions[i].then = [&, i] { operations[i].reset(); };
        operations[i].reset(new StoppableOperation{Elided{[&] {
            return connect(TimedScheduler{timer}.schedule_after(delay), completions[i],
                           sources[i].get_token());
        }}});
        operations[i]->start();
    };
    start(0, 1ms);
    start(1, 1h);
    start(2, 1h);
    this->clock.advance(1ms);
    EXPECT_EQ(completions[0].values, 1);
    sources[1].request_stop();
    this->clock.advance(1ms);
    EXPECT_EQ(completions[1].stops, 1);
    timer.cancelAll();
    EXPECT_EQ(completions[2].stops, 1);
    sources[3].request_stop();
    start(3, 1h);
    EXPECT_EQ(completions[3].stops, 1);
    timer.stop();
    start(4, 1h);
    EXPECT_EQ(completions[4].stops, 1);
    for (auto const& operation : operations) EXPECT_EQ(operation, nullptr);
}

TYPED_TEST(ATimedScheduler, ConnectsASenderAnyNumberOfTimes) {
    TypeParam timer{this->options()};
    TimedSender const sender = TimedScheduler{timer}.schedule_after(1ms);
    std::deque<Completion> completions(1000);
    std::deque<Operation> operations;
    for (Completion& each : completions) {
        TimedSender const copy = sender;
        operations.emplace_back(Elided{[&] { return copy.connect(Receiver{&each}); }});
    }
    for (Operation& each : operations) each.start();
    this->clock.advance(1ms);
    for (Completion const& each : completions) ASSERT_EQ(each.values, 1);
}

TYPED_TEST(ATimedScheduler, AllocatesNothing) {
    TypeParam timer{this->options()};
    TimedScheduler const scheduler{timer};
    constexpr int kTimes = 1000;
    Completion completion;
    std::stop_source source;
    std::size_t allocations = 0;
    for (int i = 0; i <= kTimes; ++i) {  // the first builds the levels and starts the thread
        AllocationCounter const counter;
        auto plain = scheduler.schedule_after(1ms).connect(Receiver{&completion});
        auto stoppable = connect(scheduler.schedule(), completion, source.get_token());
        plain.start();
        stoppable.start();
        if (i > 0) allocations += counter.allocations();
        this->clock.advance(1ms);
    }
    EXPECT_EQ(completion.values, 2 * (kTimes + 1));
    figure("G29", "allocations of an operation", allocations, exactly(0), {2 * kTimes, 2 * kTimes});
}

TYPED_TEST(ATimedScheduler, IsEqualToThoseOfItsTimer) {
    TypeParam timer{this->options()};
    TypeParam other{this->options()};
    TimedScheduler const scheduler{timer};
    EXPECT_EQ(scheduler, TimedScheduler{timer});
    EXPECT_NE(scheduler, TimedScheduler{other});
    senders::get_completion_scheduler_t<senders::set_value_t> const query{};
    EXPECT_EQ(scheduler.schedule().get_env().query(query), scheduler);
    EXPECT_EQ(scheduler.schedule_after(1h).get_env().query(query), scheduler);
    EXPECT_EQ(scheduler.now(), this->now());
}

TEST(TimedSchedulerTest, CompletesOnTheExecutor) {
    ThreadExecutor executor;
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    std::stop_source source;
    Completion expired;
    Completion stopped;
    Completion task;
    auto first = TimedScheduler{timer}.schedule_after(1ms).connect(Receiver{&expired});
    auto second = connect(TimedScheduler{timer}.schedule_after(1h), stopped, source.get_token());
    first.start();
    second.start();
    timer.newTimeout([&] { task.add(task.values); }, 1ms);
    clock.advance(1ms);
    source.request_stop();
    clock.advance(1ms);
    EXPECT_EQ(expired.values, 1);
    EXPECT_EQ(stopped.stops, 1);
    EXPECT_EQ(expired.thread, task.thread);
    EXPECT_EQ(stopped.thread, task.thread);
}

TEST(TimedSchedulerTest, CompletesWhereTheExecutorDropsIt) {
    HoldingExecutor holder;
    SettableClock clock;
    FailureLog failures;
    SystemTimer timer{{.clock = clock, .executor = holder, .errorHandler = failures.handler()}};
    Completion completion;
    auto operation = TimedScheduler{timer}.schedule_after(1ms).connect(Receiver{&completion});
    operation.start();
    clock.add(1ms);
    holder.waitFor(1);
    EXPECT_EQ(completion.count(), 0);
    holder.dropAll();
    EXPECT_EQ(completion.stops, 1);
    EXPECT_EQ(completion.thread, std::this_thread::get_id());
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    timer.checkInvariants();
}

// G17. Bug pattern: what a factory throws is taken for what a stopped timer throws.
TEST(TimedSchedulerTest, CompletesWithAnErrorWithoutAThread) {
    bool throws = false;
    SystemTimer timer{{.threadFactory = [&throws](std::function<void()>) {
        if (throws) throw std::length_error{"no more threads"};
        return std::thread{};
    }}};
    TimedSender const sender = TimedScheduler{timer}.schedule_after(1ms);
    Completion noThread;
    auto first = sender.connect(Receiver{&noThread});
    first.start();
    ASSERT_EQ(noThread.errors, 1);
    EXPECT_THROW(std::rethrow_exception(noThread.error), std::logic_error);

    throws = true;
    Completion thrown;
    auto second = sender.connect(Receiver{&thrown});
    second.start();
    ASSERT_EQ(thrown.errors, 1);
    EXPECT_THROW(std::rethrow_exception(thrown.error), std::length_error);

    timer.stop();
    Completion stopped;
    auto third = sender.connect(Receiver{&stopped});
    third.start();
    EXPECT_EQ(stopped.stops, 1) << "the start is refused";
    EXPECT_EQ(noThread.count() + thrown.count() + stopped.count(), 3);
}

// Bug pattern: a stop while the timer is far behind needs a level, and a token's callback must not
// throw.
TEST(TimedSchedulerTest, CompletesByItsTokenWithoutMemory) {
    SettableClock clock;
    ManualTimer timer{{.wheelSize = 4, .clock = clock}};
    OwnStopSource source;
    Completion completion;
    Timeout const earlier = timer.newTimeout([] {}, 1ms);
    auto operation = TimedScheduler{timer}.schedule_after(2ms).connect(
        StoppableReceiver{completion, source.token()});
    operation.start();
    clock.add(1h);  // nobody has driven it
    {
        AllocationFailure const failure{1, AllocationFailure::Repeat::forEver};
        source.requestStop();
        EXPECT_TRUE(failure.happened());
    }
    timer.advanceTo(clock.now());
    EXPECT_EQ(completion.stops, 1);
}

}  // namespace
}  // namespace timingwheel::test
