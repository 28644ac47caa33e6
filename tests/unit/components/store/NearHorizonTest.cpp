// What is near, in memory and in the wheel: without a file or a thread.

#include "components/store/NearHorizon.h"
#include "core/base/TimeArithmetic.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::store {
namespace {

using namespace std::chrono_literals;

/// At noon of some day. Memory has room for four rows.
class NearHorizonTest : public testing::Test {
protected:
    static constexpr DurableTimer::TimePoint kNoon{20'000 * 24h + 12h};

    static SharedRow row(Key key, std::chrono::milliseconds after, std::string payload = {}) {
        std::int64_t const deadline = detail::deadlineToMilliseconds(kNoon + after);
        return std::make_shared<Row const>(Row{key, deadline, "", std::move(payload)});
    }
    /// What is due, and waits for a thread.
    Keys takeDue() {
        SharedRow const last = row(0, 0s);
        shared.due.add(last);
        Keys keys;
        for (SharedRow next; (next = shared.due.take()) != last;) keys.push_back(next->key);
        return keys;
    }
    /// Those whose handlers are to be called again.
    Keys takeAgain() { return shared.inbox.take(true).again; }

    int errors = 0;
    ManualClock clock{Clock::wallTime(kNoon), Clock::Kind::wall};
    ManualClock steady;
    Shared shared{std::in_place_type<ManualTimer>,
                  DurableTimerOptions{.maxRead = 4,
                                      .maxBytes = 100,
                                      .errorHandler = [this](DurableFailure const&) { ++errors; },
                                      .clock = clock,
                                      .retryClock = steady}};
    NearHorizon horizon{shared};
};

TEST_F(NearHorizonTest, HandsOverWhatIsDue) {
    horizon.add({row(1, 1s), row(2, 2s)});
    clock.advance(1s);
    EXPECT_EQ(takeDue(), Keys{1});
    EXPECT_FALSE(horizon.disarm(1));
    EXPECT_TRUE(horizon.disarm(2));
    horizon.commit();
    clock.advance(1s);
    EXPECT_EQ(takeDue(), Keys{});
}

TEST_F(NearHorizonTest, ReachesAsFarAsItWasRead) {
    EXPECT_FALSE(horizon.reaches(row(1, 1s)->place()));
    horizon.add({row(1, 1s), row(5, 2s)});
    EXPECT_TRUE(horizon.reaches(row(4, 2s)->place()));
    EXPECT_FALSE(horizon.reaches(row(6, 2s)->place()));
    horizon.moveEnd(row(1, 3s)->place());
    horizon.moveEnd(row(1, 1s)->place());
    EXPECT_EQ(horizon.end(), row(1, 3s)->place());
    EXPECT_TRUE(horizon.disarm(6)) << "what is far is pending";
}

TEST_F(NearHorizonTest, ChangesWhatItsGroupDoesOnceItIsCommitted) {
    horizon.add({row(1, 1s), row(2, 2s)});
    clock.advance(1s);
    horizon.drop(1);
    EXPECT_TRUE(horizon.disarm(2));
    EXPECT_TRUE(horizon.disarm(2));
    horizon.arm(row(2, 4s));
    horizon.arm(row(3, 3s));
    horizon.arm(row(4, 3s));
    EXPECT_TRUE(horizon.disarm(4));
    horizon.commit();
    EXPECT_EQ(horizon.room().rows, 2U);
    clock.advance(2s);
    EXPECT_EQ(takeDue(), Keys{3});
    clock.advance(1s);
    EXPECT_EQ(takeDue(), Keys{2});
}

TEST_F(NearHorizonTest, ChangesNothingIfItsGroupIsRolledBack) {
    horizon.add({row(1, 1s), row(2, 2s), row(3, 1s)});
    clock.advance(1s);
    horizon.retry(3);
    horizon.drop(1);
    EXPECT_TRUE(horizon.disarm(2));
    EXPECT_TRUE(horizon.disarm(3));
    horizon.arm(row(4, 2s));
    horizon.rollBack();
    clock.advance(1s);
    EXPECT_EQ(takeDue(), (Keys{1, 2}));
    steady.advance(1s);
    EXPECT_EQ(takeAgain(), Keys{3});
    EXPECT_FALSE(horizon.disarm(3));
}

TEST_F(NearHorizonTest, WaitsAgainForADeadlineThatIsAheadAgain) {
    horizon.add({row(1, 1s)});
    clock.advance(1s);
    EXPECT_EQ(takeDue(), Keys{1});
    clock.jump(-1s);
    horizon.armEarly(1);
    EXPECT_TRUE(horizon.disarm(1));
    horizon.rollBack();
    horizon.armEarly(2);  // is not here any more
    clock.advance(1s);
    EXPECT_EQ(takeDue(), Keys{1});
}

TEST_F(NearHorizonTest, DoublesTheDelayUpToSixTimes) {
    horizon.add({row(1, 1ms)});
    clock.advance(1ms);
    for (auto const delay : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
        EXPECT_EQ(takeDue(), Keys{1});
        horizon.retry(1);
        steady.advance(delay - 1ms);
        EXPECT_EQ(takeAgain(), Keys{}) << delay.count();
        steady.advance(1ms);
        EXPECT_EQ(takeAgain(), Keys{1}) << delay.count();
        horizon.queueAgain(1);
        EXPECT_EQ(horizon.nextAgain(), std::optional<Key>{1});
        horizon.callAgain(row(1, 0s));
    }
}

TEST_F(NearHorizonTest, HasRoomForWhatWasReadAndAsMuchForWhatIsCalledAgain) {
    horizon.add({row(1, 0s), row(2, 0s, std::string(60, 'x')), row(3, 1s)});
    EXPECT_EQ(horizon.room().rows, 1U);
    EXPECT_EQ(horizon.room().bytes, 40U);
    EXPECT_FALSE(horizon.hasRoom(0)) << "more than half of the rows, and of the bytes";
    horizon.finish(2);
    EXPECT_EQ(horizon.room().bytes, 100U);
    EXPECT_TRUE(horizon.hasRoom(0));
    horizon.retry(1);
    EXPECT_EQ(horizon.room().rows, 3U);
    EXPECT_TRUE(horizon.hasRoom(2));
    EXPECT_FALSE(horizon.hasRoom(3)) << "with one that is called again";
    horizon.forget(1);
    EXPECT_TRUE(horizon.hasRoom(3));
}

TEST_F(NearHorizonTest, CallsAgainWhatMemoryHasRoomFor) {
    for (Key key = 1; key <= 3; ++key) {
        horizon.add({row(key, 0s)});
        horizon.retry(key);
        horizon.queueAgain(key);
    }
    horizon.forget(1);
    EXPECT_EQ(horizon.nextAgain(), std::optional<Key>{2});
    horizon.callAgain(row(2, 0s, std::string(100, 'x')));
    EXPECT_EQ(horizon.nextAgain(), std::nullopt);
    horizon.finish(2);
    EXPECT_EQ(horizon.nextAgain(), std::optional<Key>{3});
    EXPECT_EQ(horizon.nextAgain(), std::nullopt);
}

TEST_F(NearHorizonTest, ReportsWhatDoesNotGetIntoTheWheel) {
    static_cast<void>(shared.timer->stop());
    horizon.add({row(1, 1s)});
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(horizon.room().rows, 3U);
}

}  // namespace
}  // namespace timingwheel::store
