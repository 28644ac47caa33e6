// Every interleaving of users, workers, broker and bad luck on one partition. Decision 0011 says
// what it showed.

#include "Protocol.h"

#include <support/Effort.h>

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {

namespace {

using Kind = Command::Kind;

constexpr Command schedule(Byte key, Byte due) { return {Kind::schedule, key, due}; }
constexpr Command recurring(Byte key, Byte due, bool catchesUp) {
    return {Kind::schedule, key, due, 1, catchesUp};
}
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
    Id id;
    std::vector<Command> commands;
    std::set<int> delivered;  // how many deliveries a course may end with

    friend void PrintTo(Story const& story, std::ostream* out) { *out << story.name; }
};

/// For gtest, the name of a test.
constexpr auto kName = [](auto const& info) { return info.param.name; };

class Protocol : public testing::TestWithParam<Story> {};

/// How often what may strike: rebalances, kills, time-outs, failures, old answers. At length two of
/// the first four; three with TIMINGWHEEL_STRESS_SCALE=10, which takes up to 10 GB.
std::vector<std::array<Byte, 5>> lucks() {
    if (stressScale() >= 10)
        return {{1, 1, 1, 0, 1}, {1, 1, 0, 1, 1}, {1, 0, 1, 1, 1}, {0, 1, 1, 1, 1}};
    if (!isAtLength()) return {{1, 0, 0, 0, 1}, {0, 1, 0, 0, 1}, {0, 0, 1, 0, 0}, {0, 0, 0, 1, 0}};
    return {{2, 0, 0, 0, 1}, {0, 2, 0, 0, 1}, {1, 1, 0, 0, 1}, {1, 0, 1, 0, 0},
            {0, 1, 1, 0, 1}, {1, 0, 0, 1, 0}, {0, 1, 0, 1, 0}, {0, 0, 1, 1, 0}};
}

TEST_P(Protocol, LosesNothingAndDeliversNothingTwiceOrEarly) {
    bool const isOfPartition = GetParam().id == Id::partition;
    for (auto const& [rebalances, kills, timeOuts, failures, oldAnswers] : lucks()) {
        Explored const explored =
            exploreAndTell({.commands = GetParam().commands,
                            .id = GetParam().id,
                            .rebalances = rebalances,
                            .kills = kills,
                            .timeOuts = timeOuts,
                            .failures = failures,
                            .oldAnswers = isOfPartition ? oldAnswers : Byte{0}});
        ASSERT_EQ(explored.wrong, "") << courseOf(explored);
        EXPECT_GT(explored.ends, 0U);
        // What may strike has struck.
        auto const happens = [&](char const* step) { return explored.steps.contains(step); };
        EXPECT_EQ(explored.delivered, GetParam().delivered);
        EXPECT_EQ(happens("is killed"), kills > 0);
        EXPECT_EQ(happens("fetches of a broker that was replaced the offset"),
                  isOfPartition && oldAnswers > 0);
        EXPECT_EQ(happens("makes a new producer"), failures > 0);
        // With the partition's id, a new owner fences the former one.
        EXPECT_EQ(happens("is fenced") || happens("is fenced, and begins anew"),
                  timeOuts > 0 || (isOfPartition && rebalances > 0));
        EXPECT_EQ(happens("is fenced, and begins anew, though another has the partition"),
                  isOfPartition && rebalances > 0);
        EXPECT_EQ(happens("is refused: another has the partition"), rebalances > 0);
    }
}

std::vector<Story> stories() {
    std::vector<Story> stories;
    auto const add = [&](char const* name, std::vector<Command> const& commands,
                         std::set<int> const& delivered) {
        for (auto const& [id, with] : {std::pair{Id::partition, "WithIdsOfPartitions"},
                                       std::pair{Id::worker, "WithIdsOfWorkers"}})
            stories.push_back({std::string{name} + with, id, commands, delivered});
    };
    add("aPushBack", {schedule(0, 1), pushBack(0, 2)}, {1});
    add("aCancel", {schedule(0, 1), cancel(0)}, {0, 1});
    add("aScheduleAnew", {schedule(0, 1), schedule(0, 2)}, {1, 2});
    add("twoTimers", {schedule(0, 1), schedule(1, 1)}, {2});
    add("aPushBackAndACancel", {schedule(0, 1), pushBack(0, 2), cancel(0)}, {0, 1});
    // At the times 1 and 2.
    add("aTimerThatRecurs", {recurring(0, 1, true)}, {2});
    add("aTimerThatRecursAndACancel", {recurring(0, 1, false), cancel(0)}, {0, 1, 2});
    return stories;
}

INSTANTIATE_TEST_SUITE_P(Stories, Protocol, testing::ValuesIn(stories()), kName);

struct Planted {
    std::string name;
    std::vector<Mistake> mistakes;
    std::string_view wrong;  // which promise they break

    friend void PrintTo(Planted const& one, std::ostream* out) { *out << one.name; }
};

Scenario withMistakes(Id id, std::vector<Mistake> mistakes) {
    return {.commands = {schedule(0, 1), pushBack(0, 2)},
            .id = id,
            .rebalances = 1,
            .kills = 1,
            .timeOuts = 0,
            .mistakes = std::move(mistakes)};
}

void expectWrong(Id id, Planted const& planted, Byte failures = 0, Byte oldAnswers = 0,
                 std::vector<Command> const& commands = {}, Byte follows = 0) {
    Scenario scenario = withMistakes(id, planted.mistakes);
    if (!commands.empty()) scenario.commands = commands;
    scenario.failures = failures;
    scenario.oldAnswers = oldAnswers;
    scenario.follows = follows;
    scenario.sought = planted.wrong;
    Explored const explored = exploreAndTell(scenario);
    EXPECT_EQ(explored.wrong, planted.wrong);
    std::cout << courseOf(explored);
}

std::vector<Planted> const kWrongAnyway{
    {"readsUncommitted", {Mistake::readsUncommitted}, kNotPending},
    {"deliversOutsideTransaction", {Mistake::deliversOutsideTransaction}, kStateDiffers},
    {"dropsTombstonesEarly", {Mistake::dropsTombstonesEarly}, kNotPending},
    {"keepsTransactionsOpen", {Mistake::keepsTransactionsOpen}, kStuck}};

// Each weakens the fence that the offset is. It is the only one with ids of workers.
std::vector<Planted> const kWrongWithoutTheId{
    {"deliversWithoutOffset", {Mistake::deliversWithoutOffset}, kNotPending},
    {"fetchesUnstableOffset", {Mistake::fetchesUnstableOffset}, kTakenInTwice},
    {"measuresLastStableOffset", {Mistake::measuresLastStableOffset}, kStateDiffers},
    {"measuresBeforeFetching", {Mistake::measuresBeforeFetching}, kStateDiffers}};

/// Both fences are weak: the id's as well.
std::vector<Planted> withBeginsLast(std::vector<Planted> planted) {
    for (Planted& one : planted) one.mistakes.push_back(Mistake::beginsLast);
    return planted;
}

class ProtocolWrongAnyway : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongAnyway, IsFoundWithIdsOfPartitions) { expectWrong(Id::partition, GetParam()); }
TEST_P(ProtocolWrongAnyway, IsFoundWithIdsOfWorkers) { expectWrong(Id::worker, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Mistakes, ProtocolWrongAnyway, testing::ValuesIn(kWrongAnyway), kName);

class ProtocolWrongWithoutTheId : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongWithoutTheId, IsFoundWithIdsOfWorkers) { expectWrong(Id::worker, GetParam()); }

