#include <support/TestTimers.h>
#include <timingwheel/TimerStatistics.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Statistics = OfWheelTimers<T>;
TYPED_TEST_SUITE(Statistics, WheelTimers, NamesOfTimers);

std::uint64_t outcomes(TimerStatistics const& s) {
    return s.pending + s.fired + s.cancelled + s.rejected + s.returned;
}

TYPED_TEST(Statistics, OfANewTimerAreZero) {
    TypeParam timer{this->options()};
    TimerStatistics const statistics = timer.statistics();
    EXPECT_EQ(outcomes(statistics), 0U);
    EXPECT_EQ(statistics.scheduled, 0U);
    EXPECT_EQ(statistics.runs, 0U);
    EXPECT_EQ(statistics.rescheduled, 0U);
    EXPECT_EQ(statistics.refused, 0U);
    EXPECT_EQ(statistics.wakeUps, 0U);
    EXPECT_EQ(statistics.lateness.count(), 0U);
    EXPECT_EQ(statistics.minLateness, nanoseconds{0});
    EXPECT_EQ(statistics.maxLateness, nanoseconds{0});
    EXPECT_EQ(statistics.longestRun, nanoseconds{0});
}

TYPED_TEST(Statistics, AddUpAtRest) {
    std::uint64_t const seed = seedOr(7);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    TypeParam timer{this->options({.wheelSize = 4, .maxPendingTimeouts = 100})};
    struct Object {
        void run() {}
        TimerHook<&Object::run> hook{*this};
    };
    std::vector<std::unique_ptr<Object>> objects;
    std::vector<Timeout> timeouts;
    std::uint64_t refused = 0;
    std::uint64_t rescheduled = 0;
    std::uint64_t cancelled = 0;
    for (int i = 0; i < 3000; ++i) {
        auto const delay = (1 + static_cast<std::int64_t>(random() % 300)) * 1ms;
        try {
            if (i % 7 == 0) {
                timeouts.push_back(timer.scheduleAtFixedRate([] {}, delay, 50ms));
            } else if (i % 7 == 1) {
                objects.push_back(std::make_unique<Object>());
                timer.schedule(objects.back()->hook, delay);
            } else {
                timeouts.push_back(timer.newTimeout([] {}, delay));
            }
        } catch (RejectedExecution const&) {
            ++refused;
        }
        Timeout const& some = timeouts[random() % timeouts.size()];
        if (i % 3 == 0) cancelled += some.cancel() ? 1U : 0U;
        if (i % 5 == 0) rescheduled += timer.reschedule(some, delay) ? 1U : 0U;
        if (i % 11 == 0) this->clock.advance(10ms);
        if (i % 100 == 0) {
            TimerStatistics const s = timer.statistics();
            EXPECT_EQ(s.scheduled, outcomes(s));
        }
    }
    objects.clear();
    TimerStatistics s = timer.statistics();
    EXPECT_EQ(s.scheduled, outcomes(s));
    EXPECT_EQ(s.refused, refused);
    EXPECT_GT(refused, 0U);
    EXPECT_EQ(s.rescheduled, rescheduled);
    EXPECT_GE(s.cancelled, cancelled);
    EXPECT_EQ(s.pending, timer.pendingTimeouts());
    EXPECT_EQ(s.lateness.count(), s.runs);
    auto const stopped = timer.stop();
    s = timer.statistics();
    EXPECT_EQ(s.pending, 0U);
    EXPECT_EQ(s.returned, stopped.size() + stopped.hooks());
    EXPECT_EQ(s.scheduled, outcomes(s));
}

TYPED_TEST(Statistics, CountAPeriodicTimeoutOnceWhenItEnds) {
    TypeParam timer{this->options()};
    Timeout const t = timer.scheduleAtFixedRate([] {}, 1ms, 1ms);
    this->clock.advance(10ms);
    TimerStatistics s = timer.statistics();
    EXPECT_EQ(s.runs, 10U);
    EXPECT_EQ(s.fired, 0U);
    EXPECT_EQ(s.pending, 1U);
    EXPECT_TRUE(t.cancel());
    s = timer.statistics();
    EXPECT_EQ(s.scheduled, 1U);
    EXPECT_EQ(s.cancelled, 1U);
    EXPECT_EQ(s.pending, 0U);
}

TYPED_TEST(Statistics, CountCascadesByTheLevelTheyLeft) {
    TypeParam timer{this->options()};  // 1 ms x 20
    timer.newTimeout([] {}, 8501ms);   // 8 s slot, 400 ms slot, 20 ms slot, 1 ms slot
    this->clock.advance(10s);
    auto const cascaded = timer.statistics().cascaded;
    EXPECT_EQ(cascaded, (std::vector<std::uint64_t>{0, 1, 1, 1}));
}

