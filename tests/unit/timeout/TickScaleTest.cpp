// The arithmetic between time and ticks, at its edges.

#include "core/timeout/TickScale.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

// Shows G1.

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using TimePoint = Clock::TimePoint;

__extension__ typedef __int128 Wide;  // for what is expected: nothing overflows in it

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TimePoint at(std::int64_t time) { return TimePoint{nanoseconds{time}}; }

TEST(TickScale, RoundsADeadlineUp) {
    TickScale const scale{at(5'000'000), 1ms};
    EXPECT_EQ(scale.deadlineToTick(at(5'000'000)), Tick{0});
    EXPECT_EQ(scale.deadlineToTick(at(5'000'001)), Tick{1});
    EXPECT_EQ(scale.deadlineToTick(at(6'000'000)), Tick{1});
    EXPECT_EQ(scale.deadlineToTick(at(6'000'001)), Tick{2});
}

TEST(TickScale, FindsTheTickAfterADeadline) {
    TickScale const scale{at(5'000'000), 1ms};
    EXPECT_EQ(scale.tickAfter(at(4'999'999)), Tick{0});
    EXPECT_EQ(scale.tickAfter(at(5'000'000)), Tick{1});
    EXPECT_EQ(scale.tickAfter(at(5'999'999)), Tick{1});
    EXPECT_EQ(scale.tickAfter(at(6'000'000)), Tick{2});
    EXPECT_EQ(scale.tickAfter(at(kMost - 1'000'000 + 1)), Tick::max());
    EXPECT_NE(scale.tickAfter(at(kMost - 1'000'000)), Tick::max());
}

TEST(TickScale, RoundsNowDown) {
    TickScale const scale{at(5'000'000), 1ms};
    EXPECT_EQ(scale.nowToTick(at(5'000'000)), Tick{0});
    EXPECT_EQ(scale.nowToTick(at(5'999'999)), Tick{0});
    EXPECT_EQ(scale.nowToTick(at(6'000'000)), Tick{1});
    EXPECT_EQ(scale.nowToTick(at(6'999'999)), Tick{1});
}

TEST(TickScale, PutsWhatLiesBeforeTheStartThere) {
    TickScale const scale{at(5'000'000), 1ms};
    for (std::int64_t const time : {kLeast, std::int64_t{-1}, std::int64_t{4'999'999}}) {
        EXPECT_EQ(scale.deadlineToTick(at(time)), Tick{0}) << time;
        EXPECT_EQ(scale.nowToTick(at(time)), Tick{-1}) << time;
    }
    EXPECT_EQ(scale.timeOf(Tick{-1}), at(4'000'000));
}

struct Scale {
    std::int64_t origin;
    std::int64_t tick;
};

std::vector<Scale> hostileScales() {
    std::vector<Scale> scales;
    for (std::int64_t const origin : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, kLeast,
                                      kLeast + 1, kLeast / 2, kMost / 2, kMost - 1, kMost})
        for (std::int64_t const tick : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7},
                                        std::int64_t{1'000'000}, kMost / 2, kMost - 2, kMost - 1})
            scales.push_back({origin, tick});
    return scales;
}

/// Times around the first ticks and around the ends of what can be expressed.
std::vector<std::int64_t> hostileTimes(Scale const& scale) {
    std::vector<std::int64_t> times{kLeast, kLeast + 1, -1, 0, 1, kMost - 1, kMost};
    for (std::int64_t const base : {scale.origin, kMost - scale.tick})
        for (std::int64_t const ticks : {0, 1, 2})
            for (std::int64_t const off : {-1, 0, 1}) {
                Wide const time =
                    static_cast<Wide>(base) + static_cast<Wide>(ticks) * scale.tick + off;
                if (time >= kLeast && time <= kMost)
                    times.push_back(static_cast<std::int64_t>(time));
            }
    return times;
}

// G1, G2, G13, G14: a deadline's tick begins no earlier than it and less than a tick after it.
TEST(TickScale, IsNeverEarlyAndLessThanATickLateAtItsExtremes) {
    for (Scale const& s : hostileScales()) {
        TickScale const scale{at(s.origin), nanoseconds{s.tick}};
        for (std::int64_t const time : hostileTimes(s)) {
            SCOPED_TRACE(testing::Message()
                         << "origin " << s.origin << ", tick " << s.tick << ", time " << time);
            Tick const deadline = scale.deadlineToTick(at(time));
            Tick const now = scale.nowToTick(at(time));
            EXPECT_LE(now, deadline);
            EXPECT_LT(now, Tick::max());
            if (time < s.origin) continue;
            Wide const begins =
                static_cast<Wide>(s.origin) + static_cast<Wide>(deadline.value()) * s.tick;
            if (deadline == Tick::max()) {
                EXPECT_TRUE(time > kMost - s.tick || begins <= time + Wide{s.tick});
                EXPECT_EQ(scale.timeOf(deadline), TimePoint::max());
                continue;
            }
            EXPECT_GE(begins, time);
            EXPECT_LT(begins - time, s.tick);
            EXPECT_EQ(scale.timeOf(deadline), at(static_cast<std::int64_t>(begins)));
            EXPECT_EQ(scale.nowToTick(scale.timeOf(deadline)), deadline);
        }
    }
}

TEST(TickScale, SaturatesBeyondTheLastTick) {
    TickScale const fine{at(kLeast), 1ns};
    EXPECT_EQ(fine.deadlineToTick(at(kLeast + Tick::kMax - 1)), Tick{Tick::kMax - 1});
    EXPECT_EQ(fine.deadlineToTick(at(kLeast + Tick::kMax)), Tick::max());
    EXPECT_EQ(fine.deadlineToTick(at(kMost)), Tick::max());
    // "Never" does not come.
    EXPECT_EQ(fine.nowToTick(at(kLeast + Tick::kMax)), Tick{Tick::kMax - 1});
    EXPECT_EQ(fine.nowToTick(at(kMost)), Tick{Tick::kMax - 1});
    EXPECT_EQ(fine.timeOf(Tick::max()), TimePoint::max());
    TickScale const coarse{at(0), 24h};
    EXPECT_EQ(coarse.timeOf(Tick{Tick::kMax - 1}), TimePoint::max());
}

// A tick that would end beyond the end of time does not come.
TEST(TickScale, MakesNeverOfADeadlineWhoseTickMayBeginBeyondTheEndOfTime) {
    TickScale const scale{at(0), nanoseconds{kMost - 1}};
    EXPECT_EQ(scale.deadlineToTick(at(0)), Tick{0});
    EXPECT_EQ(scale.deadlineToTick(at(1)), Tick{1});
    EXPECT_EQ(scale.timeOf(Tick{1}), at(kMost - 1));
    EXPECT_EQ(scale.deadlineToTick(at(2)), Tick::max());
    EXPECT_EQ(scale.nowToTick(at(kMost - 2)), Tick{0});
    EXPECT_EQ(scale.nowToTick(at(kMost - 1)), Tick{1});
    EXPECT_EQ(scale.timeOf(Tick{2}), TimePoint::max());
}

}  // namespace
}  // namespace timingwheel::detail
