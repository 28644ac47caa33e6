#include <support/Effort.h>
#include <support/Folders.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <model/TimerSimulation.h>
#include <model/WheelScenario.h>
#include <string>
#include <vector>

// The fuzzer's corpus, run again without it. A file by which ./dev fuzz was stopped belongs there:
// it is told in words here, and stays a regression test.

namespace timingwheel::model {
namespace {

std::vector<std::filesystem::path> corpus(char const* target) {
    std::vector<std::filesystem::path> files;
    auto const folder = std::filesystem::path{test::sourceFolder()} / "tests/fuzz/corpus";
    for (auto const& file : std::filesystem::directory_iterator{folder / target})
        files.push_back(file.path());
    return files;
}

std::vector<std::uint8_t> bytesOf(std::filesystem::path const& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Runs every file of a corpus as what it says.
template <class Decoded, class Run>
void replay(char const* target, Run run) {
    test::Watchdog const watchdog{target, std::chrono::seconds{50}};
    auto const files = corpus(target);
    EXPECT_FALSE(files.empty());
    for (auto const& file : files) {
        Decoded const scenario = Decoded::decode(bytesOf(file));
        EXPECT_NO_THROW(run(scenario)) << file << '\n' << scenario;
    }
}

TEST(Corpus, OfTheTimerAgreesWithItsModel) { replay<Scenario>("timer", TimerSimulation::run); }

TEST(Corpus, OfTheWheelsAgreesWithTheirModel) {
    replay<wheel::WheelScenario>("wheel", [](auto const& scenario) { scenario.run(); });
}

}  // namespace
}  // namespace timingwheel::model
