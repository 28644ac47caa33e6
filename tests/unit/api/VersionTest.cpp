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
