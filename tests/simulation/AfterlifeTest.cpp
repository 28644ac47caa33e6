// Life after the end on simulated threads: the table of operations and orders of dying that
// tests/support/AfterlifeTable.h makes. Here any thread may be slow about its own end.

#include "Books.h"
#include "Simulation.h"

#include <support/AfterlifeTable.h>
#include <support/Effort.h>
#include <support/Figure.h>

#include <gtest/gtest.h>

#include <iostream>

namespace timingwheel::test::simulation {
namespace {

// G11
TEST(AfterlifeSimulation, EveryOperationAnswersAsDocumentedInEveryOrderOfDying) {
    auto const settings = afterlife::allSettings();
    // The first 42 are spread over all, the next 42 come right behind them.
    auto const settingOf = [&](std::uint64_t seed) {
        return settings[(14 * seed + seed / 42) % settings.size()];
    };
    std::uint64_t const seeds = scaledByEnvironment(isAtLength() ? 10 * settings.size() : 42);
    warmUp();
    Summary const summary = tryAtRandom(1, seeds, [&](std::uint64_t seed) {
        afterlife::live(settingOf(seed), afterlife::allRows(),
                        [](std::string const& what) { require(false, what); });
    });
    std::cout << summary << '\n';
    figure("G11", "simulated lives after the end that went otherwise than documented",
           summary.failed, exactly(0), {summary.runs, 10 * settings.size()});
}

}  // namespace
}  // namespace timingwheel::test::simulation
