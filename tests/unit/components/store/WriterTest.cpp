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

class WriterTest : public testing::Test {
protected:
    static constexpr DurableTimer::TimePoint kNoon{20'000 * 24h + 12h};
    std::int64_t const deadline = detail::deadlineToMilliseconds(kNoon + 1s);
    test::PowerCut disk{1};
    ManualClock clock{Clock::wallTime(kNoon), Clock::Kind::wall};
    ManualClock steady;
    Shared shared{std::in_place_type<ManualTimer>,
                  DurableTimerOptions{
                      .clock = clock, .retryClock = steady, .fileSystem = test::PowerCut::kName}};

    Key insert(char const* payload) {
        return TimeoutTable{"timeouts.db", test::PowerCut::kName}.insert("a", deadline, payload);
    }
    /// Has the writer do a change that comes with the news that a handler has thrown.
    bool change(Change::Kind kind, Writer& writer, Key failed) {
        shared.inbox.put(failed, &Mail::failed);
        std::future<bool> wasPending = shared.inbox.append(Change{kind, "a", deadline, "new", {}});
        shared.inbox.close();
        shared.inbox.end();
        writer.run();
        return wasPending.get();
    }
};

// One whose handler has thrown is pending, also for changes that come with the news.
TEST_F(WriterTest, ReplacesWhatHasThrownWithTheSameMail) {
    Key const key = insert("old");
    Writer writer{shared, "timeouts.db"};
    clock.advance(1s);
    ASSERT_EQ(shared.due.take()->key, key);
    EXPECT_TRUE(change(Change::Kind::schedule, writer, key));
    EXPECT_EQ(shared.pending, 1U);
}

// It is, too, while the handler of a newer one of its id runs.
TEST_F(WriterTest, CancelsWhatHasThrownBehindANewerOneThatIsDue) {
    Key const old = insert("old");
    Key const newer = insert("newer");
    Writer writer{shared, "timeouts.db"};
    clock.advance(1s);
    ASSERT_EQ(shared.due.take()->key, old);
    ASSERT_EQ(shared.due.take()->key, newer);
    EXPECT_TRUE(change(Change::Kind::cancel, writer, old));
    EXPECT_EQ(shared.pending, 0U);
}

}  // namespace
}  // namespace timingwheel::store
