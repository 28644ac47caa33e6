// Delays that count from a clock's coarse reading.

#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Shows G1.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// A clock set by hand, whose coarse reading is behind as far as one says, never back.
class LaggingClock final : public Clock {
public:
    static constexpr nanoseconds kLag = 12ms;

    TimePoint now() const noexcept override { return inner.now(); }
    TimePoint coarseNow() const noexcept override {
        coarse_ = std::max(coarse_, inner.now() - behind);
        ++readings;
        return coarse_;
    }
    nanoseconds coarseLag() const noexcept override { return lag; }
    std::unique_ptr<Waiter> makeWaiter() override { return inner.makeWaiter(); }
    void subscribe(std::weak_ptr<ClockListener> listener) override { inner.subscribe(listener); }

    ManualClock inner{TimePoint{1h}};
    nanoseconds behind{0};
    nanoseconds lag = kLag;
    mutable int readings = 0;

private:
    mutable TimePoint coarse_{};
};

struct Lease {
    void onEnd() { ended = clock.now(); }
    Clock& clock;
    Clock::TimePoint ended{};
    TimerHook<&Lease::onEnd> hook{*this};
};

template <class T>
class CoarseClock : public testing::Test {
protected:
    TimerOptions options(TimerOptions from = {}) {
        from.clock = clock;
        from.coarseClock = true;
        return from;
    }

    LaggingClock clock;
};
TYPED_TEST_SUITE(CoarseClock, WheelTimers, NamesOfTimers);

TYPED_TEST(CoarseClock, AddsItsMarginToADelay) {
    TypeParam timer{this->options()};
    this->clock.behind = 5ms;
    Timeout const t = timer.newTimeout([] {}, 100ms);
    EXPECT_EQ(t.deadline(), this->clock.now() - 5ms + 100ms + 12ms);
    this->clock.inner.advance(106ms);
    EXPECT_FALSE(t.isExpired());
    this->clock.inner.advance(1ms);
    EXPECT_TRUE(t.isExpired());
}

TYPED_TEST(CoarseClock, TakesAMarginOfJustItsLag) {
    TypeParam timer{this->options({.coarseMargin = LaggingClock::kLag})};
    EXPECT_EQ(timer.newTimeout([] {}, 100ms).deadline(), this->clock.now() + 112ms);
}

TYPED_TEST(CoarseClock, TakesAMarginOfYourOwn) {
    TypeParam timer{this->options({.coarseMargin = 20ms})};
    Timeout const t = timer.newTimeout([] {}, 100ms);
    EXPECT_EQ(t.deadline(), this->clock.now() + 120ms);
}

TYPED_TEST(CoarseClock, LeavesTimePointsAsTheyAre) {
    TypeParam timer{this->options()};
    this->clock.behind = 5ms;
    Timeout const t = timer.newTimeout([] {}, this->clock.now() + 100ms);
    EXPECT_EQ(t.deadline(), this->clock.now() + 100ms);
    EXPECT_TRUE(timer.reschedule(t, this->clock.now() + 50ms));
    EXPECT_EQ(t.deadline(), this->clock.now() + 50ms);
}

TYPED_TEST(CoarseClock, RunsAtOnceWhatIsDueAtOnce) {
    TypeParam timer{this->options()};
    this->clock.behind = 5ms;
    for (Duration const delay : {Duration{0ms}, Duration{-1ms}, Duration{nanoseconds::min()}}) {
        Timeout const t = timer.newTimeout([] {}, delay);
        Timeout const moved = timer.newTimeout([] {}, 1h);
        EXPECT_TRUE(timer.reschedule(moved, delay));
        this->clock.inner.advance(0ms);
        EXPECT_TRUE(t.isExpired());
        EXPECT_TRUE(moved.isExpired());
    }
}

