// Whole timers with their threads, by chance: what the seed decides is said in Scenario.h.

#include "Scenario.h"
#include "Simulation.h"

#include <support/Effort.h>
#include <support/Figure.h>

#include <gtest/gtest.h>

#include <iostream>

namespace timingwheel::test::simulation {
namespace {

void simulate(std::uint64_t first, std::uint64_t seeds) {
    warmUp();
    Summary const summary = tryAtRandom(first, seeds, [](std::uint64_t seed) {
        Scenario scenario{seed};
        scenario.run();
    });
    std::cout << summary << '\n';
    figure("G3", "simulated runs that ended otherwise than promised", summary.failed, exactly(0),
           {summary.runs, 100'000});
}

TEST(TimerSimulation, EveryRunEndsAsPromised) { simulate(1, scaledByEnvironment(1'000)); }

}  // namespace
}  // namespace timingwheel::test::simulation
