#include <support/TestTimers.h>
#include <timingwheel/StoppedTimeouts.h>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

template <class T>
using Stop = OfWheelTimers<T>;
TYPED_TEST_SUITE(Stop, WheelTimers, NamesOfTimers);

static_assert(std::is_nothrow_move_constructible_v<StoppedTimeouts>);
static_assert(!std::is_copy_constructible_v<StoppedTimeouts>);

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