// Bug pattern: a time that has passed since the reading is taken for one that is to come.
TYPED_TEST(CoarseClock, RunsAtOnceWhatHasPassedSinceTheReading) {
    TypeParam timer{this->options()};
    this->clock.inner.advance(500us);  // within a tick
    this->clock.behind = 5ms;
    Clock::TimePoint const now = this->clock.now();
    for (nanoseconds const ago : {nanoseconds{0ns}, nanoseconds{1ns}, nanoseconds{200us}}) {
        Timeout const t = timer.newTimeout([] {}, now - ago);
        this->clock.inner.advance(0ms);
        EXPECT_TRUE(t.isExpired()) << ago.count() << " ns ago";
    }
    Timeout const t = timer.newTimeout([] {}, now + 1ns);
    this->clock.inner.advance(0ms);
    EXPECT_FALSE(t.isExpired());
    static_cast<void>(timer.stop());
}

// What is added must not turn a delay into "never", nor wrap.
TYPED_TEST(CoarseClock, KeepsVeryLongDelays) {
    TypeParam timer{this->options()};
    Timeout const never = timer.newTimeout([] {}, Duration::max());
    EXPECT_EQ(never.remaining(), nanoseconds::max());
    Timeout const late = timer.newTimeout([] {}, 290h * 24 * 365);
    EXPECT_EQ(late.deadline(), this->clock.now() + 290h * 24 * 365 + 12ms);
}

// Bug pattern: the wheel's clock runs ahead of the coarse one, and new entries are due on arrival.
TYPED_TEST(CoarseClock, IsNotDueOnArrivalThoughTheDriverIsAhead) {
    TypeParam timer{this->options()};
    this->clock.behind = 12ms;
    std::vector<Timeout> all;
    for (int i = 0; i < 50; ++i) {
        all.push_back(timer.newTimeout([] {}, 1ms));
        this->clock.inner.advance(1ms);  // moves the wheel's clock, too
        EXPECT_FALSE(all.back().isExpired() && all.back().deadline() > this->clock.now());
        timer.checkInvariants();
    }
    this->clock.inner.advance(20ms);
    for (Timeout const& t : all) EXPECT_TRUE(t.isExpired());
}

TYPED_TEST(CoarseClock, CountsPeriodsExactly) {
    TypeParam timer{this->options()};
    std::vector<Clock::TimePoint> runs;
    Timeout const t =
        timer.scheduleAtFixedRate([&] { runs.push_back(this->clock.now()); }, 10ms, 10ms);
    Clock::TimePoint const first = this->clock.now() + 10ms + 12ms;
    this->clock.behind = 7ms;
    this->clock.inner.advance(62ms);
    ASSERT_EQ(runs.size(), 5U);
    for (std::size_t i = 0; i < runs.size(); ++i)
        EXPECT_EQ(runs[i], first + static_cast<int>(i) * 10ms);
    EXPECT_TRUE(t.cancel());
}

