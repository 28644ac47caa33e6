#include "components/kafka/daemon/Delivery.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using timingwheel::kafka::deliverDue;
using timingwheel::kafka::endRecurrence;
using timingwheel::kafka::Output;
using timingwheel::kafka::Outputs;
using timingwheel::kafka::OwnRecord;
using timingwheel::kafka::PendingTimers;
using timingwheel::kafka::Tally;

using Kind = Output::Kind;

class DeliveryTest : public ::testing::Test {
protected:
    void schedule(std::string_view id, std::int64_t at, std::vector<Header> rule = {}) {
        Command command = scheduleCommand(id, at);
        command.rule = std::move(rule);
        timers.schedule(command);
    }
    /// In a transaction of its own: of what is delivered, the ids and times.
    std::vector<std::pair<std::string, std::int64_t>> deliver(std::int64_t now,
                                                              std::size_t atMost = 10) {
        outputs.clear();
        deliverDue(timers, {"timers.state/3", atMost, 1'000'000}, now, 8, outputs);
        std::vector<std::pair<std::string, std::int64_t>> delivered;
        for (Output const& output : outputs.all())
            if (output.kind == Kind::delivery)
                delivered.emplace_back(output.timer->id(), output.at);
        return delivered;
    }
    auto counted(std::uint64_t Tally::*as) {
        return std::ranges::count(outputs.all(), as, &Output::countsAs);
    }
    std::vector<Kind> written() {
        std::vector<Kind> kinds;
        for (Output const& output : outputs.all()) kinds.push_back(output.kind);
        return kinds;
    }
    std::optional<std::int64_t> next(std::string_view id) {
        auto const* const timer = timers.find(id);
        return timer == nullptr ? std::nullopt : std::optional{timer->at};
    }

    PendingTimers timers{kNow};
    Outputs outputs;
};

std::vector<Header> every(std::string_view length, std::string_view missed = "skip") {
    return {{"timingwheel-every", length}, {"timingwheel-missed", missed}};
}

TEST_F(DeliveryTest, OfATimerThatDoesNotRecurIsItsEnd) {
    schedule("a", kNow + 5);
    schedule("b", kNow + 5);
    EXPECT_THAT(deliver(kNow + 4), IsEmpty());
    EXPECT_THAT(written(), IsEmpty());
    deliver(kNow + 5);
    EXPECT_THAT(written(),
                ElementsAre(Kind::delivery, Kind::tombstone, Kind::delivery, Kind::tombstone));
    auto const& all = outputs.all();
    EXPECT_EQ(all[0].step, all[1].step);
    EXPECT_NE(all[1].step, all[2].step);
    EXPECT_EQ(all[0].next, 8);
    EXPECT_EQ(timers.size(), 0U);
    EXPECT_EQ(counted(&Tally::delivered), 2);
}

