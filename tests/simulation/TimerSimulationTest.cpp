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

/// A part of the seeds.
class TimerSimulation : public testing::TestWithParam<std::uint64_t> {};

TEST_P(TimerSimulation, EveryRunEndsAsPromised) {
    std::uint64_t const seeds = scaledByEnvironment(isAtLength() ? 100'000 : 1'000, kParts);
    std::uint64_t const part = seeds / kParts;
    warmUp();
    Summary const summary = tryAtRandom(1 + GetParam() * part, part, [](std::uint64_t seed) {
        Scenario scenario{seed};
        scenario.run();
    });
    std::cout << summary << '\n';
    figure("G3", "simulated runs that ended otherwise than promised", summary.failed, exactly(0),
           {summary.runs, 100'000 / kParts});
}

INSTANTIATE_TEST_SUITE_P(Part, TimerSimulation, testing::Range(std::uint64_t{0}, kParts));

}  // namespace
}  // namespace timingwheel::test::simulation