// G1
TYPED_TEST(CoarseClock, IsNeverEarlyWhileTheReadingIsBehindByNoMoreThanTheMargin) {
    std::mt19937_64 random{seedOr(1)};
    auto const below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    TypeParam timer{this->options({.wheelSize = 4})};
    std::uint64_t early = 0;
    std::uint64_t late = 0;
    std::uint64_t count = 0;
    auto const lagBehind = [&] {
        this->clock.behind = nanoseconds{below(LaggingClock::kLag.count() + 1)};
    };
    for (int round = 0; round < 2'000; ++round) {
        Duration const delay = nanoseconds{1 + below(nanoseconds{300ms}.count())};
        Lease lease{this->clock};
        lagBehind();
        Clock::TimePoint asked = this->clock.now();
        if (round % 3 == 0) {
            timer.schedule(lease.hook, delay);
        } else {
            timer.schedule(lease.hook, 1h);
            this->clock.inner.advance(nanoseconds{below(1'000'000)});
            lagBehind();
            asked = this->clock.now();
            std::array<TimerHookBase*, 1> const batch{&lease.hook};
            ASSERT_TRUE(round % 3 == 1 ? lease.hook.reschedule(delay)
                                       : timer.reschedule(batch, delay) == 1);
        }
        this->clock.inner.advance(400ms);
        ++count;
        ASSERT_NE(lease.ended, Clock::TimePoint{});
        Clock::TimePoint const due = asked + delay.nanoseconds();
        if (lease.ended < due) ++early;
        if (lease.ended > due + LaggingClock::kLag + timer.tick()) ++late;
    }
    EXPECT_EQ(late, 0U) << "later than the margin and a tick";
    figure("G1", "tasks early by a reading behind within the margin", early, exactly(0),
           {count, 2'000});
}

TEST(CoarseClockTest, IsReadWhereItWasAskedForOrIsBehindByLittle) {
    LaggingClock clock;
    auto const coarseReadings = [&clock](TimerOptions options) {
        options.clock = clock;
        ManualTimer timer{options};
        timer.newTimeout([] {}, 1s);
        return std::exchange(clock.readings, 0);
    };
    EXPECT_EQ(coarseReadings({}), 0);
    EXPECT_EQ(coarseReadings({.coarseClock = true}), 1);
    EXPECT_EQ(coarseReadings({.tick = LaggingClock::kLag * 10 - 1ns}), 0);
    EXPECT_EQ(coarseReadings({.tick = LaggingClock::kLag * 10}), 1);
    clock.lag = 1ns;
    EXPECT_EQ(coarseReadings({}), 1);
    clock.lag = 0ns;
    EXPECT_EQ(coarseReadings({}), 0);
}

TEST(CoarseClockTest, IsExactWhereAClockHasNoCoarseReading) {
    ManualClock clock;
    ManualTimer timer{{.clock = clock, .coarseClock = true}};
    EXPECT_EQ(timer.newTimeout([] {}, 7ms).deadline(), clock.now() + 7ms);
}

TEST(CoarseClockTest, RefusesAMarginThatIsTooSmallOrForNothing) {
    LaggingClock clock;
    expectThrows<std::invalid_argument>(
        [&] { SystemTimer{{.clock = clock, .coarseClock = true, .coarseMargin = 11ms}}; },
        "coarseMargin is 11000000 ns: it must be at least the clock's coarseLag(), 12000000 ns");
    expectThrows<std::invalid_argument>(
        [&] { SystemTimer{{.clock = clock, .coarseMargin = 20ms}}; },
        "coarseMargin is 20000000 ns: it must be left out, unless coarseClock is true");
}

TEST(CoarseClockTest, TheSteadyOneIsNeverAheadAndWithinItsLag) {
    Clock& clock = Clock::steady();
    nanoseconds mostBehind{0};
    auto const end = clock.now() + 50ms;
    Clock::TimePoint before{};
    for (Clock::TimePoint exact{}; exact < end;) {
        Clock::TimePoint const coarse = clock.coarseNow();
        exact = clock.now();
        ASSERT_LE(coarse, exact);
        ASSERT_GE(coarse, before) << "it went back";
        before = coarse;
        mostBehind = std::max<nanoseconds>(mostBehind, exact - coarse);
    }
    figure("G1", "the coarse reading behind by at most, in ns", mostBehind.count(),
           aboutAtMost(static_cast<double>(clock.coarseLag().count())));
}

// G1, with the machine's own clocks. Where a reading was behind by more than the margin, nothing is
// promised.
TEST(CoarseClockTest, IsNeverEarlyOnThisMachine) {
    Clock& clock = Clock::steady();
    SystemTimer timer{{.tick = 10ms, .coarseClock = true}};
    std::mt19937_64 random{seedOr(1)};
    std::atomic<std::uint64_t> early{0};
    std::atomic<std::uint64_t> ran{0};
    constexpr std::uint64_t kCount = 20'000;
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        nanoseconds const delay{random() % nanoseconds{100ms}.count()};
        Clock::TimePoint const coarse = clock.coarseNow();  // not later than the timer's reading
        Clock::TimePoint const asked = clock.now();
        bool const isPromised = asked - coarse <= clock.coarseLag();
        if (isPromised) ++count;
        timer.newTimeout(
            [&, isPromised, due = asked + delay] {
                if (isPromised && clock.now() < due) ++early;
                ++ran;
            },
            delay);
    }
    timer.drain();
    EXPECT_EQ(ran, kCount);
    figure("G1", "tasks early by the machine's coarse clock", early.load(), exactly(0), {count, 0});
}

}  // namespace
}  // namespace timingwheel::test