TEST_F(DeliveryTest, OfATimerThatRecursGoesWithItsNextTime) {
    schedule("a", kNow + 5, every("1000"));
    EXPECT_THAT(deliver(kNow + 7), ElementsAre(Pair("a", kNow + 5)));
    ASSERT_THAT(written(), ElementsAre(Kind::delivery, Kind::recurrence));
    auto const& all = outputs.all();
    EXPECT_EQ(all[0].step, all[1].step);
    EXPECT_EQ(all[1].at, kNow + 1'005);
    EXPECT_EQ(all[1].timer->rule(), every("1000"));  // which a new owner needs
    EXPECT_EQ(next("a"), kNow + 1'005);
    EXPECT_THAT(deliver(kNow + 1'004), IsEmpty());
    EXPECT_THAT(deliver(kNow + 1'005), ElementsAre(Pair("a", kNow + 1'005)));
    EXPECT_EQ(counted(&Tally::delivered), 1);
}

TEST_F(DeliveryTest, SkipsWhatHasPassed) {
    schedule("a", kNow + 5, every("1000"));
    EXPECT_THAT(deliver(kNow + 3'500), ElementsAre(Pair("a", kNow + 5)));
    EXPECT_THAT(deliver(kNow + 3'500), IsEmpty());
    EXPECT_EQ(next("a"), kNow + 4'005);
}

// One at a time: so it delays nobody else.
TEST_F(DeliveryTest, CatchesUpInOrder) {
    schedule("a", kNow + 5, every("1000", "catch-up"));
    schedule("b", kNow + 1'500);
    EXPECT_THAT(deliver(kNow + 2'500), ElementsAre(Pair("a", kNow + 5), Pair("b", kNow + 1'500)));
    EXPECT_EQ(timers.nextExpiration(), kNow + 1'005);  // so the worker does not wait
    EXPECT_THAT(deliver(kNow + 2'500), ElementsAre(Pair("a", kNow + 1'005)));
    EXPECT_THAT(deliver(kNow + 2'500), ElementsAre(Pair("a", kNow + 2'005)));
    EXPECT_THAT(deliver(kNow + 2'500), IsEmpty());
    EXPECT_EQ(next("a"), kNow + 3'005);
}

TEST_F(DeliveryTest, ComesOnceIfTheClockIsSetBack) {
    schedule("a", kNow + 5, every("1000"));
    deliver(kNow + 5);
    EXPECT_THAT(deliver(kNow - 60'000), IsEmpty());
    EXPECT_THAT(deliver(kNow + 1'004), IsEmpty());
    EXPECT_THAT(deliver(kNow + 1'005), ElementsAre(Pair("a", kNow + 1'005)));
}

TEST_F(DeliveryTest, GoesOnFromWhereATimerWasPushedBackTo) {
    schedule("a", kNow + 5, every("1000"));
    timers.pushBack(*timers.find("a"), kNow + 700);
    EXPECT_THAT(deliver(kNow + 700), ElementsAre(Pair("a", kNow + 700)));
    EXPECT_EQ(next("a"), kNow + 1'700);
}

TEST_F(DeliveryTest, OfTheLastTimeIsTheEnd) {
    // The year 1970, as kNow.
    schedule("a", kNow + 5, {{"timingwheel-calendar", "1970-01-01 00:20"}});
    deliver(kNow + 5);
    EXPECT_EQ(next("a"), 1'200'000);
    deliver(1'200'000);
    EXPECT_THAT(written(), ElementsAre(Kind::delivery, Kind::tombstone));
    EXPECT_EQ(timers.size(), 0U);
}

// A worker that knows fewer zones than the one that took the command in.
TEST_F(DeliveryTest, EndsATimerWhoseRuleCannotBeReadAndSaysSo) {
    keepsZones();
    schedule("a", kNow + 5,
             {{"timingwheel-cron", "0 9 * * *"}, {"timingwheel-zone", "Mars/Olympus"}});
    EXPECT_THAT(deliver(kNow + 5), ElementsAre(Pair("a", kNow + 5)));
    ASSERT_THAT(written(), ElementsAre(Kind::delivery, Kind::deadLetter, Kind::tombstone));
    auto const& all = outputs.all();
    EXPECT_EQ(all[0].step, all[2].step);
    EXPECT_EQ(all[1].step, all[2].step);
    OwnRecord const& letter = *all[1].record;
    EXPECT_EQ(letter.key, "a");
    EXPECT_THAT(letter.headers, Contains(Pair("timingwheel-id", "a")));
    EXPECT_THAT(letter.headers, Contains(Pair("timingwheel-at", std::to_string(kNow + 5))));
    EXPECT_THAT(letter.headers, Contains(Pair("timingwheel-to", "orders")));
    EXPECT_THAT(letter.headers, Contains(Pair("timingwheel-cron", "0 9 * * *")));
    EXPECT_THAT(letter.headers, Contains(Pair("timingwheel-from", "timers.state/3")));
    EXPECT_THAT(letter.headers.front().second.value_or(""), "a");
    std::string reason;
    for (auto const& [name, value] : letter.headers)
        if (name == "timingwheel-reason") reason = value.value_or("");
    EXPECT_THAT(reason, HasSubstr("unknown time zone \"Mars/Olympus\""));
    EXPECT_EQ(timers.size(), 0U);
    EXPECT_EQ(all[0].countsAs, &Tally::delivered);
    EXPECT_EQ(all[1].countsAs, &Tally::failed);
}

TEST_F(DeliveryTest, EndsATimerWhoseNextTimeTheStateDoesNotTake) {
    schedule("a", kNow + 5, every("1000"));
    deliver(kNow + 5);
    Output& output = outputs.all().back();
    endRecurrence(output, timers, outputs);
    EXPECT_THAT(written(), ElementsAre(Kind::delivery, Kind::tombstone));
    EXPECT_EQ(output.timer->id(), "a");  // which lives until the transaction ends
    EXPECT_EQ(timers.size(), 0U);
}

}  // namespace
}  // namespace timingwheel::test::kafka
