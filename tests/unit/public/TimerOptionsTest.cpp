#include <support/AllocationCounter.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Both constructors throw what names the option, its value and the bound, and leak nothing.
void expectInvalid(TimerOptions const& options, std::string const& message) {
    SCOPED_TRACE(message);
    expectThrows<std::invalid_argument>([&] { ManualTimer{options}; }, message);
    expectThrows<std::invalid_argument>([&] { SystemTimer{options}; }, message);
    AllocationCounter const counter;
    try {
        SystemTimer{options};
    } catch (std::invalid_argument const&) {
    }
    EXPECT_EQ(counter.allocations(), counter.deallocations());
}

TEST(TimerOptions, NamesTheTickItsValueAndTheBound) {
    expectInvalid({.tick = 0ms}, "tick is 0 ns: it must be at least 1 ns");
    expectInvalid({.tick = -1ms}, "tick is -1000000 ns: it must be at least 1 ns");
    expectInvalid({.tick = Duration::max()},
                  "tick is 9223372036854775807 ns: it must be at most 9223372036854775806 ns");
    expectInvalid({.tick = std::chrono::hours::max()}, "tick is 9223372036854775807 ns");
}

TEST(TimerOptions, NamesTheWheelSizeItsValueAndTheBound) {
    expectInvalid({.wheelSize = 1}, "wheelSize is 1: it must be at least 2");
    expectInvalid({.wheelSize = 0}, "wheelSize is 0: it must be at least 2");
    expectInvalid({.wheelSize = INT64_MIN}, "wheelSize is -9223372036854775808: it must be");
    expectInvalid({.wheelSize = 1'048'577}, "wheelSize is 1048577: it must be at most 1048576");
    expectInvalid({.wheelSize = INT64_MAX}, "it must be at most 1048576");
}

TEST(TimerOptions, NamesTheLevelItsSizeAndTheBound) {
    expectInvalid({.levelSizes = {60, 60, 1}}, "levelSizes[2] is 1: it must be at least 2");
    expectInvalid({.levelSizes = {-60}}, "levelSizes[0] is -60: it must be at least 2");
    expectInvalid({.levelSizes = {60, 1'048'577}}, "levelSizes[1] is 1048577: it must be at most");
    expectInvalid({.levelSizes = std::vector<std::int64_t>(61, 20)},
                  "levelSizes is of 61 levels: it must be of at most 60");
}

TEST(TimerOptions, NamesTheStartAndWhatTheClockAllows) {
    ManualClock clock;
    clock.advance(5s);
    expectInvalid({.start = Clock::TimePoint{5s + 1ns}, .clock = clock},
                  "start is 5000000001 ns: it must be at most the clock's time, 5000000000 ns");
    expectInvalid({.tick = 1ns,
                   .start = Clock::TimePoint{5s - nanoseconds{Tick::kMax / 2 + 1}},
                   .clock = clock},
                  " ns: it must be at most " + std::to_string(Tick::kMax / 2) +
                      " ticks before the clock's time");
    EXPECT_NO_THROW((ManualTimer{{.start = Clock::TimePoint{5s}, .clock = clock}}));
    EXPECT_NO_THROW((ManualTimer{{.tick = 1ns,
                                  .start = Clock::TimePoint{5s - nanoseconds{Tick::kMax / 2}},
                                  .clock = clock}}));
}

TEST(TimerOptions, NamesTheNameItsLengthAndTheBound) {
    expectInvalid({.name = "sixteen letters."},
                  "name is \"sixteen letters.\", 16 bytes long: "
                  "it must be at most 15 bytes long");
    expectInvalid({.name = std::string(3, '\0')}, "name is");
}

TEST(TimerOptions, NamesTheShardsTheirNumberAndTheBound) {
    for (std::size_t const shards : {std::size_t{3}, std::size_t{65}, std::size_t{128}}) {
        expectThrows<std::invalid_argument>(
            [&] { SystemTimer{{.shards = shards}}; },
            "shards is " + std::to_string(shards) + ": it must be 0 or a power of two up to 64");
    }
}

TEST(TimerOptions, NamesTheThresholdItsValueAndTheBound) {
    expectInvalid({.slowTaskThreshold = 0ms},
                  "slowTaskThreshold is 0 ns: it must be at least 1 ns");
    expectInvalid({.slowTaskThreshold = -1s}, "slowTaskThreshold is -1000000000 ns");
}

TEST(TimerOptions, NamesTheBudgetItsValueAndTheBound) {
    expectInvalid({.passBudget = 0ms}, "passBudget is 0 ns: it must be at least 1 ns");
    expectThrows<std::invalid_argument>(
        [] { SystemTimer{{.passBudget = 1ms}}; },
        "passBudget is 1000000 ns: it must be left out, the timer has a thread of its own");
    EXPECT_NO_THROW((ManualTimer{{.passBudget = 1ns}}));
}

TEST(TimerOptions, NamesTheSpinItsValueAndTheBound) {
    for (nanoseconds const spin : {nanoseconds{-1}, nanoseconds{1s} + 1ns}) {
        expectThrows<std::invalid_argument>(
            [&] { SystemTimer{{.spin = spin}}; },
            "spin is " + std::to_string(spin.count()) + " ns: it must be 0 to 1 s");
    }
}

TEST(TimerOptions, AreTakenAtTheirBounds) {
    EXPECT_NO_THROW((ManualTimer{{.tick = 1ns, .wheelSize = 2}}));
    EXPECT_NO_THROW((ManualTimer{{.tick = nanoseconds::max() - 1ns, .wheelSize = 1'048'576}}));
    EXPECT_NO_THROW((ManualTimer{{.name = "fifteen letters", .slowTaskThreshold = 1ns}}));
    EXPECT_NO_THROW((ManualTimer{{.name = "", .shards = 1}}));
    EXPECT_NO_THROW((SystemTimer{{.shards = 64, .spin = 1s}}));
}

TEST(TimerOptions, OfAThreadAreRefusedByAManualTimer) {
    SynchronousExecutor executor;
    expectThrows<std::invalid_argument>([&] { ManualTimer{{.executor = executor}}; }, "executor");
    expectThrows<std::invalid_argument>([&] { ManualTimer{{.spin = 1us}}; }, "spin is 1000 ns");
    expectThrows<std::invalid_argument>([&] { ManualTimer{{.shards = 2}}; }, "shards is 2");
    expectThrows<std::invalid_argument>(
        [&] {
            ManualTimer{{.threadFactory = [](std::function<void()> body) {
                return std::thread{std::move(body)};
            }}};
        },
        "threadFactory");
}

TEST(TimerOptions, CanBeAskedFor) {
    ManualClock clock;
    SystemTimer const timer{{.tick = 7ms, .name = "seven", .clock = clock}};
    EXPECT_EQ(timer.tick(), 7ms);
    EXPECT_EQ(timer.name(), "seven");
    EXPECT_EQ(&timer.clock(), &clock);
    EXPECT_EQ(&SystemTimer{}.clock(), &Clock::steady());
}

}  // namespace
}  // namespace timingwheel::test
