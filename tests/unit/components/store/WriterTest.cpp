// What the writer makes of its mail, on a disk in memory: without another thread.

#include "PowerCut.h"
#include "components/store/Writer.h"
#include "core/base/TimeArithmetic.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <utility>

namespace timingwheel::store {
namespace {

using namespace std::chrono_literals;

// One whose handler has thrown is pending, also for changes that come with the news.
TEST(Writer, ReplacesWhatHasThrownWithTheSameMail) {
    constexpr DurableTimer::TimePoint kNoon{20'000 * 24h + 12h};
    std::int64_t const deadline = detail::deadlineToMilliseconds(kNoon + 1s);
    test::PowerCut disk{1};
    ManualClock clock{Clock::wallTime(kNoon), Clock::Kind::wall};
    ManualClock steady;
    Shared shared{std::in_place_type<ManualTimer>,
                  DurableTimerOptions{
                      .clock = clock, .retryClock = steady, .fileSystem = test::PowerCut::kName}};
    Key const key = TimeoutTable{"timeouts.db", test::PowerCut::kName}.insert("a", deadline, "old");
    Writer writer{shared, "timeouts.db"};
    clock.advance(1s);
    ASSERT_EQ(shared.due.take()->key, key);
    shared.inbox.put(key, &Mail::failed);
    std::future<bool> wasPending =
        shared.inbox.append(Change{Change::Kind::schedule, "a", deadline, "new", {}});
    shared.inbox.close();
    shared.inbox.end();
    writer.run();
    EXPECT_TRUE(wasPending.get());
    EXPECT_EQ(shared.pending, 1U);
}

}  // namespace
}  // namespace timingwheel::store
