#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/walkthrough/Example.h>
#include <apps/walkthrough/Json.h>
#include <apps/walkthrough/Playback.h>
#include <apps/walkthrough/Story.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace walkthrough {
namespace {

using Stage = Frame::Stage;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text(Place const& place) {
    return std::to_string(place.level) + ":" + std::to_string(place.slot) + "@" +
           std::to_string(place.expiration);
}

/// "1:1@20 0:5@25 fires 25": the way of a story's first task, in the words of the golden file.
std::string wayOfTheFirstTask(Story const& story) {
    std::string way;
    for (Frame const& frame : story.frames()) {
        if (frame.task != 0) continue;
        if (frame.stage == Stage::place || frame.stage == Stage::cascade)
            way += text(*frame.to) + " ";
        if (frame.stage == Stage::run) way += "fires " + std::to_string(frame.picture.now);
    }
    return way;
}

std::vector<Stage> stagesFrom(std::span<Frame const> frames, std::size_t first) {
    std::vector<Stage> stages;
    for (std::size_t i = first; i < frames.size(); ++i) stages.push_back(frames[i].stage);
    return stages;
}

TEST(Story, GoesTheWayThatKafkasOwnClassesGo) {
    std::ifstream golden{TIMINGWHEEL_GOLDEN_DIR "/placements-t1-w20.txt"};
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
        while (story.wake()) {
        }
        EXPECT_EQ(wayOfTheFirstTask(story), way) << delay;
        EXPECT_EQ(kExampleDelays.at(ways), delay);
        ++ways;
    }
    EXPECT_EQ(ways, kExampleDelays.size());
}

TEST(Story, RunsEveryTaskOfTheExampleAtItsDeadline) {
    Story story;
    tellExample(story);
    Picture const& last = story.frames().back().picture;
    ASSERT_EQ(last.tasks.size(), kExampleDelays.size());
    for (TaskPicture const& task : last.tasks) {
        EXPECT_EQ(task.state, TaskPicture::State::ran) << task.name;
        EXPECT_EQ(task.endedAt, task.deadline) << task.name;
    }
    EXPECT_TRUE(last.heap.empty());
    EXPECT_TRUE(last.flat.entries.empty());
    EXPECT_EQ(last.flat.ticksWalked, kExampleDelays.back());
}

TEST(Story, TellsOneCascadeOfATaskOfTwentyFive) {
    Story story;
    story.schedule(25);
    EXPECT_THAT(stagesFrom(story.frames(), 0),
                ElementsAre(Stage::begin, Stage::schedule, Stage::place, Stage::arm));
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(stagesFrom(story.frames(), 4), ElementsAre(Stage::wake, Stage::cascade));
    EXPECT_EQ(story.frames().back().picture.now, 20);
    EXPECT_EQ(text(*story.frames().back().to), "0:5@25");
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(stagesFrom(story.frames(), 6), ElementsAre(Stage::wake, Stage::run));
    EXPECT_FALSE(story.wake());
    EXPECT_EQ(story.frames().back().picture.wakeUps, 2U);
    EXPECT_EQ(story.frames().back().picture.cascades, 1U);
}

// ---- levels as in a clock ----------------------------------------------------------------------

TEST(ClockStory, HasTheSlotsThatAClockShows) {
    Story story{clockOptions()};
    tellClock(story);
    std::vector<std::vector<std::string>> ways(clockDelays().size());
    for (Frame const& frame : story.frames())
        if (frame.stage == Stage::place || frame.stage == Stage::cascade)
            ways[frame.task].push_back(text(*frame.to));
    EXPECT_THAT(ways[0], ElementsAre("0:59@33359"));
    EXPECT_THAT(ways[1], ElementsAre("0:5@33365"));
    EXPECT_THAT(ways[2], ElementsAre("1:30@34200"));
    EXPECT_THAT(ways[3], ElementsAre("2:18@64800"));
    EXPECT_THAT(ways[4], ElementsAre("2:18@64800", "1:30@66600", "0:15@66615"));
    EXPECT_THAT(ways[5], ElementsAre("3:2@172800", "2:7@198000"));
    for (TaskPicture const& task : story.frames().back().picture.tasks)
        EXPECT_EQ(task.endedAt, task.deadline) << task.name;
}