TEST(Statistics, AddTheCascadesOfAllShards) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .shards = 2}};
    for (int i = 0; i < 2; ++i) std::thread{[&] { timer.newTimeout([] {}, 25ms); }}.join();
    clock.advance(30ms);
    EXPECT_EQ(timer.statistics().cascaded.at(1), 2U);
}

TEST(Statistics, TellLatenessAndTheLongestRun) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    EXPECT_EQ(timer.statistics().minLateness, 0ns);
    for (nanoseconds const late : {7ms, 3ms, 5ms}) {
        timer.newTimeout([&] { clock.add(late * 2); }, 1ms);
        clock.set(*timer.nextExpiration() + late);
        timer.advanceTo(clock.now());
        auto const aligned = (clock.now().time_since_epoch() + 999999ns) / 1ms * 1ms;
        clock.set(Clock::TimePoint{aligned});
    }
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.minLateness, 3ms);
    EXPECT_EQ(s.maxLateness, 7ms);
    EXPECT_EQ(s.longestRun, 14ms);
    EXPECT_EQ(s.lateness.count(), 3U);
    EXPECT_GE(s.lateness.quantile(0.5), 5ms);
    EXPECT_LE(s.lateness.quantile(0.5), 5ms * 1.13);
}

TYPED_TEST(Statistics, PrintThemselves) {
    TypeParam timer{this->options({.name = "shown"})};
    timer.newTimeout([] {}, 30ms);
    timer.newTimeout([] {}, 30ms).cancel();
    this->clock.advance(30ms);
    std::ostringstream out;
    out << timer.statistics();
    for (char const* const text : {"timer \"shown\"", "scheduled 2", "fired 1", "cancelled 1",
                                   "pending 0", "lateness p50", "1: 1"})
        EXPECT_NE(out.str().find(text), std::string::npos) << text << " in\n" << out.str();
    std::ostringstream empty;
    empty << TypeParam{this->options()}.statistics();
    EXPECT_NE(empty.str().find("cascaded from level none"), std::string::npos) << empty.str();
}

