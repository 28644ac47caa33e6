#include "core/base/RecentTime.h"

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

// Shows G1.

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;
using namespace timingwheel::test;
using std::chrono::nanoseconds;

/// A counter, and a clock that a thread may read it for. Each reading takes a moment.
struct Hardware {
    static constexpr std::uint64_t kRate = 3;  // counts in a nanosecond

    static void reset() {
        time = TimePoint{1h};
        counter = std::uint64_t{1} << 62;
        isSource = true;
        betweenReadings = {};
    }
    /// So much time passes, in which the counter counts at `rate` of its own.
    static void pass(nanoseconds length, double rate = 1) {
        time += length;
        counter += static_cast<std::uint64_t>(static_cast<double>(length.count()) * rate *
                                              static_cast<double>(kRate));
    }

    static std::uint64_t count() noexcept {
        pass(10ns);
        return counter;
    }
    static TimePoint exact() noexcept {
        pass(betweenReadings + 20ns);  // the thread has lost its processor
        TimePoint const reading = time;
        pass(betweenReadings);
        return reading;
    }
    static bool isSourceOfClock() noexcept { return isSource; }

    static inline TimePoint time;
    static inline std::uint64_t counter;
    static inline bool isSource;
    static inline nanoseconds betweenReadings;
};

class RecentTimeTest : public testing::Test {
protected:
    using Recent = RecentTime<Hardware>;

    RecentTimeTest() { Hardware::reset(); }

    /// How far a reading is behind the clock.
    nanoseconds behind(Recent::Reading& last) {
        TimePoint const reading = recent_.now(last);
        return Hardware::time - reading;
    }

    Recent recent_;
    Recent::Reading last_;
};

TEST_F(RecentTimeTest, IsTheLastExactReadingForAWhile) {
    ASSERT_TRUE(recent_.begin());
    TimePoint const first = recent_.now(last_);
    EXPECT_EQ(first, Hardware::time);
    Hardware::pass(Recent::kAge / 2);
    EXPECT_EQ(recent_.now(last_), first);
    Hardware::pass(Recent::kAge / 2);
    EXPECT_GE(recent_.now(last_), first + Recent::kAge);
}

TEST_F(RecentTimeTest, IsEachThreadsOwn) {
    ASSERT_TRUE(recent_.begin());
    Recent::Reading other;
    TimePoint const first = recent_.now(last_);
    Hardware::pass(1us);
    TimePoint const second = recent_.now(other);
    EXPECT_GT(second, first);
    EXPECT_EQ(recent_.now(last_), first);
    EXPECT_EQ(recent_.now(other), second);
}

TEST_F(RecentTimeTest, IsExactWhereTheClockIsNotTheCounter) {
    Hardware::isSource = false;
    EXPECT_FALSE(recent_.begin());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(behind(last_), 0ns);
}

TEST_F(RecentTimeTest, IsExactWhereTheCounterStandsStill) {
    struct Still : Hardware {
        static std::uint64_t count() noexcept { return 7; }
    };
    RecentTime<Still> recent;
    EXPECT_FALSE(recent.begin());
    RecentTime<Still>::Reading last;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(recent.now(last), Hardware::time);
}

/// What counter and clock may do between two readings.
struct Hostile {
    std::string name;
    void (*happens)(std::mt19937_64&);
};
nanoseconds upTo(std::mt19937_64& random, nanoseconds most) {
    return nanoseconds{
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most.count()))};
}

