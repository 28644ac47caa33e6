#include "apps/demo/Ledger.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <gtest/gtest.h>

#include <chrono>

namespace demo {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kPast{};

/// One timeout for each outcome but rejected, on a timer and, as the load keeps it, in a ledger.
class LedgerOfATimer : public ::testing::Test {
protected:
    LedgerOfATimer() {
        timer.newTimeout([this] { ledger.run(Kind::order, kPast); }, 1ms);
        timer.newTimeout([] {}, 1ms).cancel();
        timer.newTimeout([] {}, 1h);
        for (int i = 0; i < 3; ++i) ledger.accepted(Kind::order);
        ledger.cancelled(Kind::order);
        clock.advance(1ms);
        ledger.returned(Kind::order, timer.stop().size());
    }

    Ledger ledger;
    timingwheel::ManualClock clock;
    timingwheel::ManualTimer timer{{.clock = clock}};
};

TEST_F(LedgerOfATimer, BalancesAndAgreesWithTheTimersStatistics) {
    EXPECT_TRUE(ledger.isBalanced());
    EXPECT_TRUE(ledger.agreesWith(timer.statistics()));
    EXPECT_EQ(ledger.total(), (Account{.accepted = 3, .run = 1, .cancelled = 1, .returned = 1}));
}

TEST_F(LedgerOfATimer, DoesNotBalanceWhenATimeoutIsLost) {
    ledger.accepted(Kind::order);
    EXPECT_FALSE(ledger.isBalanced());
    EXPECT_FALSE(ledger.agreesWith(timer.statistics()));
}

TEST_F(LedgerOfATimer, DoesNotBalanceWhenATimeoutHasTwoOutcomes) {
    ledger.run(Kind::order, kPast);
    EXPECT_FALSE(ledger.isBalanced());
    EXPECT_FALSE(ledger.agreesWith(timer.statistics()));
}

TEST_F(LedgerOfATimer, DoesNotBalanceWhenALostOneAndADuplicateMakeUpForEachOther) {
    ledger.accepted(Kind::request);
    ledger.run(Kind::order, kPast);
    EXPECT_TRUE(ledger.total().isBalanced());
    EXPECT_FALSE(ledger.isBalanced());
}

TEST_F(LedgerOfATimer, CountsWhatRanEarly) {
    ledger.accepted(Kind::heartbeat);
    ledger.run(Kind::heartbeat, timingwheel::Clock::steady().now() + 1h);
    ledger.runAgain(timingwheel::Clock::steady().now() + 1h);
    EXPECT_EQ(ledger.early(), 2U);
    EXPECT_TRUE(ledger.isBalanced());
}

TEST_F(LedgerOfATimer, DisagreesWithATimerThatCountsOtherwise) {
    ledger.accepted(Kind::order);
    ledger.cancelled(Kind::order);
    EXPECT_TRUE(ledger.isBalanced());
    EXPECT_FALSE(ledger.agreesWith(timer.statistics()));
}

TEST_F(LedgerOfATimer, DisagreesAboutAPushBackThatTheTimerDoesNotKnow) {
    ledger.pushedBack();
    EXPECT_TRUE(ledger.isBalanced());
    EXPECT_FALSE(ledger.agreesWith(timer.statistics()));
}

TEST_F(LedgerOfATimer, DisagreesAboutARunThatTheTimerDoesNotKnow) {
    ledger.runAgain(kPast);
    EXPECT_TRUE(ledger.isBalanced());
    EXPECT_FALSE(ledger.agreesWith(timer.statistics()));
}

}  // namespace
}  // namespace demo
