#include "components/kafka/daemon/Snapshot.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using timingwheel::kafka::Due;
using timingwheel::kafka::Earliest;
using timingwheel::kafka::Forecast;
using timingwheel::kafka::Snapshot;

Record state(std::string_view id, std::string_view at, std::string_view to = "orders") {
    return record(id, {{"timingwheel-at", at}, {"timingwheel-to", to}});
}

std::map<std::string, std::pair<std::int64_t, std::string>> pending(Snapshot const& snapshot) {
    std::map<std::string, std::pair<std::int64_t, std::string>> all;
    snapshot.visit([&](std::string_view id, Due due) {
        all.emplace(id, std::pair{due.at, std::string{due.to}});
    });
    return all;
}

TEST(Snapshot, HasTheLastRecordOfEachId) {
    Snapshot snapshot;
    snapshot.take(state("a", "1"));
    snapshot.take(state("b", "2", "mails"));
    snapshot.take(state("a", "3", "mails"));
    EXPECT_THAT(pending(snapshot),
                ElementsAre(Pair("a", Pair(3, "mails")), Pair("b", Pair(2, "mails"))));
}

TEST(Snapshot, HasNothingThatHasEndedUnlessItIsScheduledAgain) {
    Snapshot snapshot;
    snapshot.take(state("a", "1"));
    snapshot.take(state("b", "2"));
    snapshot.take(record("a", {}, std::nullopt));
    snapshot.take(record("never there", {}, std::nullopt));
    EXPECT_THAT(pending(snapshot), ElementsAre(Pair("b", Pair(2, "orders"))));
    snapshot.take(state("a", "3"));
    EXPECT_THAT(pending(snapshot),
                ElementsAre(Pair("a", Pair(3, "orders")), Pair("b", Pair(2, "orders"))));
}

TEST(Snapshot, LeavesOutThePositionAndWhatNoWorkerHasWritten) {
    Snapshot snapshot;
    snapshot.take(record("", {}, "17"));
    EXPECT_EQ(snapshot.foreign(), 0U);
    snapshot.take(state("a", "1"));
    snapshot.take(state("a", "soon"));  // the worker goes on with the first
    snapshot.take(record(std::nullopt, {}));
    EXPECT_THAT(pending(snapshot), ElementsAre(Pair("a", Pair(1, "orders"))));
    EXPECT_EQ(snapshot.foreign(), 2U);
}

TEST(Snapshot, IsListedByTimeAndThenById) {
    std::vector<std::pair<std::string, std::int64_t>> const added{
        {"d", 5}, {"c", 5}, {"late", 9}, {"a", 2}, {"b", 5}, {"later", 10}};
    for (std::size_t limit = 1; limit <= added.size() + 1; ++limit) {
        Earliest earliest{limit};
        for (auto const& [id, at] : added) earliest.add(id, {at, "orders"});
        std::vector<std::string> ids;
        for (auto const& timer : earliest.timers()) ids.push_back(timer.id);
        std::vector<std::string> expected{"a", "b", "c", "d", "late", "later"};
        if (limit < expected.size()) expected.resize(limit);
        EXPECT_EQ(ids, expected);
        EXPECT_EQ(earliest.count(), added.size());
    }
}

TEST(Snapshot, IsForecastInTheFirstRowThatReachesATimer) {
    constexpr std::int64_t kMinute = 60'000;
    constexpr std::int64_t kHour = 60 * kMinute;
    constexpr std::int64_t kDay = 24 * kHour;
    Forecast forecast{.now = kNow};
    EXPECT_EQ(forecast.farthest, std::nullopt);
    std::size_t row = 0;
    // Each bound belongs to the row that ends there.
    for (auto const bound :
         {std::int64_t{0}, kMinute, kHour, kDay, 7 * kDay, 30 * kDay, 36'600 * kDay}) {
        forecast.add(kNow + bound);
        EXPECT_EQ(forecast.rows[row].timers, row == 0 ? 1U : 2U) << row;
        if (++row < forecast.rows.size()) {
            forecast.add(kNow + bound + 1);
            EXPECT_EQ(forecast.rows[row].timers, 1U) << row;
        }
    }
    EXPECT_EQ(forecast.farthest, kNow + 36'600 * kDay);
    forecast.add(0);
    EXPECT_EQ(forecast.rows[0].timers, 2U);
    forecast.add(INT64_MAX);
    EXPECT_EQ(forecast.rows[6].timers, 3U);
    EXPECT_EQ(forecast.farthest, INT64_MAX);
}

}  // namespace
}  // namespace timingwheel::test::kafka
