#include "components/kafka/daemon/Intake.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using timingwheel::kafka::Intake;
using timingwheel::kafka::Output;
using timingwheel::kafka::Outputs;
using timingwheel::kafka::OwnRecord;
using timingwheel::kafka::PendingTimers;
using timingwheel::kafka::Tally;

std::string headerOf(OwnRecord const& record, std::string_view name) {
    for (auto const& [key, value] : record.headers)
        if (key == name) return value.value_or("(none)");
    return "(missing)";
}

class IntakeTest : public ::testing::Test {
protected:
    void take(Record record) {
        record.offset = 7;
        intake.take(record, kNow, outputs);
    }
    auto counted(std::uint64_t Tally::*as) {
        return std::ranges::count(outputs.all(), as, &Output::countsAs);
    }
    std::vector<Output::Kind> written() {
        std::vector<Output::Kind> kinds;
        for (Output const& output : outputs.all()) kinds.push_back(output.kind);
        return kinds;
    }
    std::string outcome() { return headerOf(*outputs.all().back().record, "timingwheel-outcome"); }

    PendingTimers timers{kNow};
    Outputs outputs;
    std::int64_t notKept = -1;
    Intake intake{timers,
                  {.source = "timers.commands/3",
                   .targets = {"orders", "now*"},
                   .maxPast = 4'000,
                   .maxDelay = 5'000,
                   .hasReplies = true,
                   .isOurs = [](std::string_view key) { return key != "of-others"; },
                   .refusalOf =
                       [this](std::int64_t offset) {
                           return offset == notKept ? "the state does not take it" : "";
                       },
                   .refusalOfTopic = [](std::string_view topic) -> std::string {
                       return topic == "nowhere" ? "there is no such topic" : "";
                   }}};
};

Record asking(Record record) {
    record.headers.push_back({"timingwheel-reply", "r"});
    return record;
}

Record cancel(std::string_view id) { return record(id, {{"timingwheel-command", "cancel"}}); }

Record pushBack(std::string_view id, std::string_view at) {
    return record(id, {{"timingwheel-command", "push-back"}, {"timingwheel-at", at}});
}

TEST_F(IntakeTest, WritesWhatACommandMakesOfATimer) {
    take(schedule("a", "1000100"));
    EXPECT_THAT(written(), ElementsAre(Output::Kind::state));
    EXPECT_EQ(outputs.all()[0].at, 1'000'100);
    take(pushBack("a", "1000200"));
    EXPECT_EQ(outputs.all()[1].at, 1'000'200);
    EXPECT_EQ(outputs.all()[0].at, 1'000'100);  // as it was then
    take(cancel("a"));
    EXPECT_THAT(written(),
                ElementsAre(Output::Kind::state, Output::Kind::state, Output::Kind::tombstone));
    EXPECT_EQ(outputs.all()[2].timer->id(), "a");  // which lives until the transaction ends
    EXPECT_EQ(timers.size(), 0U);
    EXPECT_EQ(counted(&Tally::scheduled), 1);
    EXPECT_EQ(counted(&Tally::pushedBack), 1);
    EXPECT_EQ(counted(&Tally::cancelled), 1);
}

TEST_F(IntakeTest, CancelsAndReplacesWhatIsFar) {
    for (char const* const id : {"a", "b"}) timers.addFar(scheduleCommand(id, kNow + 100), 1);
    take(asking(cancel("a")));
    EXPECT_EQ(outcome(), "cancelled");
    ASSERT_THAT(written(), ElementsAre(Output::Kind::tombstone, Output::Kind::reply));
    EXPECT_EQ(outputs.all()[0].timer->id(), "a");
    take(asking(schedule("b", "1000200")));
    EXPECT_EQ(outcome(), "replaced");
    EXPECT_EQ(timers.size(), 1U);
    EXPECT_EQ(timers.far().size(), 0U);
}

TEST_F(IntakeTest, RepliesToWhoeverAsks) {
    take(asking(schedule("a", "1000100")));
    EXPECT_EQ(outcome(), "scheduled");
    take(asking(schedule("a", "1000200")));
    EXPECT_EQ(outcome(), "replaced");
    take(asking(pushBack("a", "1000300")));
    EXPECT_EQ(outcome(), "pushed-back");
    take(asking(cancel("a")));
    EXPECT_EQ(outcome(), "cancelled");
    take(asking(cancel("a")));
    EXPECT_EQ(outcome(), "too-late");
    take(asking(pushBack("a", "1000300")));
    EXPECT_EQ(outcome(), "too-late");
    EXPECT_EQ(counted(&Tally::tooLate), 2);
    take(asking(schedule("a", "soon")));
    EXPECT_EQ(outcome(), "refused");
    OwnRecord const& reply = *outputs.all().back().record;
    EXPECT_EQ(reply.key, "a");
    EXPECT_EQ(headerOf(reply, "timingwheel-reply"), "r");
    EXPECT_EQ(headerOf(reply, "timingwheel-command"), "schedule");
    EXPECT_THAT(headerOf(reply, "timingwheel-reason"), HasSubstr("\"soon\""));
}

