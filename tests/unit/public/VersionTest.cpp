// The header that includes all others, and the version.

#include <support/PublicHeaders.h>
#include <timingwheel/timingwheel.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace timingwheel::test {
namespace {

static_assert(TIMINGWHEEL_VERSION == TIMINGWHEEL_VERSION_MAJOR * 10'000 +
                                         TIMINGWHEEL_VERSION_MINOR * 100 +
                                         TIMINGWHEEL_VERSION_PATCH);

TEST(VersionTest, IsOneTextAndThreeNumbers) {
    std::string const text = std::to_string(TIMINGWHEEL_VERSION_MAJOR) + "." +
                             std::to_string(TIMINGWHEEL_VERSION_MINOR) + "." +
                             std::to_string(TIMINGWHEEL_VERSION_PATCH);
    EXPECT_EQ(text, TIMINGWHEEL_VERSION_STRING);
}

// Macros name each other where they are used: as it will be for 3.2.1.
#pragma push_macro("TIMINGWHEEL_VERSION_MAJOR")
#pragma push_macro("TIMINGWHEEL_VERSION_MINOR")
#pragma push_macro("TIMINGWHEEL_VERSION_PATCH")
#undef TIMINGWHEEL_VERSION_MAJOR
#undef TIMINGWHEEL_VERSION_MINOR
#undef TIMINGWHEEL_VERSION_PATCH
#define TIMINGWHEEL_VERSION_MAJOR 3
#define TIMINGWHEEL_VERSION_MINOR 2
#define TIMINGWHEEL_VERSION_PATCH 1
TEST(VersionTest, IsANumberOfFiveDigitsAndMore) { EXPECT_EQ(TIMINGWHEEL_VERSION, 30'201); }
#pragma pop_macro("TIMINGWHEEL_VERSION_MAJOR")
#pragma pop_macro("TIMINGWHEEL_VERSION_MINOR")
#pragma pop_macro("TIMINGWHEEL_VERSION_PATCH")

// Bug pattern: a new header that the one for everything does not have.
TEST(VersionTest, OneHeaderHasEverything) {
    std::string const all = textOf(kRoot / "include/timingwheel/timingwheel.h");
    int count = 0;
    for (auto const& file : std::filesystem::directory_iterator{kRoot / "include/timingwheel"}) {
        std::string const name = file.path().filename().string();
        if (!name.ends_with(".h") || name == "timingwheel.h") continue;
        ++count;
        EXPECT_NE(all.find("#include <timingwheel/" + name + ">"), std::string::npos) << name;
    }
    EXPECT_GT(count, 20);
    TimingWheel<TimerTaskEntry> const levels;
    HashedWheel<TimerTaskEntry> const flat;
    EXPECT_TRUE(levels.empty() && flat.empty()) << "and both wheels";
}

}  // namespace
}  // namespace timingwheel::test