TEST(ClockStory, SaysTimesAsAClockDoes) {
    Story story{clockOptions()};
    EXPECT_THAT(story.frames()[0].sentence, HasSubstr("An empty wheel at 9:15:40. Level 0 has 60 "
                                                      "slots of 1 s."));
    EXPECT_THAT(story.frames()[0].flatSentence, HasSubstr("at 9:15:40: 60 slots of 1 s"));
    story.schedule(26'317);
    EXPECT_EQ(story.frames()[1].sentence,
              "A is scheduled at 9:15:40 with a delay of 7 h 18 min 37 s: it is due at 16:34:17.");
    EXPECT_THAT(story.frames()[2].sentence,
                HasSubstr("16:34:17 / 1 h is 16: slot 16, for 16:00:00 to 16:59:59."));
    story.schedule(86'400);
    EXPECT_THAT(story.frames().back().picture.levels.back().slots, 24);
    while (story.wake()) {
    }
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("due at 9:15:40 of day 2"));
}

TEST(ClockStory, RefusesLevelsThatNobodyCanSee) {
    for (std::int64_t const size : {1, 65})
        EXPECT_THROW((Story{{.levelSizes = {60, size}}}), std::invalid_argument) << size;
    EXPECT_THROW((Story{{.start = -1}}), std::invalid_argument);
    EXPECT_THROW((Story{{.start = Story::kMaxStart + 1}}), std::invalid_argument);
}

TEST(Story, ArmsABucketOnce) {
    Story story;
    story.schedule(25);
    story.schedule(30);
    EXPECT_EQ(story.frames().back().stage, Stage::place);
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("in the delay heap already"));
    ASSERT_EQ(story.frames().back().picture.heap.size(), 1U);
    EXPECT_THAT(story.frames().back().picture.heap[0].tasks, ElementsAre(0U, 1U));
}

TEST(Story, UsesARingAgain) {
    Story story;
    story.wait(10);
    story.schedule(11);
    auto const& placed = story.frames()[story.frames().size() - 2];
    EXPECT_EQ(text(*placed.to), "0:1@21");
    EXPECT_THAT(placed.sentence, HasSubstr("21 mod 20 is slot 1"));
}

TEST(Story, CallsNoTaskI) {
    Story story;
    for (int task = 0; task < 26; ++task) story.schedule(5);
    auto const& tasks = story.frames().back().picture.tasks;
    EXPECT_EQ(tasks[7].name, "H");
    EXPECT_EQ(tasks[8].name, "J");
    EXPECT_EQ(tasks[24].name, "Z");
    EXPECT_EQ(tasks[25].name, "A2");
}

TEST(Story, TellsTwoBucketsOfOneInstantApart) {
    Story story;
    story.schedule(20);  // level 1
    story.wait(5);
    story.schedule(15);  // level 0, the same expiration
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("Another bucket stands there at 20"));
    EXPECT_TRUE(story.wake());
    EXPECT_EQ(story.frames().back().task, 1U) << "the lowest level goes first";
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(story.frames()[story.frames().size() - 2].sentence,
                HasSubstr("At the same instant"));
    EXPECT_EQ(story.frames().back().picture.wakeUps, 1U);
}

TEST(Story, WakesOnceForABucketThatWasEmptied) {
    Story story;
    story.schedule(25);
    EXPECT_TRUE(story.cancel(0));
    EXPECT_FALSE(story.cancel(0));
    EXPECT_FALSE(story.cancel(1));
    EXPECT_EQ(text(*story.frames().back().from), "1:1@20");
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("nobody is in it"));
    EXPECT_FALSE(story.wake());
}

TEST(Story, CountsTheSleepFromTheLastWakeUpWhateverTheReaderWaitedFor) {
    Story story;
    story.schedule(25);
    story.wait(10);
    story.schedule(300);
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(story.frames()[story.frames().size() - 2].sentence, HasSubstr("slept for 20 ms"));
}

TEST(Story, CountsTheSleepFromTheCallThatMadeItShorter) {
    Story story;
    story.schedule(25);
    story.wait(10);
    story.schedule(3);
    EXPECT_TRUE(story.wake());
    EXPECT_THAT(story.frames()[story.frames().size() - 2].sentence, HasSubstr("slept for 3 ms"));
}

TEST(Story, TellsOfAllLevelsThatAreBuilt) {
    Story story;
    story.schedule(9'999'999);
    EXPECT_THAT(story.frames()[2].sentence,
                HasSubstr("Level 0 reaches up to 19: too short for 9,999,999. It overflows: levels "
                          "1 to 5 are built, and level 5 reaches up to 63,999,999."));
}