TEST_F(IntakeTest, IsSilentForWhoeverDoesNotAsk) {
    take(cancel("a"));
    EXPECT_THAT(written(), ElementsAre(Output::Kind::nothing));
}

TEST_F(IntakeTest, SendsWhatItRefusesToTheDeadLettersAndGoesOn) {
    std::vector<std::pair<Record, std::string>> const refused{
        {schedule("a", "soon"), "\"soon\""},
        {schedule("a", "1005001"), "the latest is 1005000"},
        {schedule("a", "995999"), "the earliest is 996000"},
        {pushBack("a", "995999"), "the earliest is 996000"},
        {schedule("of-others", "1000100"), "murmur2"},
        {schedule("a", "1000100", "nowhere"), "there is no such topic"},
        {schedule("a", "1000100", "of-others"), "of-others: --targets allows orders, now*"},
        {record(std::nullopt, {}), "the key is empty"}};
    for (auto const& [record, reason] : refused) {
        outputs.clear();
        take(record);
        ASSERT_THAT(written(), ElementsAre(Output::Kind::deadLetter));
        EXPECT_EQ(counted(&Tally::refused), 1);
        OwnRecord const& letter = *outputs.all()[0].record;
        EXPECT_THAT(headerOf(letter, "timingwheel-reason"), HasSubstr(reason));
        EXPECT_EQ(headerOf(letter, "timingwheel-from"), "timers.commands/3/7");
        EXPECT_EQ(letter.value, "payload");
        EXPECT_EQ(letter.headers.size(), record.headers.size() + 2);
        for (auto const& [name, value] : record.headers) EXPECT_EQ(headerOf(letter, name), value);
    }
    EXPECT_EQ(timers.size(), 0U);
    take(schedule("a", "1000100"));
    EXPECT_EQ(timers.size(), 1U);
}

// Whoever scheduled it was told that it is pending.
TEST_F(IntakeTest, RefusesWhatTheStateDidNotTake) {
    take(schedule("a", "1000100"));
    notKept = 7;
    take(asking(schedule("a", "1000200")));
    EXPECT_EQ(outcome(), "refused");
    take(asking(pushBack("a", "1000300")));
    EXPECT_EQ(outcome(), "refused");
    EXPECT_EQ(timers.find("a")->at, 1'000'100);
    EXPECT_EQ(counted(&Tally::refused), 2);
}

TEST_F(IntakeTest, KeepsTogetherWhatACommandMakes) {
    take(asking(schedule("a", "1000100")));
    take(asking(cancel("a")));
    auto const& all = outputs.all();
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].step, all[1].step);
    EXPECT_EQ(all[2].step, all[3].step);
    EXPECT_NE(all[1].step, all[2].step);
    EXPECT_EQ(all[0].next, 8);  // the command's offset is 7
}

TEST_F(IntakeTest, KeepsTheRuleOfATimerUntilItIsScheduledAgain) {
    Record every = schedule("a", "1000100");
    every.headers.push_back({"timingwheel-every", "5000"});
    take(every);
    EXPECT_THAT(outputs.all()[0].timer->rule(), ElementsAre(Header{"timingwheel-every", "5000"}));
    take(pushBack("a", "1000200"));
    EXPECT_THAT(timers.find("a")->rule(), ElementsAre(Header{"timingwheel-every", "5000"}));
    every.headers.back().value = "5001";  // longer than the longest delay
    outputs.clear();
    take(every);
    EXPECT_THAT(written(), ElementsAre(Output::Kind::deadLetter));
    EXPECT_THAT(timers.find("a")->rule(), ElementsAre(Header{"timingwheel-every", "5000"}));
    take(schedule("a", "1000300"));
    EXPECT_THAT(timers.find("a")->rule(), IsEmpty());
}

TEST_F(IntakeTest, KeepsATimerWhenACommandForItIsRefused) {
    take(schedule("a", "1000100"));
    take(pushBack("a", "soon"));
    take(schedule("a", "1000200", "nowhere"));
    EXPECT_EQ(timers.find("a")->at, 1'000'100);
}

}  // namespace
}  // namespace timingwheel::test::kafka
