#include "core/driver/book/TimeoutCounters.h"

#include <gtest/gtest.h>

namespace timingwheel::detail {
namespace {

TEST(TimeoutCounters, EachIsAddedToItsOwnStatistic) {
    TimeoutCounters const counters{.scheduled = 1,
                                   .fired = 2,
                                   .runs = 3,
                                   .cancelled = 4,
                                   .returned = 5,
                                   .rejected = 6,
                                   .rescheduled = 7};
    TimerStatistics statistics;
    counters.readInto(statistics);
    counters.readInto(statistics);  // of another keeper
    EXPECT_EQ(statistics.scheduled, 2U);
    EXPECT_EQ(statistics.fired, 4U);
    EXPECT_EQ(statistics.runs, 6U);
    EXPECT_EQ(statistics.cancelled, 8U);
    EXPECT_EQ(statistics.returned, 10U);
    EXPECT_EQ(statistics.rejected, 12U);
    EXPECT_EQ(statistics.rescheduled, 14U);
}

}  // namespace
}  // namespace timingwheel::detail
