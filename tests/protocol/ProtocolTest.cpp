// Every interleaving of users, workers, broker and bad luck on one partition. Decision 0011 says
// what it showed.

#include "Protocol.h"

#include <support/Effort.h>

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::test::kafka {

namespace {

using Kind = Command::Kind;

constexpr Command schedule(Byte key, Byte due) { return {Kind::schedule, key, due}; }
constexpr Command pushBack(Byte key, Byte due) { return {Kind::pushBack, key, due}; }
constexpr Command cancel(Byte key) { return {Kind::cancel, key}; }

/// A failure shows how it came about.
std::string courseOf(Explored const& explored) {
    std::string text = explored.wrong + ", after\n";
    for (std::string const& step : explored.course) text += "  " + step + "\n";
    return text;
}

Explored exploreAndTell(Scenario const& scenario) {
    Explored explored = explore(scenario);
    std::cout << "[  FIGURE  ] " << explored.worlds << " worlds, " << explored.ends << " ends\n";
    return explored;
}

struct Story {
    std::string name;
    std::vector<Command> commands;

    friend void PrintTo(Story const& story, std::ostream* out) { *out << story.name; }
};

/// For gtest, the name of a test.
constexpr auto kName = [](auto const& info) { return info.param.name; };

class Protocol : public testing::TestWithParam<Story> {};

/// How often what may strike: rebalances, kills, time-outs. At length two of them; all three with
/// TIMINGWHEEL_STRESS_SCALE=10, which takes up to 10 GB.
std::vector<std::array<Byte, 3>> lucks() {
    if (stressScale() >= 10) return {{1, 1, 1}};
    if (!isAtLength()) return {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return {{2, 0, 0}, {0, 2, 0}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}};
}

TEST_P(Protocol, LosesNothingAndDeliversNothingTwiceOrEarly) {
    for (auto const& [rebalances, kills, timeOuts] : lucks()) {
        Explored const explored = exploreAndTell({.commands = GetParam().commands,
                                                  .rebalances = rebalances,
                                                  .kills = kills,
                                                  .timeOuts = timeOuts});
        ASSERT_EQ(explored.wrong, "") << courseOf(explored);
        EXPECT_GT(explored.ends, 0U);
        // What may strike has struck.
        auto const happens = [&](char const* step) { return explored.steps.contains(step); };
        EXPECT_TRUE(happens("writes a delivery and the tombstone of timer"));
        EXPECT_EQ(happens("is killed"), kills > 0);
        EXPECT_EQ(happens("is fenced: its transaction took too long"), timeOuts > 0);
        EXPECT_EQ(happens("is refused: another has the partition"), rebalances > 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Stories, Protocol,
                         testing::Values(Story{"aPushBack", {schedule(0, 1), pushBack(0, 2)}},
                                         Story{"aCancel", {schedule(0, 1), cancel(0)}},
                                         Story{"aScheduleAnew", {schedule(0, 1), schedule(0, 2)}},
                                         Story{"twoTimers", {schedule(0, 1), schedule(1, 1)}},
                                         Story{"aPushBackAndACancel",
                                               {schedule(0, 1), pushBack(0, 2), cancel(0)}}),
                         kName);

struct PlantedMistake {
    std::string name;
    Mistake mistake;
    std::string_view wrong;

    friend void PrintTo(PlantedMistake const& one, std::ostream* out) { *out << one.name; }
};

class ProtocolMistakes : public testing::TestWithParam<PlantedMistake> {};

TEST_P(ProtocolMistakes, AreFound) {
    Explored const explored = exploreAndTell({.commands = {schedule(0, 1), pushBack(0, 2)},
                                              .rebalances = 1,
                                              .kills = 1,
                                              .timeOuts = 0,
                                              .mistake = GetParam().mistake});
    EXPECT_EQ(explored.wrong, GetParam().wrong);
    std::cout << courseOf(explored);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProtocolMistakes,
    testing::Values(
        PlantedMistake{"deliversWithoutOffset", Mistake::deliversWithoutOffset, kNotPending},
        PlantedMistake{"fetchesUnstableOffset", Mistake::fetchesUnstableOffset, kTakenInTwice},
        PlantedMistake{"measuresLastStableOffset", Mistake::measuresLastStableOffset,
                       kStateDiffers},
        PlantedMistake{"measuresBeforeFetching", Mistake::measuresBeforeFetching, kStateDiffers},
        PlantedMistake{"readsUncommitted", Mistake::readsUncommitted, kNotPending},
        PlantedMistake{"deliversOutsideTransaction", Mistake::deliversOutsideTransaction,
                       kStateDiffers},
        PlantedMistake{"dropsTombstonesEarly", Mistake::dropsTombstonesEarly, kNotPending},
        PlantedMistake{"keepsTransactionsOpen", Mistake::keepsTransactionsOpen, kStuck}),
    kName);

}  // namespace
}  // namespace timingwheel::test::kafka
