// Whole timers with their threads, by chance: what the seed decides is said in Scenario.h.

#include "Scenario.h"
#include "Simulation.h"

#include <support/Effort.h>
#include <support/Figure.h>

#include <gtest/gtest.h>

#include <iostream>

namespace timingwheel::test::simulation {
namespace {

constexpr std::uint64_t kParts = 4;

void runSeed(std::uint64_t seed) {
    Scenario scenario{seed};
    scenario.run();
}

/// A part of the seeds.
class TimerSimulation : public testing::TestWithParam<std::uint64_t> {};

// G1, G3
TEST_P(TimerSimulation, EveryRunEndsAsPromised) {
    std::uint64_t const seeds = scaledByEnvironment(isAtLength() ? 100'000 : 1'000, kParts);
    std::uint64_t const part = seeds / kParts;
    warmUp();
    Summary const summary = tryAtRandom(1 + GetParam() * part, part, runSeed);
    std::cout << summary << '\n';
    figure("G3", "simulated runs that ended otherwise than promised", summary.failed, exactly(0),
           {summary.runs, 100'000 / kParts});
}

/// Seeds that nobody has tried, at length. ./dev test --slow takes the first from the commit, so
/// that one commit always tries the same ones.
TEST(TimerSimulationExploration, FreshSeedsEndAsPromised) {
    warmUp();
    Summary const summary = explore(isAtLength() ? 20'000 : 0, runSeed);
    std::cout << summary << '\n';
    figure("G3", "explored runs that ended otherwise than promised", summary.failed, exactly(0),
           {summary.runs, summary.runs});
}

INSTANTIATE_TEST_SUITE_P(Part, TimerSimulation, testing::Range(std::uint64_t{0}, kParts));

}  // namespace
}  // namespace timingwheel::test::simulation
