#include "trace/TraceEntries.h"
#include "trace/TraceOrder.h"

#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace timingwheel::detail {
namespace {

using Stage = TimerEvent::Stage;

TimerEvent event(Stage stage, int const& entry, Tick deadline = Tick{5}, std::uint32_t shard = 0) {
    return {.stage = stage, .shard = shard, .deadline = deadline, .entry = &entry};
}

TEST(TraceEntries, ForgetsWhatHasEnded) {
    TraceEntries entries;
    std::vector<int> const addresses(1000);
    for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
        int const& entry = addresses[i % addresses.size()];
        ASSERT_EQ(entries.numberOf(event(Stage::schedule, entry)), i);
        ASSERT_EQ(entries.numberOf(event(i % 2 == 0 ? Stage::run : Stage::cancel, entry)), i);
        ASSERT_EQ(entries.size(), 0U);
    }
}

TEST(TraceEntries, TellsRunsOfAHookApartThatIsScheduledMeanwhile) {
    TraceEntries entries;
    int const hook = 0;
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, hook)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::expire, hook)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, hook, Tick{9})), 2U);
    EXPECT_EQ(entries.numberOf(event(Stage::place, hook, Tick{9})), 2U);
    EXPECT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries.numberOf(event(Stage::run, hook, Tick{5})), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::cancel, hook, Tick{9})), 2U);
    EXPECT_EQ(entries.size(), 0U);
}

TEST(TraceEntries, DoesNotConfuseShardsThatAreOutOfStep) {
    TraceEntries entries;
    int const entry = 0;
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, entry, Tick{5}, 0)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, entry, Tick{5}, 1)), 2U);
    EXPECT_EQ(entries.numberOf(event(Stage::run, entry, Tick{5}, 0)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::run, entry, Tick{5}, 1)), 2U);
}

TEST(TraceEntries, HasNoNumberForWhatHasEnded) {
    TraceEntries entries;
    int const entry = 0;
    EXPECT_EQ(entries.numberOf(event(Stage::place, entry)), 0U);
    EXPECT_EQ(entries.size(), 0U);
}

std::vector<std::uint64_t> take(TraceOrder& order, std::uint64_t number) {
    std::vector<std::uint64_t> taken;
    order.add({.event = {.stage = Stage::wake, .number = number}, .thread = 1},
              [&taken](TracedEvent const& traced) { taken.push_back(traced.event.number); });
    return taken;
}

TEST(TraceOrder, HoldsBackWhatComesTooEarly) {
    TraceOrder order;
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(take(order, 0), (Numbers{0}));
    EXPECT_EQ(take(order, 3), (Numbers{}));
    EXPECT_EQ(take(order, 2), (Numbers{}));
    EXPECT_EQ(take(order, 1), (Numbers{1, 2, 3}));
    EXPECT_EQ(take(order, 5), (Numbers{}));
    Numbers rest;
    order.finish([&rest](TracedEvent const& traced) { rest.push_back(traced.event.number); });
    EXPECT_EQ(rest, (Numbers{5}));
}

TEST(TraceOrder, DoesNotWaitForEver) {
    TraceOrder order;
    for (std::uint64_t i = 1; i <= TraceOrder::kMostHeld; ++i) EXPECT_TRUE(take(order, i).empty());
    EXPECT_EQ(take(order, TraceOrder::kMostHeld + 1).size(), TraceOrder::kMostHeld + 1);
    EXPECT_EQ(take(order, TraceOrder::kMostHeld + 2).size(), 1U);
    // Bug pattern: a schedule that comes after its run begins what never ends.
    EXPECT_TRUE(take(order, 0).empty());
}

}  // namespace
}  // namespace timingwheel::detail
