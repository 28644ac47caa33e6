// Where time becomes ticks: deadlines round up, now rounds down, from any start of the clock.

#include <support/Recorder.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr std::array<nanoseconds, 5> kTicks{1ms, 7ms, 10ms, 100ms, 250us};
constexpr std::array<std::int64_t, 5> kWheelSizes{2, 3, 20, 64, 512};

/// What came of many timers: how early and how late they ran.
struct Punctuality {
    std::size_t runs = 0;
    std::size_t early = 0;
    std::size_t tooLate = 0;
    nanoseconds latest{0};

    void ran(Clock::TimePoint now, Clock::TimePoint due, nanoseconds mayBeLate) {
        ++runs;
        if (now < due) ++early;
        if (now - due >= mayBeLate) ++tooLate;
        latest = std::max(latest, now - due);
    }
};

nanoseconds randomDelay(std::mt19937_64& random, nanoseconds tick) {
    auto const magnitude = std::uniform_int_distribution<int>{0, 20}(random);
    auto const longest = (std::int64_t{1} << magnitude) * tick.count();
    return nanoseconds{std::uniform_int_distribution<std::int64_t>{0, longest}(random)};
}

/// A caller that comes when nextExpiration() says so, and in between.
void advanceInSteps(ManualTimer& timer, SettableClock& clock, Clock::TimePoint to) {
    for (;;) {
        auto const next = timer.nextExpiration();
        if (!next || *next > to) break;
        clock.set(std::max(clock.now(), *next));
        timer.advanceTo(clock.now());
    }
    clock.set(to);
    timer.advanceTo(to);
}

struct Shape {
    nanoseconds tick;
    std::int64_t wheelSize;
};

void runRandomTimers(Shape shape, std::size_t count, Duration tolerance, std::mt19937_64& random,
                     Punctuality& punctuality) {
    SettableClock clock;
    ManualTimer timer{{.tick = shape.tick, .wheelSize = shape.wheelSize, .clock = clock}};
    auto const mayBeLate = shape.tick + tolerance.nanoseconds();
    std::uniform_int_distribution<std::int64_t> phase{0, shape.tick.count()};
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 16 == 0) advanceInSteps(timer, clock, clock.now() + nanoseconds{phase(random) * 3});
        nanoseconds const delay = randomDelay(random, shape.tick);
        Clock::TimePoint const due = clock.now() + delay;
        auto task = [&, due] { punctuality.ran(clock.now(), due, mayBeLate); };
        if (i % 2 == 0)
            timer.newTimeout(task, delay, {.tolerance = tolerance});
        else
            timer.newTimeout(task, due, {.tolerance = tolerance});
    }
    advanceInSteps(timer, clock, clock.now() + (std::int64_t{1} << 21) * shape.tick);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G1, G2
TEST(Intake, IsNeverEarlyAndLessThanATickLateAtAnyTickAndWheelSize) {
    std::uint64_t const seed = seedOr(1);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    Punctuality punctuality;
    std::size_t const each = scaled(1'000'000) / (kTicks.size() * kWheelSizes.size());
    for (nanoseconds const tick : kTicks)
        for (std::int64_t const wheelSize : kWheelSizes)
            runRandomTimers({tick, wheelSize}, each, Duration{}, random, punctuality);
    EXPECT_EQ(punctuality.runs, each * 25);
    EXPECT_EQ(punctuality.early, 0U);
    EXPECT_EQ(punctuality.tooLate, 0U);
    Of const all{punctuality.runs, 1'000'000};
    figure("G1", "early, at 25 ticks and wheel sizes", punctuality.early, exactly(0), all);
    figure("G2", "a tick late or more, at 25 ticks and wheel sizes", punctuality.tooLate,
           exactly(0), all);
}

