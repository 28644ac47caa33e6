#include <support/Folders.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/walkthrough/Story.h>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace walkthrough {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string text(Place const& place) {
    return std::to_string(place.level) + ":" + std::to_string(place.slot) + "@" +
           std::to_string(place.expiration);
}

/// "1:1@20 0:5@25 fires 25": the way of a task, in the words of the golden file.
std::string wayOf(std::size_t task, Story const& story) {
    std::string way;
    for (Frame const& frame : story.frames()) {
        if (frame.task != task) continue;
        std::string const stage = frame.stage;
        if (stage == "place" || stage == "cascade") way += text(*frame.to) + " ";
        if (stage == "run") way += "fires " + std::to_string(frame.now);
    }
    return way;
}

Frame const& last(Story const& story, std::size_t before = 0) {
    return story.frames()[story.frames().size() - 1 - before];
}

void scheduleAll(Story& story, auto const& delays) {
    for (std::int64_t const delay : delays) story.schedule(delay);
}

void runAll(Story& story) {
    while (story.wake()) {
    }
}

std::string stagesFrom(Story const& story, std::size_t first) {
    std::string stages;
    for (Frame const& frame : story.frames().subspan(first))
        stages += (stages.empty() ? "" : " ") + std::string{frame.stage};
    return stages;
}