Hostile const kHostile[] = {
    Hostile{"goes on", [](std::mt19937_64& random) { Hardware::pass(upTo(random, 40us)); }},
    Hostile{"jumps forward",
            [](std::mt19937_64& random) {
                Hardware::pass(upTo(random, 20us));
                if (random() % 8 == 0) Hardware::counter += random() >> 30;
            }},
    Hostile{"goes back",
            [](std::mt19937_64& random) {
                Hardware::pass(upTo(random, 20us));
                if (random() % 8 == 0) Hardware::counter -= 30'000'000'000 + (random() >> 30);
            }},
    Hostile{"is reset",
            [](std::mt19937_64& random) {
                Hardware::pass(upTo(random, 20us));
                if (Hardware::counter < std::uint64_t{1} << 60) return;
                Hardware::counter = 0;
                Hardware::pass(40us);  // no program runs earlier after that
            }},
    Hostile{"is slewed",
            [](std::mt19937_64& random) {
                bool const isFaster = random() % 2 == 0;
                Hardware::pass(upTo(random, 40us), isFaster ? 1.11 : 0.89);
            }},
    Hostile{"differs by processor",
            [](std::mt19937_64& random) {
                Hardware::pass(upTo(random, 20us));
                static std::int64_t offset = 0;
                std::int64_t const next = static_cast<std::int64_t>(random() % 6'000) - 3'000;
                Hardware::counter += static_cast<std::uint64_t>(next - offset);
                offset = next;
            }},
    Hostile{"is read late",
            [](std::mt19937_64& random) {
                Hardware::pass(upTo(random, 20us));
                Hardware::betweenReadings = random() % 4 == 0 ? upTo(random, 30ms) : 0ns;
            }},
    Hostile{"runs at another rate",
            [](std::mt19937_64& random) { Hardware::pass(upTo(random, 40us), 0.6); }},
};

// G1
TEST_F(RecentTimeTest, IsNeverBehindByMoreThanIsPromisedWhateverTheCounterDoes) {
    for (Hostile const& hostile : kHostile) {
        SCOPED_TRACE(hostile.name);
        Hardware::reset();
        Recent recent;
        ASSERT_TRUE(recent.begin());
        std::mt19937_64 random{seedOr(1)};
        std::array<Recent::Reading, 3> threads{};
        std::size_t const count = scaled(200'000);
        nanoseconds most{0};
        for (std::size_t i = 0; i < count; ++i) {
            hostile.happens(random);
            TimePoint const asked = Hardware::time;
            TimePoint const reading = recent.now(threads[random() % threads.size()]);
            ASSERT_LE(reading, Hardware::time) << "ahead of the clock";
            most = std::max<nanoseconds>(most, asked - reading);
        }
        EXPECT_TRUE(recent.isInUse());
        figure("G1", "a recent reading behind, of a counter that " + hostile.name + ", ns, at most",
               most.count(), atMost(Recent::kLag.count()), {count, 200'000});
    }
}

TEST_F(RecentTimeTest, IsExactOnceTheCounterHasTurnedOutTooSlow) {
    ASSERT_TRUE(recent_.begin());
    recent_.now(last_);
    Hardware::pass(1ms, 0.1);
    recent_.now(last_);
    EXPECT_FALSE(recent_.isInUse());
    Recent::Reading other;
    for (int i = 0; i < 100; ++i) {
        Hardware::pass(1us, 0.1);
        EXPECT_EQ(behind(last_), 0ns);
        EXPECT_EQ(behind(other), 0ns);
    }
}

// Bug pattern: a thread that loses its processor while it counts takes an age for too long.
TEST_F(RecentTimeTest, TakesNoAgeForLongerThanItIs) {
    Hardware::betweenReadings = 5us;
    ASSERT_TRUE(recent_.begin());
    Hardware::betweenReadings = 0ns;
    TimePoint const first = recent_.now(last_);
    while (recent_.now(last_) == first) Hardware::pass(100ns);
    EXPECT_LE(Hardware::time - first, Recent::kAge + 200ns);
}

TEST_F(RecentTimeTest, GivesUpAClockThatStandsStill) {
    struct Still : Hardware {
        static TimePoint exact() noexcept { return TimePoint{1h}; }
    };
    EXPECT_FALSE(RecentTime<Still>{}.begin());
}

}  // namespace
}  // namespace timingwheel::detail
