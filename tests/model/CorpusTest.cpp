#include <support/Effort.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <model/TimerSimulation.h>
#include <string>
#include <vector>

// The fuzzer's corpus, run again without it. A file by which ./dev fuzz was stopped belongs there:
// it is told in words here, and stays a regression test.

namespace timingwheel::model {
namespace {

std::vector<std::filesystem::path> corpus(char const* target) {
    std::vector<std::filesystem::path> files;
    auto const folder = std::filesystem::path{TIMINGWHEEL_SOURCE_DIR} / "tests/fuzz/corpus";
    for (auto const& file : std::filesystem::directory_iterator{folder / target})
        files.push_back(file.path());
    return files;
}

std::vector<std::uint8_t> bytesOf(std::filesystem::path const& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(Corpus, OfTheTimerAgreesWithItsModel) {
    test::Watchdog const watchdog{"the corpus of the timer", std::chrono::seconds{50}};
    auto const files = corpus("timer");
    EXPECT_FALSE(files.empty());
    for (auto const& file : files) {
        Scenario const scenario = Scenario::decode(bytesOf(file));
        EXPECT_NO_THROW(TimerSimulation::run(scenario)) << file << '\n' << scenario;
    }
}

}  // namespace
}  // namespace timingwheel::model
