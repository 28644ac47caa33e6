// How often a timeout moves to a lower level on its way: counted, for any delay and tolerance.

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kWheelSize = 20;
constexpr std::int64_t kFarthest = 10'000'000;

/// The level on which a deadline is placed, in ticks since the timer's start: the lowest whose turn
/// reaches it.
struct Level {
    std::int64_t granularity = 1;

    Level(std::int64_t now, std::int64_t deadline) {
        while (deadline >= now / granularity * granularity + granularity * kWheelSize)
            granularity *= kWheelSize;
    }
};

/// What came of one timeout.
struct Way {
    std::int64_t now;
    std::int64_t deadline;  ///< as it was rounded
    std::uint64_t moves;
};

/// Schedules one timeout after the other; the timer is woken exactly when it asks to be.
class Ways {
public:
    Way follow(std::int64_t delay, std::int64_t tolerance) {
        clock_.add(1ms * static_cast<std::int64_t>(random_() % 20'000));
        std::uint64_t const before = moves();
        std::int64_t const now = ticks(clock_.now());
        auto const timeout = timer_.newTimeout([] {}, 1ms * delay, {.tolerance = 1ms * tolerance});
        std::int64_t const deadline = ticks(timeout.deadline());
        while (auto const next = timer_.nextExpiration()) {
            clock_.set(*next);
            timer_.advanceTo(*next);
        }
        EXPECT_TRUE(timeout.isExpired());
        return {now, deadline, moves() - before};
    }

    /// From one tick to kFarthest: all the short ones, then random ones of any length.
    template <class Each>
    std::uint64_t eachDelay(Each&& each) {
        constexpr std::int64_t kAll = 20'000;
        std::uint64_t const longer = scaled(80'000);
        for (std::int64_t delay = 1; delay <= kAll; ++delay) each(delay);
        for (std::uint64_t i = 0; i < longer; ++i) {
            std::int64_t const most = std::min(kFarthest, std::int64_t{1} << (14 + random_() % 11));
            each(std::uniform_int_distribution<std::int64_t>{1, most}(random_));
        }
        return kAll + longer;
    }

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

private:
    std::uint64_t moves() const {
        auto const byLevel = timer_.statistics().cascaded;
        return std::accumulate(byLevel.begin(), byLevel.end(), std::uint64_t{0});
    }
    static std::int64_t ticks(Clock::TimePoint time) { return time.time_since_epoch() / 1ms; }

    std::mt19937_64 random_{seedOr(7)};
    SettableClock clock_;
    ManualTimer timer_{{.clock = clock_}};
};

// G13
TEST(Cascade, MovesATimeoutThatMayBeATenthLateAtMostOnce) {
    Ways ways;
    std::uint64_t most = 0;
    std::uint64_t const delays = ways.eachDelay([&](std::int64_t delay) {
        Way const way = ways.follow(delay, delay / 10);
        most = std::max(most, way.moves);
        // It moves exactly if its slot does not begin at its deadline.
        bool const isAligned = way.deadline % Level{way.now, way.deadline}.granularity == 0;
        ASSERT_EQ(way.moves, isAligned ? 0U : 1U) << delay << " ticks from " << way.now;
    });
    figure("G13", "moves of a timeout that may be late by a tenth of its delay", most, atMost(1),
           {delays, 100'000});
}

// G13
TEST(Cascade, MovesNoTimeoutWhoseToleranceIsASlotOfTheLevelOfItsDeadline) {
    Ways ways;
    std::uint64_t most = 0;
    std::uint64_t mostInLastSlot = 0;
    std::uint64_t const delays = ways.eachDelay([&](std::int64_t delay) {
        std::int64_t const tolerance =
            1 + static_cast<std::int64_t>(ways.below(static_cast<std::uint64_t>(delay)));
        Way const way = ways.follow(delay, tolerance);
        Level const asked{way.now, way.now + delay};
        Level const rounded{way.now, way.deadline};
        if (tolerance >= rounded.granularity) most = std::max(most, way.moves);
        if (tolerance < asked.granularity || way.moves == 0) return;
        // Rounded up from the last slot of its level to where the next level begins.
        ASSERT_GT(rounded.granularity, asked.granularity) << delay << " ticks from " << way.now;
        ASSERT_GT(way.now + delay, way.now / asked.granularity * asked.granularity +
                                       (kWheelSize - 1) * asked.granularity);
        mostInLastSlot = std::max(mostInLastSlot, way.moves);
    });
    figure("G13", "moves where the tolerance is a slot of the level of the rounded deadline", most,
           exactly(0), {delays, 100'000});
    figure("G13", "moves where only the level of the deadline as asked has such slots",
           mostInLastSlot, atMost(1), {delays, 100'000});
}

}  // namespace
}  // namespace timingwheel::test