TEST(Story, TellsThatTheDriverIsAwakeBetweenTwoBucketsOfOneInstant) {
    Story story;
    story.schedule(20);
    story.wait(5);
    story.schedule(15);
    story.wake();
    story.schedule(5);
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("awake, for what expires at 20"));
}

TEST(Story, TellsWhetherACancelledTaskHadNeighbours) {
    Story story;
    story.schedule(25);
    story.schedule(30);
    story.cancel(0);
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("neighbours in slot 1 of level 1"));
    story.cancel(1);
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("is empty now, but stays in the heap"));
}

TEST(Story, TellsOfAWaitBeforeWhatHappensMeanwhile) {
    Story story;
    story.schedule(5);
    story.wait(100);
    std::vector<Stage> const stages = stagesFrom(story.frames(), 4);
    EXPECT_THAT(stages, ElementsAre(Stage::wait, Stage::wake, Stage::run, Stage::wait));
    EXPECT_THAT(story.frames().back().sentence, HasSubstr("clock stands at 5,"));
    EXPECT_THAT(story.frames().back().flatSentence, HasSubstr("does not walk"));
}

TEST(Story, TellsOfTheFlatWheelOnlyWhenItRanSomething) {
    Story story;
    story.schedule(399);
    story.wake();
    EXPECT_EQ(story.frames().back().picture.now, 380);
    EXPECT_THAT(story.frames()[4].flatSentence, "");
    story.wake();
    EXPECT_THAT(story.frames()[6].flatSentence,
                HasSubstr("walked 399 slots, one by one, and passed over 12 entries"));
}

TEST(Story, RunsAtOnceWhatIsDueAlready) {
    Story story;
    story.schedule(0);
    EXPECT_EQ(story.frames().back().stage, Stage::run);
    EXPECT_FALSE(story.frames().back().from.has_value());
    EXPECT_FALSE(story.wake());
}

TEST(Story, WalksEveryTickOnTheFlatWheel) {
    Story story{{.wheelSize = 20, .flatSlots = 8}};
    story.schedule(3);
    story.schedule(10);
    auto const& entries = story.frames().back().picture.flat.entries;
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].slot, 2U);
    EXPECT_EQ(entries[0].rounds, 1);
    EXPECT_EQ(entries[1].slot, 3U);
    EXPECT_EQ(entries[1].rounds, 0);
    story.wake();
    EXPECT_EQ(story.frames().back().picture.flat.ticksWalked, 3);
    EXPECT_EQ(story.frames().back().picture.flat.passedOver, 1);
}

TEST(Story, RefusesWhatIsOutOfRangeAndTellsNothing) {
    Story story;
    try {
        story.schedule(-1);
        ADD_FAILURE();
    } catch (std::invalid_argument const& error) {
        EXPECT_STREQ(error.what(), "delay is -1: it must be from 0 to 9999999");
    }
    EXPECT_THROW(story.schedule(Story::kMaxDelay + 1), std::invalid_argument);
    EXPECT_THROW(story.wait(0), std::invalid_argument);
    EXPECT_THROW((Story{{.wheelSize = 1}}), std::invalid_argument);
    EXPECT_EQ(story.frames().size(), 1U);
}

TEST(StoryPlayback, IsTakenBackToTheEndOfTheCommandThatToldAFrame) {
    Playback playback;
    playback.schedule(25);
    playback.schedule(400);
    playback.wake();
    std::string const wake = toJson(playback.frames()[7]);
    std::size_t const all = playback.frames().size();
    playback.takeBackTo(5);
    EXPECT_EQ(playback.frames().size(), 7U) << "the whole second schedule stays";
    playback.wake();
    EXPECT_EQ(playback.frames().size(), all);
    EXPECT_EQ(toJson(playback.frames()[7]), wake);
    playback.takeBackTo(0);
    EXPECT_EQ(playback.frames().size(), 1U);
}

TEST(StoryPlayback, KeepsNoCommandThatFailed) {
    Playback playback;
    EXPECT_THROW(playback.schedule(-1), std::invalid_argument);
    playback.schedule(5);
    playback.takeBackTo(2);
    EXPECT_EQ(playback.frames().size(), 4U);
}

}  // namespace
}  // namespace walkthrough