// G1, G2
TEST(Intake, IsLateByLessThanTickAndTolerance) {
    std::uint64_t const seed = seedOr(2);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    Punctuality punctuality;
    std::size_t const each = scaled(200'000) / (kTicks.size() * kWheelSizes.size() * 4);
    for (nanoseconds const tick : kTicks)
        for (std::int64_t const wheelSize : kWheelSizes)
            for (std::int64_t const tolerance :
                 {std::int64_t{1}, wheelSize - 1, wheelSize, std::int64_t{1000}})
                runRandomTimers({tick, wheelSize}, each, tick * tolerance, random, punctuality);
    EXPECT_EQ(punctuality.runs, each * 100);
    EXPECT_EQ(punctuality.early, 0U);
    EXPECT_EQ(punctuality.tooLate, 0U);
    Of const all{punctuality.runs, 200'000};
    figure("G1", "early, with a tolerance", punctuality.early, exactly(0), all);
    figure("G2", "late by tick and tolerance or more", punctuality.tooLate, exactly(0), all);
}

// G1, G2
TEST(Intake, IsNeverEarlyOnTheDriverThread) {
    std::uint64_t const seed = seedOr(3);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    Punctuality punctuality;
    std::size_t const each = scaled(3'000) / (kTicks.size() * kWheelSizes.size());
    for (nanoseconds const tick : kTicks) {
        for (std::int64_t const wheelSize : kWheelSizes) {
            ManualClock clock;
            SystemTimer timer{{.tick = tick, .wheelSize = wheelSize, .clock = clock}};
            for (std::size_t i = 0; i < each; ++i) {
                nanoseconds const delay = randomDelay(random, tick) / 1024;
                Clock::TimePoint const due = clock.now() + delay;
                timer.newTimeout([&, due] { punctuality.ran(clock.now(), due, tick); }, delay);
                if (i % 8 == 0) clock.advance(nanoseconds{delay / 3});
            }
            clock.advance(1024 * tick);
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
        }
    }
    EXPECT_EQ(punctuality.runs, each * 25);
    EXPECT_EQ(punctuality.early, 0U);
    EXPECT_EQ(punctuality.tooLate, 0U);
    Of const all{punctuality.runs, 3'000};
    figure("G1", "early, on the driver thread", punctuality.early, exactly(0), all);
    figure("G2", "a tick late or more, on the driver thread", punctuality.tooLate, exactly(0), all);
}

TEST(Intake, RoundsADeadlineUpToTheTick) {
    ManualClock clock;
    ManualTimer timer{{.tick = 10ms, .clock = clock}};
    auto const start = clock.now();
    EXPECT_EQ(timer.newTimeout([] {}, 1ns).deadline(), start + 10ms);
    EXPECT_EQ(timer.newTimeout([] {}, 10ms).deadline(), start + 10ms);
    EXPECT_EQ(timer.newTimeout([] {}, 10ms + 1ns).deadline(), start + 20ms);
    EXPECT_EQ(timer.newTimeout([] {}, start + 21ms).deadline(), start + 30ms);
    clock.advance(3ms);
    EXPECT_EQ(timer.newTimeout([] {}, 10ms).deadline(), start + 20ms);
}

TEST(Intake, RoundsUpToTheCoarsestSlotThatTheToleranceAllows) {
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};  // 1 ms x 20
    auto const start = clock.now();
    auto const deadlineOf = [&](Duration delay, Duration tolerance) {
        return timer.newTimeout([] {}, delay, {.tolerance = tolerance}).deadline() - start;
    };
    EXPECT_EQ(deadlineOf(1001ms, 0ms), 1001ms);
    EXPECT_EQ(deadlineOf(1001ms, 19ms), 1001ms);
    EXPECT_EQ(deadlineOf(1001ms, 20ms), 1020ms);
    EXPECT_EQ(deadlineOf(1001ms, 399ms), 1020ms);
    EXPECT_EQ(deadlineOf(1001ms, 400ms), 1200ms);
    EXPECT_EQ(deadlineOf(1001ms, 8s), 8s);
    EXPECT_EQ(deadlineOf(8s, 8s), 8s);
    EXPECT_EQ(deadlineOf(8001ms, 8s), 16s);
}

TEST(Intake, RoundsATolerantDeadlineToTheLevelsOfAClock) {
    ManualClock clock;
    ManualTimer timer{{.tick = 1s, .levelSizes = {60, 60, 24, 7}, .clock = clock}};
    auto const deadlineOf = [&](Duration delay, Duration tolerance) {
        return timer.newTimeout([] {}, delay, {.tolerance = tolerance}).deadline() - clock.now();
    };
    EXPECT_EQ(deadlineOf(90s, 59s), 90s);
    EXPECT_EQ(deadlineOf(90s, 60s), 2min);
    EXPECT_EQ(deadlineOf(90min, 59min), 90min);
    EXPECT_EQ(deadlineOf(90min, 1h), 2h);
    EXPECT_EQ(deadlineOf(25h, 24h), 48h);
}

// Ticks count from the start, which may lie before the timer was made: a midnight.
TEST(Intake, CountsTicksFromTheStart) {
    ManualClock clock;
    clock.advance(9h + 15min + 40s + 300ms);
    for (Duration const tick : {Duration{1s}, Duration{7ms}, Duration{1min}}) {
        ManualTimer timer{{.tick = tick,
                           .levelSizes = {60, 60, 24, 7},
                           .start = Clock::TimePoint{},
                           .clock = clock}};
        for (Duration const delay : {Duration{1ns}, Duration{700ms}, Duration{1s}, Duration{3h}}) {
            Timeout const timeout = timer.newTimeout([] {}, delay);
            std::chrono::nanoseconds const since = timeout.deadline().time_since_epoch();
            EXPECT_EQ(since % tick.nanoseconds(), 0ns) << "a tick counted from midnight";
            EXPECT_GE(timeout.deadline(), clock.now() + delay.nanoseconds());
            EXPECT_LT(timeout.deadline(), clock.now() + delay.nanoseconds() + tick.nanoseconds());
        }
        timer.checkInvariants();
    }
}

TEST(Intake, FiresOnTimeWhereverItsTicksCountFrom) {
    ManualClock clock;
    clock.advance(std::chrono::hours{24 * 365});
    ManualTimer timer{{.levelSizes = {10, 6, 24}, .start = Clock::TimePoint{}, .clock = clock}};
    std::vector<std::chrono::nanoseconds> ran;
    Clock::TimePoint const begin = clock.now();
    for (Duration const delay : {Duration{1ms}, Duration{59ms}, Duration{60ms}, Duration{5s}})
        timer.newTimeout([&] { ran.push_back(clock.now() - begin); }, delay);
    timer.checkInvariants();
    clock.advance(10s);
    EXPECT_EQ(ran, (std::vector<std::chrono::nanoseconds>{1ms, 59ms, 60ms, 5s}));
}

// Bug pattern: a power of the wheel size just below 2^63 overflows when a deadline is rounded up.
TEST(Intake, TakesAnyToleranceAtAnyWheelSize) {
    for (std::int64_t const wheelSize : {2L, 3L, 127L, 511L, 1448L, 6208L, 55108L}) {
        ManualClock clock;
        ManualTimer timer{{.tick = 1ns, .wheelSize = wheelSize, .clock = clock}};
        for (Duration const delay : {Duration{1ns}, Duration{std::chrono::hours{24 * 365 * 17}}}) {
            auto const timeout = timer.newTimeout([] {}, delay, {.tolerance = Duration::max()});
            EXPECT_TRUE(timeout.isPending());
            EXPECT_GE(timeout.deadline(), clock.now() + delay.nanoseconds());
        }
    }
}

// G13
// Bug pattern: rounded up as far as the tolerance allows, it is beyond the last tick: "never".
TEST(Intake, ATolerantDeadlineThatCannotBeRoundedUpStaysWhereItIs) {
    constexpr std::chrono::hours kYear{24 * 365};
    ManualClock clock;
    ManualTimer timer{{.tick = 1ns, .wheelSize = 2, .clock = clock}};
    Duration const delay = 19 * kYear / 2;
    auto const timeout = timer.newTimeout([] {}, delay, {.tolerance = 10 * kYear});
    EXPECT_EQ(timeout.deadline(), clock.now() + delay.nanoseconds());
    EXPECT_EQ(timeout.remaining(), delay.nanoseconds());
}

TEST(Intake, RefusesANegativeTolerance) {
    ManualTimer timer;
    expectThrows<std::invalid_argument>([&] { timer.newTimeout([] {}, 1s, {.tolerance = -1ns}); },
                                        "tolerance is -1 ns: it must be at least 0 ns");
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G13
// Bug pattern: a far deadline that saturates is reached by a clock that saturates too.
TEST(Intake, NeverReachesWhatTicksCannotExpress) {
    constexpr std::chrono::hours kYear{24 * 365};
    ManualClock clock;
    ManualTimer timer{{.tick = 1ns, .clock = clock}};
    auto const far = timer.newTimeout([] {}, 19 * kYear);
    auto const never = timer.newTimeout([] {}, Duration::max());
    clock.jump(18 * kYear + kYear / 2);
    EXPECT_TRUE(far.isPending());
    EXPECT_TRUE(never.isPending());
}

// Bug pattern: a clock beyond the last tick never finds the timer at rest.
TEST(Intake, RestsUnderAClockBeyondTheLastTick) {
    ManualClock clock;
    SystemTimer timer{{.tick = 1ns, .clock = clock}};
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 1s);
    clock.jump(std::chrono::hours{24 * 365 * 20});
    EXPECT_EQ(runs, 1);
}

// G14
TEST(Intake, WorksFromAnyStartOfTheClock) {
    std::vector<std::int64_t> starts{0, -1, INT64_MIN, INT64_MAX - 1'000'000};
    for (int k = 0; k < 63; ++k) starts.push_back((std::int64_t{1} << k) - 5);
    std::size_t runs = 0;
    std::size_t wrong = 0;
    for (std::int64_t const start : starts) {
        SCOPED_TRACE(testing::Message() << "start " << start);
        for (nanoseconds const tick : {1us, 7us}) {
            ManualClock clock{Clock::TimePoint{nanoseconds{start}}};
            ManualTimer timer{{.tick = tick, .wheelSize = 3, .clock = clock}};
            auto const far = timer.newTimeout([] {}, std::chrono::hours{24 * 365 * 30});
            std::vector<Timeout> timeouts;
            for (nanoseconds const delay : {0us, 1us, 7us, 8us, 20us, 21us, 63us, 64us, 900us}) {
                Clock::TimePoint const due = clock.now() + delay;
                timeouts.push_back(timer.newTimeout(
                    [&, due] {
                        ++runs;
                        wrong += clock.now() < due || clock.now() - due >= tick ? 1U : 0U;
                    },
                    delay));
            }
            timer.checkInvariants();
            clock.advance(950us);
            for (Timeout const& timeout : timeouts) EXPECT_TRUE(timeout.isExpired());
            EXPECT_TRUE(far.isPending());
            timer.checkInvariants();
        }
    }
    EXPECT_EQ(runs, starts.size() * 2 * 9);
    figure("G14", "starts of the clock", starts.size(), exactly(67));
    figure("G14", "early or a tick late from any of them", wrong, exactly(0), {runs, 67 * 2 * 9});
}

// G14, G15. Bug pattern: what stands for "nothing to do" is a tick that the clock can show.
TEST(Intake, WakesTheDriverAtTheLastTicksOfTheClock) {
    Watchdog const watchdog{"a driver at the last ticks"};
    nanoseconds const last{Tick::kMax};
    for (auto const before : {0ns, 1ns, 2ns, 3ns}) {
        SCOPED_TRACE(testing::Message() << before.count() << " ns before the last tick");
        for (bool const isObserved : {false, true}) {
            ManualClock clock;
            Recorder recorder;
            SystemTimer timer{{.tick = 1ns,
                               .clock = clock,
                               .shards = 1,
                               .observer = isObserved ? &recorder : nullptr}};
            timer.newTimeout([] {}, 1ns);
            clock.jump(last - before);
            Latch ran;
            timer.newTimeout([&] { ran.open(); }, 0ns);
            ran.wait();
        }
    }
}

// G13, G14. Disabled: where the clock is negative, now + max() can be expressed, and comes.
TEST(Intake, AMaximalDelayIsNeverFromAnyStart) {
    for (Clock::TimePoint const start : {Clock::TimePoint{}, Clock::TimePoint::min()}) {
        ManualClock clock{start};
        ManualTimer timer{{.clock = clock}};
        Timeout const never = timer.newTimeout([] {}, Duration::max());
        clock.jumpTo(Clock::TimePoint::max() - 1ns);
        EXPECT_TRUE(never.isPending());
    }
}

constexpr nanoseconds kTenYears = std::chrono::hours{24 * 3653};
constexpr nanoseconds kLongestTick = nanoseconds::max() - 1ns;

/// When a timeout is due that falls within the first tick: at the end of that, or never.
Clock::TimePoint endOfFirstTick(Clock::TimePoint start, nanoseconds tick, nanoseconds delay) {
    if (start > Clock::TimePoint::max() - delay) return Clock::TimePoint::max();
    if (start + delay > Clock::TimePoint::max() - tick) return Clock::TimePoint::max();
    return start + tick;
}

std::vector<Clock::TimePoint> startsForLongTicks() {
    std::vector<Clock::TimePoint> starts;
    for (std::int64_t const start :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{86'400'000'000'000},
          INT64_MIN, INT64_MIN + 1, INT64_MAX / 2, INT64_MAX - 2, INT64_MAX - 1})
        starts.push_back(Clock::TimePoint{nanoseconds{start}});
    return starts;
}

// G13, G14: no tick is too long but the one that stands for an overflow.
TEST(Intake, TakesTicksOfAnyLengthFromAnyStart) {
    for (nanoseconds const tick : {kTenYears, 20 * kTenYears, kLongestTick}) {
        for (Clock::TimePoint const start : startsForLongTicks()) {
            SCOPED_TRACE(testing::Message() << "tick " << tick.count() << " ns, start "
                                            << start.time_since_epoch().count());
            ManualClock clock{start};
            ManualTimer timer{{.tick = tick, .clock = clock}};
            Timeout const now = timer.newTimeout([] {}, 0ms);
            Timeout const later = timer.newTimeout([] {}, 1h);
            Timeout const tolerant = timer.newTimeout([] {}, 1h, {.tolerance = Duration::max()});
            Timeout const never = timer.newTimeout([] {}, Duration::max());
            Timeout const periodic = timer.scheduleAtFixedRate([] {}, 0ms, tick);
            Clock::TimePoint const end = endOfFirstTick(start, tick, 1h);
            EXPECT_EQ(later.deadline(), end);
            clock.advance(0ms);
            EXPECT_TRUE(now.isExpired());
            EXPECT_EQ(timer.statistics().runs, 2U);
            EXPECT_TRUE(timer.reschedule(later, 2h));
            EXPECT_EQ(later.deadline(), endOfFirstTick(start, tick, 2h));
            EXPECT_TRUE(timer.reschedule(later, 1h));
            timer.checkInvariants();
            if (end != Clock::TimePoint::max()) {
                clock.jumpTo(end - 1ns);
                EXPECT_TRUE(later.isPending());
                clock.jumpTo(end);
                EXPECT_TRUE(later.isExpired());
            }
            EXPECT_TRUE(never.isPending());
            EXPECT_TRUE(periodic.isPending());
            timer.checkInvariants();
            EXPECT_TRUE(never.cancel());
            std::size_t const pending = timer.pendingTimeouts();
            EXPECT_EQ(timer.stop().size(), pending);
            EXPECT_FALSE(tolerant.isPending());
        }
    }
}

// G10, G13
TEST(Intake, ADriverThreadStopsAndDrainsAtTicksOfAnyLength) {
    for (nanoseconds const tick : {kTenYears, 20 * kTenYears, kLongestTick}) {
        for (Clock::TimePoint const start : startsForLongTicks()) {
            ManualClock clock{start};
            SystemTimer stopped{{.tick = tick, .clock = clock}};
            Timeout const returned = stopped.newTimeout([] {}, 1h);
            SystemTimer drained{{.tick = tick, .clock = clock}};
            Timeout const last = drained.newTimeout([] {}, 1h);
            clock.advance(0ms);
            EXPECT_EQ(stopped.stop().size(), 1U);
            EXPECT_TRUE(returned.isReturned());
            if (last.deadline() == Clock::TimePoint::max()) {
                EXPECT_TRUE(last.cancel());
            } else {
                clock.advanceTo(last.deadline());
                EXPECT_TRUE(last.isExpired());
            }
            drained.drain();
        }
        SystemTimer onTheRealClock{{.tick = tick}};
        Timeout const now = onTheRealClock.newTimeout([] {}, 0ms);
        Timeout const later = onTheRealClock.newTimeout([] {}, 1h);
        EXPECT_TRUE(later.cancel());
        onTheRealClock.drain();
        EXPECT_TRUE(now.isExpired());
    }
}

}  // namespace
}  // namespace timingwheel::test
