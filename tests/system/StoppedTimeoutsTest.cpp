#include <support/TestTimers.h>
#include <timingwheel/StoppedTimeouts.h>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

template <class T>
using Stop = OfWheelTimers<T>;
TYPED_TEST_SUITE(Stop, WheelTimers, NamesOfTimers);

static_assert(std::is_nothrow_move_constructible_v<StoppedTimeouts>);
static_assert(!std::is_copy_constructible_v<StoppedTimeouts>);

/// An order that is kept until it is due.
struct Order {
    int number;
    std::shared_ptr<int> witness = {};
    void operator()() const {}
};

// G10
TYPED_TEST(Stop, ReturnsExactlyWhatWasPending) {
    TypeParam timer{this->options({.wheelSize = 4})};
    std::set<Timeout> expected;
    for (int i = 1; i <= 100; ++i) {
        Timeout const t = timer.newTimeout(Order{i}, i * 10ms);
        if (i % 3 == 0) {
            EXPECT_TRUE(t.cancel());
        }
        if (i % 3 != 0 && i > 50) expected.insert(t);
    }
    expected.insert(timer.newTimeout([] {}, Duration::max()));
    this->clock.advance(500ms);
    StoppedTimeouts const stopped = timer.stop();
    EXPECT_EQ(stopped.size(), expected.size());
    EXPECT_FALSE(stopped.empty());
    EXPECT_EQ(stopped.hooks(), 0U);
    std::set<Timeout> returned;
    for (StoppedTimeout const s : stopped) {
        returned.insert(s.timeout());
        EXPECT_TRUE(s.timeout().isCancelled());
        EXPECT_EQ(s.deadline(), s.timeout().deadline());
        EXPECT_EQ(s.remaining(), s.timeout().remaining());
        EXPECT_EQ(s.task(), nullptr);
        if (Order* const order = s.target<Order>()) {
            EXPECT_EQ(s.deadline(), Clock::TimePoint{order->number * 10ms});
            EXPECT_EQ(s.remaining(), order->number * 10ms - 500ms);
        } else {
            EXPECT_EQ(s.deadline(), Clock::TimePoint::max());
        }
        EXPECT_EQ(s.target<int (*)()>(), nullptr);
    }
    EXPECT_EQ(returned, expected);
    EXPECT_EQ(timer.statistics().returned, expected.size());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G10
TYPED_TEST(Stop, IsIdempotentAndEndsAcceptance) {
    TypeParam timer{this->options()};
    timer.newTimeout([] {}, 1s);
    EXPECT_EQ(timer.stop().size(), 1U);
    EXPECT_TRUE(timer.stop().empty());
    struct Object {
        void run() {}
    } object;
    TimerHook<&Object::run> hook{object};
    EXPECT_THROW(timer.newTimeout([] {}, 1s), std::logic_error);
    EXPECT_THROW(timer.schedule(hook, 1s), std::logic_error);
    EXPECT_FALSE(hook.isPending());
    EXPECT_THROW(timer.scheduleAtFixedRate([] {}, 1s, 1s), std::logic_error);
    this->clock.advance(1h);
    EXPECT_EQ(timer.statistics().runs, 0U);
}

TYPED_TEST(Stop, OfATimerThatWasNeverUsedReturnsNothing) {
    TypeParam timer{this->options()};
    StoppedTimeouts const stopped = timer.stop();
    EXPECT_TRUE(stopped.empty());
    EXPECT_TRUE(stopped.begin() == stopped.end());
}

TYPED_TEST(Stop, TasksMayBeMovedOutAndScheduledAgain) {
    TypeParam first{this->options()};
    int sum = 0;
    auto makeTask = [&sum](int n) { return [&sum, p = std::make_unique<int>(n)] { sum += *p; }; };
    using Task = decltype(makeTask(1));
    first.newTimeout(makeTask(1), 10ms);
    first.newTimeout(makeTask(2), 20ms);
    this->clock.advance(5ms);
    TypeParam second{this->options()};
    for (StoppedTimeout const s : first.stop()) {
        Task* const task = s.target<Task>();
        ASSERT_NE(task, nullptr);
        second.newTimeout(std::move(*task), s.remaining());
    }
    this->clock.advance(5ms);
    EXPECT_EQ(sum, 1);
    this->clock.advance(10ms);
    EXPECT_EQ(sum, 3);
}

/// Netty's form.
class Job final : public TimerTask {
public:
    void run(Timeout const&) override {}
    void cancelled(Timeout const&) override { ++cancels; }
    int cancels = 0;
};

TYPED_TEST(Stop, ReturnsTheTimerTaskObjects) {
    TypeParam timer{this->options()};
    auto const job = std::make_shared<Job>();
    Timeout const t = timer.newTimeout(job, 1s);
    {
        StoppedTimeouts const stopped = timer.stop();
        ASSERT_EQ(stopped.size(), 1U);
        EXPECT_EQ((*stopped.begin()).task(), job);
        EXPECT_EQ(*(*stopped.begin()).template target<std::shared_ptr<Job>>(), job);
        EXPECT_EQ(t.task(), nullptr);
    }
    EXPECT_EQ(job.use_count(), 1);
    EXPECT_EQ(job->cancels, 0);  // it was returned, not cancelled by anybody
}

TYPED_TEST(Stop, CountsHooksWithoutReturningThem) {
    TypeParam timer{this->options()};
    struct Object {
        void run() {}
        TimerHook<&Object::run> hook{*this};
    } a, b, c;
    timer.schedule(a.hook, 1s);
    timer.schedule(b.hook, 1h);
    timer.schedule(c.hook, 1s);
    EXPECT_TRUE(c.hook.cancel());
    timer.newTimeout([] {}, 1s);
    StoppedTimeouts const stopped = timer.stop();
    EXPECT_EQ(stopped.hooks(), 2U);
    EXPECT_EQ(stopped.size(), 1U);
    EXPECT_FALSE(a.hook.isPending());
}

TYPED_TEST(Stop, TheRangeOwnsTheTasksAndMayBeMovedAndOutliveTheTimer) {
    auto const witness = std::make_shared<int>();
    StoppedTimeouts kept;
    {
        TypeParam timer{this->options()};
        for (int i = 0; i < 10; ++i) timer.newTimeout(Order{i, witness}, 1s);
        StoppedTimeouts stopped = timer.stop();
        StoppedTimeouts moved = std::move(stopped);
        EXPECT_TRUE(stopped.empty());  // NOLINT: a moved-from range is empty
        EXPECT_TRUE(stopped.begin() == stopped.end());
        kept = std::move(moved);
    }
    this->clock.advance(1h);
    EXPECT_EQ(kept.size(), 10U);
    EXPECT_EQ(witness.use_count(), 11);
    std::vector<Timeout> handles;
    int sum = 0;
    for (auto it = kept.begin(); it != kept.end(); it++) {
        handles.push_back((*it).timeout());
        sum += (*it).template target<Order>()->number;
        EXPECT_EQ((*it).remaining(), 1s);
    }
    EXPECT_EQ(sum, 45);
    kept = StoppedTimeouts{};
    EXPECT_EQ(witness.use_count(), 1);
    for (Timeout const& t : handles) {
        EXPECT_TRUE(t.isCancelled());
        EXPECT_EQ(t.timer(), nullptr);
    }
}

TYPED_TEST(Stop, TheDestructorDropsWhatIsPending) {
    auto const witness = std::make_shared<int>();
    Timeout t;
    {
        TypeParam timer{this->options()};
        t = timer.newTimeout([witness] { FAIL(); }, 1ms);
    }
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_TRUE(t.isCancelled());
    this->clock.advance(1h);
}

// Bug pattern: cancel-all misses entries already taken out for running.
TEST(Stop, ReturnsWhatWasTakenOutAndWaitsBehindARunningTask) {
    SettableClock clock;
    Latch entered;
    Latch leave;
    SystemTimer timer{{.clock = clock}};
    std::atomic<int> runs{0};
    for (int i = 0; i < 10; ++i) {
        timer.newTimeout(
            [&] {
                ++runs;
                entered.open();
                leave.wait();
            },
            1ms);
    }
    clock.add(1ms);
    entered.wait();
    std::optional<StoppedTimeouts> stopped;
    std::thread stopping{[&] { stopped = timer.stop(); }};
    while (timer.pendingTimeouts() > 0) std::this_thread::yield();
    leave.open();
    stopping.join();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(stopped->size(), 9U);
}

}  // namespace
}  // namespace timingwheel::test