void expectRight(Scenario const& scenario) {
    Explored const explored = exploreAndTell(scenario);
    EXPECT_EQ(explored.wrong, "") << courseOf(explored);
}

void expectNoHarm(Mistake mistake) {
    Scenario scenario = withMistakes(Id::partition, {mistake});
    if (!isAtLength()) scenario.kills = 0;
    expectRight(scenario);
    // With a new producer after an abort, a delivery's offset is needed.
    if (!isAtLength() || mistake == Mistake::deliversWithoutOffset) return;
    scenario.kills = 0;
    scenario.failures = 1;
    expectRight(scenario);
}

TEST_P(ProtocolWrongWithoutTheId, DoesNoHarmWithIdsOfPartitions) {
    expectNoHarm(GetParam().mistakes.front());
}

INSTANTIATE_TEST_SUITE_P(Mistakes, ProtocolWrongWithoutTheId, testing::ValuesIn(kWrongWithoutTheId),
                         kName);

class ProtocolWrongWithoutEither : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongWithoutEither, IsFound) { expectWrong(Id::partition, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Mistakes, ProtocolWrongWithoutEither,
                         testing::ValuesIn(withBeginsLast(kWrongWithoutTheId)), kName);

/// The fence that the id is, weak by itself.
TEST(ProtocolMistakes, BeginningLastDoesNoHarmAlone) { expectNoHarm(Mistake::beginsLast); }

// ---- a broker was replaced, and answers with what it knew ---------------------------------------

std::vector<Planted> const kWrongByOldAnswers{
    {"asksForTheEndAndDeliversTwice", {Mistake::asksForTheEnd}, kNotPending},
    {"asksForTheEndAndLosesATimer", {Mistake::asksForTheEnd}, kStateDiffers},
    {"believesTheGroup", {Mistake::believesTheGroup}, kTakenInTwice}};

class ProtocolWrongByOldAnswers : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongByOldAnswers, IsFound) { expectWrong(Id::partition, GetParam(), 0, 1); }

