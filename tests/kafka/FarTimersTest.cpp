#include "components/kafka/daemon/FarTimers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using timingwheel::kafka::FarTimers;

TEST(FarTimers, TakeAtMost48BytesEach) {
    FarTimers timers;
    for (std::size_t size = 1; size <= 300'000; ++size) {
        timers.add(std::to_string(size), {1, 1});
        ASSERT_TRUE(size < 20'000 || timers.bytes() <= 48 * size) << size;
    }
    for (std::size_t size = 300'000; size > 1'000; --size) timers.remove(std::to_string(size));
    EXPECT_LT(timers.bytes(), 4'000'000U) << "they do not give back what they took";
}

/// Any course of calls, beside a map.
TEST(FarTimers, DoWhatAMapDoes) {
    std::uint64_t const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random{seed};
    FarTimers timers;
    std::map<std::string, std::int64_t> expected;  // by id, the offset
    std::int64_t offset = 0;
    std::size_t most = 50;
    for (int step = 0; step < 200'000; ++step) {
        if (step % 20'000 == 0) most = most == 50 ? 20'000 : 50;  // grows, and shrinks
        std::string const id = std::to_string(random() % (2 * most));
        bool const isThere = expected.contains(id);
        ASSERT_EQ(timers.find(id).has_value(), isThere);
        ASSERT_TRUE(!isThere || timers.find(id)->offset == expected[id]);
        if (!isThere && expected.size() < most) {
            timers.add(id, {offset % 1'000, ++offset});
            expected[id] = offset;
        } else {
            ASSERT_EQ(timers.remove(id), isThere);
            expected.erase(id);
        }
        ASSERT_EQ(timers.size(), expected.size());
    }
}

// Entries move while a pass is under way: it misses none that is there all the time.
TEST(FarTimers, AreAllSeenByAPass) {
    std::uint64_t const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random{seed};
    for (int round = 0; round < 200; ++round) {
        FarTimers timers;
        std::map<std::string, std::int64_t> staying;
        std::vector<std::string> going;
        std::int64_t offset = 0;
        for (int i = 0; i < 300; ++i) {
            std::string const id = std::to_string(i);
            bool const isNear = i % 3 == 0;
            timers.add(id, {isNear ? 5 : 6, ++offset});
            if (random() % 2 == 0)
                going.push_back(id);
            else if (isNear)
                staying[id] = offset;
        }
        std::vector<std::int64_t> found;
        std::shuffle(going.begin(), going.end(), random);
        timers.beginPass();
        while (!timers.collect(5, 1 + random() % 20, found)) {
            for (std::size_t i = random() % 20; i > 0 && !going.empty(); --i) {
                ASSERT_TRUE(timers.remove(going.back()));
                going.pop_back();
            }
            if (random() % 4 != 0) continue;
            std::string const id = "new " + std::to_string(offset);
            timers.add(id, {6, ++offset});
        }
        std::set<std::int64_t> const offsets{found.begin(), found.end()};
        for (auto const& [id, where] : staying) ASSERT_TRUE(offsets.contains(where)) << id;
        for (std::int64_t const where : offsets) ASSERT_EQ((where - 1) % 3, 0) << "not due";
    }
}

TEST(FarTimers, AreFoundByTheirOffset) {
    FarTimers timers;
    timers.add("a", {1, 10});
    timers.add("b", {1, 20});
    EXPECT_EQ(timers.firstAt({5, 10, 20}), 10);
    EXPECT_EQ(timers.firstAt({5, 15}), std::nullopt);
}

}  // namespace
}  // namespace timingwheel::test::kafka
