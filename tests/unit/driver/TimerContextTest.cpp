
#include <support/LoneContext.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <utility>

namespace timingwheel::detail {
namespace {

std::size_t shardsOf(TimerOptions options, bool isConcurrent) {
    return test::LoneContext{std::move(options), isConcurrent}.shards();
}

TEST(TimerContext, HasFourShardsForEachCoreUnlessToldOtherwise) {
    std::size_t const cores = std::max(1U, std::thread::hardware_concurrency());
    EXPECT_EQ(shardsOf({}, true), std::min<std::size_t>(std::bit_ceil(4 * cores), 64));
    EXPECT_EQ(shardsOf({.shards = 1}, true), 1U);
    EXPECT_EQ(shardsOf({.shards = 64}, true), 64U);
}

TEST(TimerContext, HasOneShardForOneThread) {
    EXPECT_EQ(shardsOf({}, false), 1U);
    EXPECT_EQ(shardsOf({.shards = 1}, false), 1U);
    EXPECT_THROW(static_cast<void>(shardsOf({.shards = 8}, false)), std::invalid_argument);
}

}  // namespace
}  // namespace timingwheel::detail