TEST(Story, GoesTheWayThatKafkasOwnClassesGo) {
    std::ifstream golden{timingwheel::test::goldenFolder() + "/placements-t1-w20.txt"};
    std::size_t ways = 0;
    for (std::string line; std::getline(golden, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words{line};
        std::int64_t delay = 0;
        std::string way;
        words >> delay >> std::ws;
        std::getline(words, way);
        Story story;
        story.schedule(delay);
        runAll(story);
        EXPECT_EQ(wayOf(0, story), way) << delay;
        EXPECT_EQ(kExampleDelays.at(ways), delay);
        ++ways;
    }
    EXPECT_EQ(ways, kExampleDelays.size());
}

TEST(Story, RunsEveryTaskOfTheExampleAtItsDeadline) {
    Story story;
    scheduleAll(story, kExampleDelays);
    runAll(story);
    for (std::size_t task = 0; task < kExampleDelays.size(); ++task)
        EXPECT_THAT(wayOf(task, story),
                    EndsWith("fires " + std::to_string(kExampleDelays.at(task))));
    EXPECT_THAT(last(story).picture, HasSubstr(R"("heap":[])"));
    EXPECT_THAT(last(story).picture, HasSubstr(R"("ticksWalked":123456)"));
    EXPECT_THAT(last(story).picture, HasSubstr(R"("entries":[])"));
}

TEST(Story, TellsOneCascadeOfATaskOfTwentyFive) {
    Story story;
    story.schedule(25);
    EXPECT_EQ(stagesFrom(story, 0), "begin schedule place arm");
    EXPECT_TRUE(story.wake());
    EXPECT_EQ(stagesFrom(story, 4), "wake cascade");
    EXPECT_EQ(last(story).now, 20);
    EXPECT_EQ(text(*last(story).to), "0:5@25");
    EXPECT_TRUE(story.wake());
    EXPECT_EQ(stagesFrom(story, 6), "wake run");
    EXPECT_FALSE(story.wake());
    EXPECT_THAT(last(story).picture, HasSubstr(R"("wakeUps":2,"cascades":1)"));
    EXPECT_THAT(
        toJson(story.frames()[5]),
        HasSubstr(R"({"stage":"cascade","task":0,"from":{"level":1,"slot":1,"expiration":20},)"
                  R"("to":{"level":0,"slot":5,"expiration":25},"sentence":"A is due at 25)"));
}

// ---- levels as in a clock ----------------------------------------------------------------------

/// Seconds, minutes, hours. It is 9:15:40.
Story::Options clockOptions() {
    return {.levelSizes = {60, 60, 24},
            .flatSlots = 60,
            .style = Times::Style::clock,
            .start = 9 * 3'600 + 15 * 60 + 40};
}

TEST(ClockStory, HasTheSlotsThatAClockShows) {
    Story story{clockOptions()};
    scheduleAll(story, std::array{19, 25, 860, 31'460, 33'275, 164'660});
    runAll(story);
    EXPECT_EQ(wayOf(0, story), "0:59@33359 fires 33359");
    EXPECT_EQ(wayOf(1, story), "0:5@33365 fires 33365");
    EXPECT_EQ(wayOf(2, story), "1:30@34200 fires 34200");
    EXPECT_EQ(wayOf(3, story), "2:18@64800 fires 64800");
    EXPECT_EQ(wayOf(4, story), "2:18@64800 1:30@66600 0:15@66615 fires 66615");
    EXPECT_EQ(wayOf(5, story), "3:2@172800 2:7@198000 fires 198000");
}

TEST(ClockStory, SaysTimesAsAClockDoes) {
    Story story{clockOptions()};
    EXPECT_THAT(last(story).sentence,
                HasSubstr("An empty wheel at 9:15:40. Level 0 has 60 slots of 1 s."));
    EXPECT_THAT(last(story).flatSentence, HasSubstr("at 9:15:40: 60 slots of 1 s"));
    story.schedule(26'317);
    EXPECT_EQ(story.frames()[1].sentence,
              "A is scheduled at 9:15:40 with a delay of 7 h 18 min 37 s: it is due at 16:34:17.");
    EXPECT_THAT(story.frames()[2].sentence,
                HasSubstr("16:34:17 / 1 h is 16: slot 16, for 16:00:00 to 16:59:59."));
    story.schedule(86'400);
    runAll(story);
    EXPECT_THAT(last(story).picture, HasSubstr(R"({"slots":24,"granularity":86400)"));
    EXPECT_THAT(last(story).sentence, HasSubstr("due at 9:15:40 of day 2"));
    Times const clock{Times::Style::clock};
    EXPECT_EQ(clock.at(86'399), "23:59:59");
    EXPECT_EQ(clock.lasting(0), "0 s");
    EXPECT_EQ(clock.lasting(90'061), "1 d 1 h 1 min 1 s");
}

// ---- sentences ---------------------------------------------------------------------------------

TEST(Story, ArmsABucketOnce) {
    Story story;
    story.schedule(25);
    story.schedule(30);
    EXPECT_STREQ(last(story).stage, "place");
    EXPECT_THAT(last(story).sentence, HasSubstr("in the delay heap already"));
    EXPECT_THAT(last(story).picture,
                HasSubstr(R"("heap":[{"level":1,"slot":1,"expiration":20,"tasks":[0,1]}])"));
}

TEST(Story, UsesARingAgain) {
    Story story;
    story.wait(10);
    story.schedule(11);
    EXPECT_EQ(text(*last(story, 1).to), "0:1@21");
    EXPECT_THAT(last(story, 1).sentence, HasSubstr("21 mod 20 is slot 1"));
}

TEST(Story, CallsNoTaskI) {
    Story story;
    for (int task = 0; task < 26; ++task) story.schedule(5);
    for (char const* const name : {"H", "J", "Z", "A2"})
        EXPECT_THAT(last(story).picture, HasSubstr(R"({"name":")" + std::string{name} + '"'));
    EXPECT_THAT(last(story).picture, Not(HasSubstr(R"({"name":"I")")));
}

TEST(Story, TellsTwoBucketsOfOneInstantApart) {
    Story story;
    story.schedule(20);  // level 1
    story.wait(5);
    story.schedule(15);  // level 0, the same expiration
    EXPECT_THAT(last(story).sentence, HasSubstr("Another bucket stands there at 20"));
    EXPECT_TRUE(story.wake());
    EXPECT_EQ(last(story).task, 1U) << "the lowest level goes first";
    story.schedule(5);
    EXPECT_THAT(last(story).sentence, HasSubstr("awake, for what expires at 20"));
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(last(story, 1).sentence, HasSubstr("At the same instant"));
    EXPECT_THAT(last(story).picture, HasSubstr(R"("wakeUps":1)"));
}

TEST(Story, TellsWhetherACancelledTaskHadNeighboursAndWakesForTheEmptiedBucket) {
    Story story;
    story.schedule(25);
    story.schedule(30);
    EXPECT_TRUE(story.cancel(0));
    EXPECT_THAT(last(story).sentence, HasSubstr("neighbours in slot 1 of level 1"));
    EXPECT_FALSE(story.cancel(0));
    EXPECT_FALSE(story.cancel(2));
    EXPECT_TRUE(story.cancel(1));
    EXPECT_THAT(last(story).sentence, HasSubstr("is empty now, but stays in the heap"));
    EXPECT_EQ(text(*last(story).from), "1:1@20");
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(last(story).sentence, HasSubstr("nobody is in it"));
    EXPECT_FALSE(story.wake());
}

TEST(Story, CountsTheSleepFromTheLastWakeUpOrFromTheCallThatMadeItShorter) {
    for (auto const& [delay, slept] : {std::pair{300, "20 ms"}, {3, "3 ms"}}) {
        Story story;
        story.schedule(25);
        story.wait(10);
        story.schedule(delay);
        EXPECT_TRUE(story.wake());
        EXPECT_THAT(last(story, 1).sentence, HasSubstr(std::string{"slept for "} + slept));
    }
}

TEST(Story, TellsOfAllLevelsThatAreBuilt) {
    Story story;
    story.schedule(25);
    EXPECT_THAT(story.frames()[2].sentence, HasSubstr("overflows to level 1, built now, which"));
    story.schedule(30);
    EXPECT_THAT(last(story).sentence, HasSubstr("overflows to level 1, which reaches up to 399"));
    story.schedule(9'999'999);
    EXPECT_THAT(
        last(story, 1).sentence,
        HasSubstr("Level 1 reaches up to 399: too short for 9,999,999. It overflows: levels "
                  "2 to 5 are built, and level 5 reaches up to 63,999,999."));
}

TEST(Story, TellsOfAWaitBeforeWhatHappensMeanwhile) {
    Story story;
    story.schedule(5);
    story.wait(100);
    EXPECT_EQ(stagesFrom(story, 4), "wait wake run wait");
    EXPECT_THAT(last(story).sentence, HasSubstr("clock stands at 5,"));
    EXPECT_THAT(last(story).flatSentence, HasSubstr("does not walk"));
}

TEST(Story, WalksEveryTickOnTheFlatWheelAndTellsOfItWhenItRanSomething) {
    Story story;
    story.schedule(399);
    story.schedule(3);
    EXPECT_THAT(last(story).picture, HasSubstr(R"("entries":[{"task":1,"slot":3,"rounds":0},)"
                                               R"({"task":0,"slot":15,"rounds":12}])"));
    story.wake();
    EXPECT_THAT(last(story).picture, HasSubstr(R"("ticksWalked":3,"passedOver":0)"));
    story.wake();
    EXPECT_EQ(last(story).now, 380);
    EXPECT_EQ(last(story, 1).flatSentence, "");
    story.wake();
    EXPECT_THAT(last(story, 1).flatSentence,
                HasSubstr("walked 396 slots, one by one, and passed over 12 entries"));
}

TEST(Story, RunsAtOnceWhatIsDueAlready) {
    Story story;
    story.schedule(0);
    EXPECT_STREQ(last(story).stage, "run");
    EXPECT_FALSE(last(story).from.has_value());
    EXPECT_FALSE(story.wake());
}

}  // namespace
}  // namespace walkthrough
