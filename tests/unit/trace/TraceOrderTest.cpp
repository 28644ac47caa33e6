#include "core/trace/TraceOrder.h"

#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace timingwheel::detail {
namespace {

using Stage = TimerEvent::Stage;

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