INSTANTIATE_TEST_SUITE_P(Mistakes, ProtocolWrongByOldAnswers, testing::ValuesIn(kWrongByOldAnswers),
                         kName);

/// A former owner of another id may commit when the end is marked already.
TEST(ProtocolMistakes, OldAnswersNeedThePartitionsId) {
    expectWrong(Id::worker, {"", {}, kTakenInTwice}, 0, 1);
}

// ---- a standby has followed the state -----------------------------------------------------------

class ProtocolStandby : public testing::TestWithParam<Story> {};

TEST_P(ProtocolStandby, LosesNothingAndDeliversNothingTwiceOrEarly) {
    Explored const explored = exploreAndTell({.commands = GetParam().commands,
                                              .id = GetParam().id,
                                              .rebalances = 1,
                                              .kills = Byte{isAtLength()},
                                              .timeOuts = 0,
                                              .disturbances = 0,
                                              .follows = 2});
    ASSERT_EQ(explored.wrong, "") << courseOf(explored);
    EXPECT_GT(explored.steps.at("follows the state up to"), 0U);
    EXPECT_GT(explored.steps.at("compaction removes from the state offset"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Stories, ProtocolStandby, testing::ValuesIn(stories()), kName);

class ProtocolWrongStandby : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongStandby, IsFound) { expectWrong(Id::partition, GetParam(), 0, 0, {}, 1); }

INSTANTIATE_TEST_SUITE_P(
    Mistakes, ProtocolWrongStandby,
    testing::Values(Planted{"readsNothingOn", {Mistake::readsNothingOn}, kStateDiffers},
                    Planted{"keepsOldCopy", {Mistake::keepsOldCopy}, kNotPending}),
    kName);

// ---- a transaction fails, and its worker goes on ------------------------------------------------

/// The broker takes a new batch for one that was aborted.
std::vector<Planted> const kWrongAfterAnAbort{
    {"keepsProducerAfterAbortAndLosesADelivery", {Mistake::keepsProducerAfterAbort}, kLost},
    {"keepsProducerAfterAbortAndLosesState", {Mistake::keepsProducerAfterAbort}, kStateDiffers}};

class ProtocolWrongAfterAnAbort : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongAfterAnAbort, IsFoundWithIdsOfPartitions) {
    expectWrong(Id::partition, GetParam(), 1);
}
TEST_P(ProtocolWrongAfterAnAbort, IsFoundWithIdsOfWorkers) {
    expectWrong(Id::worker, GetParam(), 1);
}

INSTANTIATE_TEST_SUITE_P(Mistakes, ProtocolWrongAfterAnAbort, testing::ValuesIn(kWrongAfterAnAbort),
                         kName);

/// A worker that is paused before it makes a new producer fences its successor, and has old timers.
TEST(ProtocolMistakes, OnlyTheOffsetFencesANewProducer) {
    expectWrong(Id::partition, {"", {Mistake::deliversWithoutOffset}, kNotPending}, 1);
}

// ---- a timer recurs -----------------------------------------------------------------------------

std::vector<Planted> const kWrongIfATimerRecurs{
    {"keepsNextInMemory", {Mistake::keepsNextInMemory}, kStateDiffers},
    {"writesNextAlone", {Mistake::writesNextAlone}, kStateDiffers},
    {"movesOnAfterAbort", {Mistake::movesOnAfterAbort}, kNotPending}};

class ProtocolWrongIfATimerRecurs : public testing::TestWithParam<Planted> {};

TEST_P(ProtocolWrongIfATimerRecurs, IsFound) {
    expectWrong(Id::partition, GetParam(), 1, 0, {recurring(0, 1, true)});
}

INSTANTIATE_TEST_SUITE_P(Mistakes, ProtocolWrongIfATimerRecurs,
                         testing::ValuesIn(kWrongIfATimerRecurs), kName);

}  // namespace
}  // namespace timingwheel::test::kafka
