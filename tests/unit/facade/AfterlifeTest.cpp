// Life after the end, as a table: every public operation times every order in which timer, clock,
// executor, observer and thread may die.

#include <support/AfterlifeTable.h>
#include <support/Figure.h>
#include <support/PublicHeaders.h>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace timingwheel::test::afterlife {
namespace {

// G11
TEST(Afterlife, EveryOperationAnswersAsDocumentedInEveryOrderOfDying) {
    Rows const rows = allRows();
    std::size_t cells = 0;
    std::size_t wrong = 0;
    for (Setting const& setting : allSettings())
        cells += live(setting, rows, [&](std::string const& what) {
            ++wrong;
            ADD_FAILURE() << what;
        });
    figure("G11", "operations after the end that answer otherwise than documented", wrong,
           exactly(0), {cells, cells});
}

TEST(Afterlife, HasEveryOrderThatTheHeadersAllow) {
    using enum Death;
    EXPECT_EQ(allOrders({timer, clock}).size(), 1U);
    EXPECT_EQ(allOrders({stop, timer, executor}).size(), 2U);
    EXPECT_EQ(allOrders({timer, clock, executor, observer, thread}).size(), 30U);
    EXPECT_EQ(allOrders({stop, timer, clock, executor, observer, thread}).size(), 48U);
    EXPECT_EQ(allSettings().size(), 640U);
}

TEST(AfterlifeTable, HasEveryPublicMember) {
    // Made and destroyed by the world itself, or called by timers and clocks only.
    std::set<std::string> covered{"Executor::Executor",
                                  "Executor::execute",
                                  "Executor::isInline",
                                  "TimerObserver::TimerObserver",
                                  "TimerObserver::onEvent",
                                  "TimerObserver::~TimerObserver",
                                  "Clock::Clock",
                                  "Clock::coarseLag",
                                  "Clock::coarseNow",
                                  "Clock::makeWaiter",
                                  "Clock::subscribe",
                                  "Clock::Waiter::Waiter",
                                  "Clock::Waiter::waitUntil",
                                  "Clock::Waiter::wake",
                                  "Clock::Waiter::~Waiter",
                                  "Clock::~Clock",
                                  "ClockListener::isInsideTask",
                                  "ClockListener::nextExpiration",
                                  "ClockListener::runDue",
                                  "ClockListener::wakeUps",
                                  "ClockListener::~ClockListener",
                                  "ManualClock::ManualClock",
                                  "ManualClock::makeWaiter",
                                  "ManualClock::subscribe",
                                  "ManualClock::~ManualClock",
                                  "Timer::~Timer",
                                  "WheelTimer::~WheelTimer",
                                  "SystemTimer::SystemTimer",
                                  "SystemTimer::~SystemTimer",
                                  "LoopTimer::LoopTimer",
                                  "LoopTimer::~LoopTimer",
                                  "ManualTimer::ManualTimer",
                                  "ManualTimer::~ManualTimer",
                                  "HashedWheelTimer::HashedWheelTimer",
                                  "HashedWheelTimer::~HashedWheelTimer"};
    for (Row const& row : allRows()) covered.insert(row.members.begin(), row.members.end());
    std::set<std::string> declared;
    for (char const* const header :
         {"Timeout", "TimerHook", "Executor", "TimerObserver", "StoppedTimeouts", "Clock",
          "ManualClock", "Timer", "WheelTimer", "SystemTimer", "LoopTimer", "ManualTimer",
          "HashedWheelTimer"})
        declared.merge(membersOf(kRoot / "include/timingwheel" / (std::string{header} + ".h")));
    for (std::string const& member : declared)
        EXPECT_TRUE(covered.contains(member)) << member << " has no row";
    for (std::string const& member : covered)
        EXPECT_TRUE(declared.contains(member)) << member << " is in no header";
    EXPECT_GT(declared.size(), 100U);
}

}  // namespace
}  // namespace timingwheel::test::afterlife
