// Handles that outlive their HashedWheelTimer.

#include <support/Handles.h>
#include <support/HashedWheel.h>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

// Shows G11.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using HashedWheelHandle = OfHashedWheel;

// G11
TEST_F(HashedWheelHandle, TellsTheTruthWhenTheTimerIsGone) {
    auto timer = std::make_unique<HashedWheelTimer>(options());
    Timeout const expired = timer->newTimeout([] {}, 50ms);
    Timeout const dropped = timer->newTimeout([] {}, 1h);
    Timeout const cancelled = timer->newTimeout(std::make_shared<ATask>(), 1h);
    Timeout const unseen = timer->newTimeout([] {}, 2h);
    clock.advance(100ms);
    EXPECT_TRUE(cancelled.cancel());
    nanoseconds const left = dropped.remaining();
    EXPECT_GT(left, 1h - 101ms);
    timer.reset();
    clock.advance(1h);
    EXPECT_EQ(answersOf(expired), kExpired);
    EXPECT_TRUE(expired.isDone());
    for (Timeout const& t : {dropped, cancelled, unseen}) EXPECT_EQ(answersOf(t), kCancelled);
    EXPECT_EQ(dropped.remaining(), left);  // what was left when it stopped
    for (Timeout const& t : {expired, dropped, cancelled, unseen}) {
        EXPECT_EQ(t.timer(), nullptr);
        EXPECT_EQ(t.task(), nullptr);
        EXPECT_FALSE(t.cancel());
        EXPECT_FALSE(t.cancelAndWait());
        EXPECT_FALSE(printed(t).empty());
    }
}

// What stop() returned may outlive the timer, and its clock.
TEST_F(HashedWheelHandle, OfAStoppedTimeoutOutlivesTimerAndClock) {
    StoppedTimeouts kept;
    auto const witness = std::make_shared<int>();
    {
        ManualClock brief;
        HashedWheelTimer timer{{.clock = brief}};
        timer.newTimeout([witness] {}, 1h);
        brief.advance(100ms);
        kept = timer.stop();
    }
    ASSERT_EQ(kept.size(), 1U);
    Timeout const t = (*kept.begin()).timeout();
    EXPECT_GT(t.remaining(), 1h - 101ms);
    EXPECT_EQ(witness.use_count(), 2);
    kept = {};
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_TRUE(t.isReturned());
}

}  // namespace
}  // namespace timingwheel::test
