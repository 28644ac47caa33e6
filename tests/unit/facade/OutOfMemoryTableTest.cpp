// The tables of calls that are tried without memory are complete: they name every function that
// the public headers declare.

#include <support/PublicHeaders.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

// Shows G16.

namespace timingwheel::test {
namespace {

TEST(OutOfMemoryTable, HasEveryPublicFunction) {
    // Called by timers and clocks, not by users: the tables have what makes them do so.
    std::set<std::string> const called{"makeWaiter",   "subscribe", "nextExpiration", "runDue",
                                       "isInsideTask", "wakeUps",   "onEvent",        "onEarlier",
                                       "onIdle",       "execute",   "post",           "run",
                                       "cancelled",    "coarseNow", "coarseLag",      "kind"};
    std::string tables = textOf(kRoot / "tests/support/OutOfMemory.h");
    for (auto const& file : std::filesystem::directory_iterator{kRoot / "tests/unit/facade"})
        if (file.path().filename().string().starts_with("OutOfMemory"))
            tables += textOf(file.path());
    std::size_t count = 0;
    for (auto const& file : std::filesystem::directory_iterator{kRoot / "include/timingwheel"}) {
        if (file.path().extension() != ".h") continue;
        for (std::string const& name : functionsOf(file.path())) {
            ++count;
            if (called.contains(name)) continue;
            EXPECT_TRUE(calls(tables, name)) << name << " of " << file.path().filename();
        }
    }
    EXPECT_GT(count, 80U);
}

}  // namespace
}  // namespace timingwheel::test
