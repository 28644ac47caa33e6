// The end of a trace, with too little memory.

#include <support/OutOfMemory.h>
#include <support/TestTimers.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerTrace.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Repeat = AllocationFailure::Repeat;

/// A trace dies with events that wait for an earlier one. True if an allocation failed.
template <class Trace>
bool endTrace(std::size_t kth, Repeat repeat) {
    Nowhere buffer;
    std::ostream nowhere{&buffer};
    std::vector<int> const entries(20);
    int reported = 0;
    auto trace = std::make_unique<Trace>(nowhere, [&](std::system_error const&) { ++reported; });
    for (std::size_t i = 0; i < entries.size(); ++i)
        trace->onEvent(
            {.stage = TimerEvent::Stage::schedule, .number = i + 1, .entry = &entries[i]});
    AllocationFailure const failure{kth, repeat};
    trace->flush();
    trace.reset();
    EXPECT_EQ(reported, failure.happened() ? 1 : 0);
    return failure.happened();
}

TEST(OutOfMemoryTrace, EndsWithEventsThatWaitForAnEarlierOne) {
    Tried tried = failEachAllocation(endTrace<JsonLinesTrace>);
    tried += failEachAllocation(endTrace<ChromeTrace>);
    tell("the end of a trace", tried, 20);
}

}  // namespace
}  // namespace timingwheel::test