// A task that ran for longer than the threshold is told once.
TEST(Statistics, TellOfEachSlowRunOnce) {
    SettableClock clock;
    std::vector<nanoseconds> heard;
    std::vector<Timeout> who;
    ManualTimer timer{{.name = "slow",
                       .clock = clock,
                       .slowTaskThreshold = 10ms,
                       .slowTaskHandler = [&](SlowTask const& slow) {
                           heard.push_back(slow.duration);
                           who.push_back(slow.timeout);
                           EXPECT_EQ(slow.timerName, "slow");
                       }}};
    struct Object {
        void run() { clock.add(20ms); }
        SettableClock& clock;
        TimerHook<&Object::run> hook{*this};
    } object{clock};
    Timeout const quick = timer.newTimeout([&] { clock.add(10ms - 1ns); }, 1ms);
    Timeout const atIt = timer.newTimeout([&] { clock.add(10ms); }, 2ms);
    Timeout const throws = timer.newTimeout(
        [&] {
            clock.add(15ms);
            throw 1;
        },
        3ms);
    Timeout const periodic = timer.scheduleAtFixedRate([&] { clock.add(11ms); }, 200ms, 100ms);
    timer.schedule(object.hook, 100ms);
    testing::internal::CaptureStderr();  // of the task that throws
    while (clock.now() < Clock::TimePoint{450ms}) {
        clock.add(1ms);
        timer.advanceTo(clock.now());
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(heard, (std::vector<nanoseconds>{10ms, 15ms, 20ms, 11ms, 11ms, 11ms}));
    EXPECT_EQ(who, (std::vector<Timeout>{atIt, throws, Timeout{}, periodic, periodic, periodic}));
}

TEST(Statistics, WithoutASlowTaskHandlerOneLineGoesToStderr) {
    SettableClock clock;
    testing::internal::CaptureStderr();
    ManualTimer timer{{.name = "tea", .clock = clock, .slowTaskThreshold = 10ms}};
    timer.newTimeout([&] { clock.add(12ms); }, 1ms);
    clock.add(1ms);
    timer.advanceTo(clock.now());
    std::string const heard = testing::internal::GetCapturedStderr();
    EXPECT_EQ(heard, "timer \"tea\": a task ran for 12.000 ms\n");
}

TEST(Statistics, ASlowTaskHandlerMayThrow) {
    SettableClock clock;
    testing::internal::CaptureStderr();
    ManualTimer timer{{.clock = clock,
                       .slowTaskThreshold = 1ms,
                       .slowTaskHandler = [](SlowTask const&) { throw 1; }}};
    int runs = 0;
    for (int i = 0; i < 2; ++i)
        timer.newTimeout(
            [&] {
                ++runs;
                clock.add(12ms);
            },
            1ms);
    clock.add(1ms);
    timer.advanceTo(clock.now());
    std::string const heard = testing::internal::GetCapturedStderr();
    EXPECT_EQ(runs, 2);
    std::string const line = "timer \"timingwheel\": its slow-task handler threw\n";
    EXPECT_EQ(heard, line + line);
}

// Short tasks that follow each other on the system's clock are measured together. The machine may
// stall at any point, so a task is only known to begin after the one before it read the clock last,
// and to be due no later than its newTimeout() returned.
TEST(TimerStatisticsOfGroupedRuns, AreReportedNoBetterThanTheyWere) {
    constexpr std::size_t kTasks = 1'000;
    ManualTimer timer;
    Clock& clock = Clock::steady();
    Clock::TimePoint const asked = clock.now();
    Clock::TimePoint lastRead = asked;
    std::vector<Clock::TimePoint> due;
    std::vector<nanoseconds> lateness;
    due.reserve(kTasks);
    lateness.reserve(kTasks);
    for (std::size_t i = 0; i < kTasks; ++i) {
        timer.newTimeout(
            [&, i] {
                lateness.push_back(lastRead - due[i]);
                lastRead = clock.now();
                Clock::TimePoint const until = lastRead + 3ms;
                while (i % 300 == 299 && lastRead < until) lastRead = clock.now();
            },
            asked);
        due.push_back(clock.now());
    }
    while (lateness.size() < kTasks) timer.advanceTo(clock.now());

    TimerStatistics const s = timer.statistics();
    ASSERT_EQ(s.lateness.count(), kTasks);
    EXPECT_GE(s.longestRun, 3ms);
    // Deadlines are a tick, at most, behind the time that was asked for.
    nanoseconds const error = timer.tick() + 2us;
    EXPECT_GE(s.maxLateness, lateness.back() - error);
    for (nanoseconds const bound : {3ms, 6ms, 9ms}) {
        std::uint64_t told = 0;
        for (std::size_t i = 0; i < LatenessHistogram::kBuckets; ++i)
            if (LatenessHistogram::upperBound(i) >= bound) told += s.lateness.counts()[i];
        auto const were = std::count_if(lateness.begin(), lateness.end(),
                                        [&](nanoseconds each) { return each >= bound + error; });
        EXPECT_GE(told, static_cast<std::uint64_t>(were)) << bound.count();
    }
}

// Bug pattern: a task after a rest counts as begun when the one before the rest had ended.
TEST(TimerStatisticsOfGroupedRuns, BeginAnewAfterARest) {
    SystemTimer timer;
    Latch last;
    timer.newTimeout([] {}, 1ms);
    timer.newTimeout([&] { last.open(); }, 20ms);
    last.wait();
    static_cast<void>(timer.stop());
    EXPECT_GT(timer.statistics().minLateness, 0ns) << "the driver comes after its time";
}

TEST(TimerStatisticsText, OfNothingIsZeros) {
    TimerStatistics idle;
    idle.name = "idle";
    std::ostringstream out;
    out << idle;
    EXPECT_EQ(out.str(),
              "timer \"idle\"\n"
              "  scheduled 0 = fired 0 + cancelled 0 + rejected 0 + returned 0 + pending 0\n"
              "  runs 0, rescheduled 0, refused 0, driver wake-ups 0\n"
              "  cascaded from level none\n"
              "  lateness p50 0 ns, p99 0 ns, p99.9 0 ns, max 0 ns; longest run 0 ns\n");
}

TEST(TimerStatisticsText, TellsTimesInAUnitThatSuitsThem) {
    TimerStatistics statistics;
    auto const text = [&](std::chrono::nanoseconds longest) {
        statistics.longestRun = longest;
        std::ostringstream out;
        out << statistics;
        return out.str().substr(out.str().find("longest run"));
    };
    EXPECT_EQ(text(std::chrono::nanoseconds{999}), "longest run 999 ns\n");
    EXPECT_EQ(text(std::chrono::nanoseconds{1'500}), "longest run 1.5 us\n");
    EXPECT_EQ(text(std::chrono::microseconds{2'500}), "longest run 2.5 ms\n");
    EXPECT_EQ(text(std::chrono::milliseconds{3'500}), "longest run 3.5 s\n");
}

}  // namespace
}  // namespace timingwheel::test
