// What the constructors of HashedWheelTimer refuse, in which order, and what they put right; what
// the logger hears of it, of too many timers, and of timers that nobody stopped.

#include <support/AllocationCounter.h>
#include <support/HashedWheel.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr std::int64_t kMostSlots = std::int64_t{1} << 30;

std::string boundOfTick(std::int64_t slots) {
    return std::to_string(Duration::max().count() / slots);
}

std::thread makeThread(std::function<void()> body) { return std::thread{std::move(body)}; }

using HashedWheelOptions = OfHashedWheel;

/// The constructor throws what names the option, its value and the bound, leaks nothing, and says
/// nothing of a timer that was never there.
void expectInvalid(HashedWheelTimerOptions options, std::string const& message) {
    SCOPED_TRACE(message);
    TimerLogBook log;
    options.logger = log.logger();
    expectThrows<std::invalid_argument>([&] { HashedWheelTimer{options}; }, message);
    EXPECT_EQ(log.count(TimerLog::Level::error), 0U);
    AllocationCounter const counter;
    try {
        HashedWheelTimer{options};
    } catch (std::invalid_argument const&) {
    }
    EXPECT_EQ(counter.allocations(), counter.deallocations());
}

TEST_F(HashedWheelOptions, NameTheTickItsValueAndTheBound) {
    expectInvalid({.tick = 0ms}, "tick is 0 ns: it must be at least 1 ns");
    expectInvalid({.tick = -1ns}, "tick is -1 ns: it must be at least 1 ns");
    expectInvalid({.tick = std::chrono::hours::min()}, "it must be at least 1 ns");
}

TEST_F(HashedWheelOptions, NameTheSlotsTheirNumberAndTheBound) {
    expectInvalid({.ticksPerWheel = 0}, "ticksPerWheel is 0: it must be at least 1");
    expectInvalid({.ticksPerWheel = -1}, "ticksPerWheel is -1: it must be at least 1");
    expectInvalid({.ticksPerWheel = INT64_MIN}, "ticksPerWheel is -9223372036854775808");
    expectInvalid({.ticksPerWheel = kMostSlots + 1},
                  "ticksPerWheel is 1073741825: it must be at most 1073741824");
    expectInvalid({.ticksPerWheel = INT64_MAX}, "it must be at most 1073741824");
}

// A turn of the wheel must be shorter than the longest duration.
TEST_F(HashedWheelOptions, NameTheBoundThatTheSlotsSetToTheTick) {
    for (std::int64_t const slots : {std::int64_t{1}, std::int64_t{2}, std::int64_t{512}}) {
        SCOPED_TRACE(slots);
        nanoseconds const bound{Duration::max().count() / slots};
        for (nanoseconds const tick : {bound, nanoseconds::max()}) {
            expectInvalid({.tick = tick, .ticksPerWheel = slots},
                          "tick is " + std::to_string(tick.count()) + " ns");
            expectInvalid({.tick = tick, .ticksPerWheel = slots}, boundOfTick(slots));
        }
        HashedWheelTimer const timer{options({.tick = bound - 1ns, .ticksPerWheel = slots})};
        EXPECT_EQ(timer.tick(), bound - 1ns);
    }
}

// The bound counts the slots that there will be, and the most that there can be are allowed.
TEST_F(HashedWheelOptions, NameTheBoundOfTheSlotsAfterRoundingUp) {
    nanoseconds const longest = nanoseconds::max();
    expectInvalid({.tick = longest, .ticksPerWheel = 500}, boundOfTick(512));
    expectInvalid({.tick = longest, .ticksPerWheel = kMostSlots}, boundOfTick(kMostSlots));
    expectInvalid({.tick = longest, .ticksPerWheel = kMostSlots / 2 + 1}, boundOfTick(kMostSlots));
    EXPECT_EQ(boundOfTick(kMostSlots), "8589934591");
}

TEST_F(HashedWheelOptions, NameTheNameItsLengthAndTheBound) {
    expectInvalid({.name = "sixteen letters."},
                  "name is \"sixteen letters.\", 16 bytes long: "
                  "it must be at most 15 bytes long");
    expectInvalid({.name = std::string(3, '\0')}, "name is");
}

TEST_F(HashedWheelOptions, NameTheThresholdItsValueAndTheBound) {
    expectInvalid({.slowTaskThreshold = 0ms},
                  "slowTaskThreshold is 0 ns: it must be at least 1 ns");
    expectInvalid({.slowTaskThreshold = -1s}, "slowTaskThreshold is -1000000000 ns");
}

TEST_F(HashedWheelOptions, RefuseAnExecutorBesideAPool) {
    SynchronousExecutor executor;
    expectInvalid({.executor = executor, .taskPool = TaskPoolOptions{}}, "taskPool");
    expectInvalid({.executor = executor, .taskPool = TaskPoolOptions{}}, "executor");
}

// Netty's order: what is said first when several are wrong.
TEST_F(HashedWheelOptions, AreCheckedInNettysOrder) {
    SynchronousExecutor executor;
    HashedWheelTimerOptions wrong{
        .tick = 0ms, .ticksPerWheel = 0, .executor = executor, .taskPool = TaskPoolOptions{}};
    expectInvalid(wrong, "tick is 0 ns");
    wrong.tick = nanoseconds::max();
    expectInvalid(wrong, "ticksPerWheel is 0");
    wrong.ticksPerWheel = kMostSlots + 1;
    expectInvalid(wrong, "taskPool");
    wrong.taskPool.reset();
    expectInvalid(wrong, "ticksPerWheel is 1073741825");
    wrong.ticksPerWheel = 512;
    expectInvalid(wrong, boundOfTick(512));
    expectThrows<std::invalid_argument>(
        [] {
            HashedWheelTimer{ThreadFactory{}, 0ms, 0};
        },
        "threadFactory");
    expectThrows<std::invalid_argument>([] { HashedWheelTimer{makeThread, 0ms, 0}; }, "tick is 0");
    expectThrows<std::invalid_argument>(
        [] {
            HashedWheelTimer{makeThread, 1ms, 0};
        },
        "ticksPerWheel is 0");
}

TEST_F(HashedWheelOptions, RoundTheSlotsUpToAPowerOfTwo) {
    struct Case {
        std::int64_t given, slots;
    };
    for (Case const c : {Case{1, 1},
                         {2, 2},
                         {3, 4},
                         {4, 4},
                         {5, 8},
                         {511, 512},
                         {512, 512},
                         {513, 1024},
                         {65'535, 65'536},
                         {65'537, 131'072}}) {
        HashedWheelTimer const timer{options({.ticksPerWheel = c.given})};
        EXPECT_EQ(timer.ticksPerWheel(), c.slots) << c.given;
    }
}

TEST_F(HashedWheelOptions, MakeATickBelowAMillisecondOneAndWarnOnce) {
    for (nanoseconds const tick : {nanoseconds{1}, nanoseconds{1us}, nanoseconds{999'999}}) {
        TimerLogBook book;
        HashedWheelTimer timer{options(
            {.tick = tick, .name = "fine", .leakDetection = false, .logger = book.logger()})};
        EXPECT_EQ(timer.tick(), 1ms);
        nanoseconds ranAt{0};
        nanoseconds const start = now();
        timer.newTimeout([&] { ranAt = now(); }, 1us);
        clock.advance(1ms);
        EXPECT_EQ(ranAt, start + 1ms);
        ASSERT_EQ(book.count(), 1U);
        EXPECT_EQ(book.entries()[0].level, TimerLog::Level::warning);
        EXPECT_EQ(book.entries()[0].timerName, "fine");
        EXPECT_NE(book.entries()[0].message.find(std::to_string(tick.count())), std::string::npos)
            << book.entries()[0].message;
    }
    HashedWheelTimer const atTheBound{options({.tick = 1ms, .leakDetection = false})};
    EXPECT_EQ(atTheBound.tick(), 1ms);
    EXPECT_EQ(log.count(), 0U);
}

TEST_F(HashedWheelOptions, WithoutALoggerAWarningIsOneLineOnStderr) {
    testing::internal::CaptureStderr();
    {
        HashedWheelTimer timer{{.tick = 1us, .name = "tea", .clock = clock}};
        static_cast<void>(timer.stop());
    }
    std::string const heard = testing::internal::GetCapturedStderr();
    EXPECT_NE(heard.find("\"tea\""), std::string::npos) << heard;
    EXPECT_EQ(heard.find('\n'), heard.size() - 1) << heard;
}

TEST_F(HashedWheelOptions, SurviveALoggerThatThrows) {
    testing::internal::CaptureStderr();
    int runs = 0;
    {
        HashedWheelTimer timer{options({.tick = 1us, .logger = [](TimerLog const&) { throw 1; }})};
        timer.newTimeout([&] { ++runs; }, 1us);
        clock.advance(1ms);
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(runs, 1);
}

TEST_F(HashedWheelOptions, AreNettysByDefault) {
    HashedWheelTimer timer;
    EXPECT_EQ(timer.tick(), 100ms);
    EXPECT_EQ(timer.ticksPerWheel(), 512);
    EXPECT_EQ(timer.name(), "timingwheel");
    EXPECT_EQ(&timer.clock(), &Clock::steady());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_TRUE(timer.stop().empty());
    HashedWheelTimer short10{10ms};
    EXPECT_EQ(short10.tick(), 10ms);
    EXPECT_EQ(short10.ticksPerWheel(), 512);
    EXPECT_TRUE(short10.stop().empty());
    HashedWheelTimer both{10ms, 60};
    EXPECT_EQ(both.ticksPerWheel(), 64);
    EXPECT_TRUE(both.stop().empty());
}

TEST_F(HashedWheelOptions, CanBeAskedFor) {
    HashedWheelTimer const timer{options({.tick = 7ms, .ticksPerWheel = 6, .name = "seven"})};
    EXPECT_EQ(timer.tick(), 7ms);
    EXPECT_EQ(timer.ticksPerWheel(), 8);
    EXPECT_EQ(timer.name(), "seven");
    EXPECT_EQ(&timer.clock(), &clock);
}

TEST_F(HashedWheelOptions, OfTheConstructorWithAFactoryAreNettys) {
    Watchdog const watchdog{"the constructor with a factory"};
    int made = 0;
    auto const factory = [&made](std::function<void()> body) {
        ++made;
        return std::thread{std::move(body)};
    };
    for (std::int64_t const limit : {-1, 0, -7}) {
        HashedWheelTimer timer{factory, 100ms, 512, false, limit};
        for (int i = 0; i < 1000; ++i) timer.newTimeout([] {}, 1h);
        EXPECT_EQ(timer.pendingTimeouts(), 1000U);
        EXPECT_EQ(timer.stop().size(), 1000U);
    }
    EXPECT_EQ(made, 3);
    HoldingExecutor executor;
    HashedWheelTimer timer{factory, 1ms, 8, false, 2, executor};
    timer.newTimeout([] {}, 1h);
    timer.newTimeout([] {}, 0ms);
    EXPECT_THROW(timer.newTimeout([] {}, 1h), RejectedExecution);
    executor.waitFor(1);
    EXPECT_EQ(timer.stop().size(), 2U);
    EXPECT_EQ(made, 4);
}

// ---- timers that nobody stopped ----------------------------------------------------------------

TEST_F(HashedWheelOptions, ATimerThatIsDestroyedWithoutStopIsReportedOnceWithItsName) {
    {
        HashedWheelTimer timer{options({.name = "forgotten"})};
        timer.newTimeout([] {}, 1h);
        EXPECT_EQ(log.count(), 0U);
    }
    ASSERT_EQ(log.count(), 1U);
    EXPECT_EQ(log.entries()[0].level, TimerLog::Level::error);
    EXPECT_EQ(log.entries()[0].timerName, "forgotten");
    EXPECT_NE(log.entries()[0].message.find("stop()"), std::string::npos)
        << log.entries()[0].message;
}

TEST_F(HashedWheelOptions, ATimerThatWasStoppedIsNotReported) {
    {
        HashedWheelTimer timer{options()};
        timer.newTimeout([] {}, 1h);
        static_cast<void>(timer.stop());
    }
    {
        HashedWheelTimer unused{options()};
        static_cast<void>(unused.stop());
    }
    EXPECT_EQ(log.count(), 0U);
}

TEST_F(HashedWheelOptions, ATimerIsNotReportedWithoutLeakDetection) {
    {
        HashedWheelTimer timer{options({.leakDetection = false})};
        timer.newTimeout([] {}, 1h);
    }
    EXPECT_EQ(log.count(), 0U);
}

TEST_F(HashedWheelOptions, WithoutALoggerAForgottenTimerIsOneLineOnStderr) {
    testing::internal::CaptureStderr();
    {
        HashedWheelTimer timer{{.name = "forgotten", .clock = clock}};
        timer.newTimeout([] {}, 1h);
    }
    std::string const heard = testing::internal::GetCapturedStderr();
    EXPECT_NE(heard.find("\"forgotten\""), std::string::npos) << heard;
    EXPECT_EQ(heard.find('\n'), heard.size() - 1) << heard;
}

TEST_F(HashedWheelOptions, LeakDetectionOfTheConstructorWithAFactoryIsHeeded) {
    for (bool const leakDetection : {false, true}) {
        testing::internal::CaptureStderr();
        { HashedWheelTimer const timer{makeThread, 100ms, 512, leakDetection}; }
        std::string const heard = testing::internal::GetCapturedStderr();
        EXPECT_EQ(heard.empty(), !leakDetection) << heard;
    }
}

// ---- the process as a whole: children of their own ---------------------------------------------

class HashedWheelOptionsDeathTest : public testing::Test {
protected:
    HashedWheelOptionsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

using Timers = std::vector<std::unique_ptr<HashedWheelTimer>>;

/// Exits with 0 when the logger heard of too many timers exactly when it should.
[[noreturn]] void countTimers() {
    endInTheEnd();
    TimerLogBook log;
    auto const make = [&](Timers& timers, int count) {
        for (int i = 0; i < count; ++i)
            timers.push_back(std::make_unique<HashedWheelTimer>(
                HashedWheelTimerOptions{.name = std::to_string(timers.size() + 1),
                                        .leakDetection = false,
                                        .logger = log.logger()}));
    };
    int failed = 0;
    auto const expect = [&](bool condition, char const* what) {
        if (condition) return;
        std::fprintf(stderr, "%s\n", what);
        failed = 1;
    };
    for (int i = 0; i < 200; ++i) {
        Timers brief;
        make(brief, 1);
    }
    expect(log.count() == 0, "one after the other are not many");
    {
        Timers timers;
        make(timers, 64);
        expect(log.count() == 0, "64 are not too many");
        make(timers, 1);
        expect(log.count() == 1, "the 65th is reported");
        make(timers, 50);
        expect(log.count() == 1, "the 66th is not reported again");
        expect(timers.back()->pendingTimeouts() == 0, "it is only a message");
    }
    Timers again;
    make(again, 100);
    expect(log.count() == 1, "once for each process");
    expect(log.count() == 1 && log.entries()[0].level == TimerLog::Level::error, "it is an error");
    expect(log.count() == 1 && log.entries()[0].timerName == "65", "it names the 65th");
    again.clear();
    std::exit(failed);
}

TEST_F(HashedWheelOptionsDeathTest, MoreThan64TimersAreReportedOnceForEachProcess) {
    EXPECT_EXIT(countTimers(), testing::ExitedWithCode(0), "");
}

// What stop() ended is none of the 64.
[[noreturn]] void stopTimersAndMakeMore() {
    endInTheEnd();
    TimerLogBook log;
    Timers timers;
    for (int i = 0; i < 130; ++i) {
        timers.push_back(
            std::make_unique<HashedWheelTimer>(HashedWheelTimerOptions{.logger = log.logger()}));
        if (i % 2 == 0) timers.back()->start();
        static_cast<void>(timers.back()->stop());
    }
    timers.clear();
    for (auto const& entry : log.entries()) std::fprintf(stderr, "%s\n", entry.message.c_str());
    std::exit(log.count() == 0 ? 0 : 1);
}

TEST_F(HashedWheelOptionsDeathTest, StoppedTimersAreNoneOfThe64) {
    EXPECT_EXIT(stopTimersAndMakeMore(), testing::ExitedWithCode(0), "");
}

/// Kept by a static pointer, so that it is no leak of memory.
HashedWheelTimer* forgotten = nullptr;

[[noreturn]] void exitWithATimerThatRuns(bool leakDetection) {
    endInTheEnd();
    forgotten = new HashedWheelTimer{{.name = "forgotten", .leakDetection = leakDetection}};
    forgotten->newTimeout([] {}, 1h);
    std::exit(3);
}

[[noreturn]] void exitWithAStaticTimer() {
    endInTheEnd();
    static HashedWheelTimer timer{{.name = "forgotten"}};
    timer.newTimeout([] {}, 1h);
    std::exit(3);
}

[[noreturn]] void exitWithATimerThatWasStopped() {
    endInTheEnd();
    forgotten = new HashedWheelTimer{{.name = "forgotten"}};
    forgotten->newTimeout([] {}, 1h);
    static_cast<void>(forgotten->stop());
    std::exit(3);
}

[[noreturn]] void exitFromInsideATask() {
    endInTheEnd();
    static HashedWheelTimer timer{{.tick = 1ms, .name = "forgotten"}};
    timer.newTimeout([] {}, 1h);
    timer.newTimeout([] { std::exit(4); }, 1ms);
    pauseForEver();
}

/// The text, and not twice.
MATCHER_P(ContainsOnce, text, "") {
    std::size_t const at = arg.find(text);
    return at != std::string::npos && arg.find(text, at + 1) == std::string::npos;
}

TEST_F(HashedWheelOptionsDeathTest, ATimerThatStillRunsAtExitIsReportedOnce) {
    EXPECT_EXIT(exitWithATimerThatRuns(true), testing::ExitedWithCode(3),
                ContainsOnce("\"forgotten\""));
    EXPECT_EXIT(exitWithAStaticTimer(), testing::ExitedWithCode(3), ContainsOnce("\"forgotten\""));
    figure("G24", "exits at which a running HashedWheelTimer was not reported once, of two kinds",
           HasFailure() ? 1 : 0, exactly(0));
}

TEST_F(HashedWheelOptionsDeathTest, ATimerThatWasStoppedIsNotReportedAtExit) {
    auto const nothing = testing::Not(testing::HasSubstr("forgotten"));
    EXPECT_EXIT(exitWithATimerThatRuns(false), testing::ExitedWithCode(3), nothing);
    EXPECT_EXIT(exitWithATimerThatWasStopped(), testing::ExitedWithCode(3), nothing);
    figure("G24", "exits at which a HashedWheelTimer that was stopped was reported",
           HasFailure() ? 1 : 0, exactly(0));
}

TEST_F(HashedWheelOptionsDeathTest, TheProcessEndsWhenATaskCallsExit) {
    EXPECT_EXIT(exitFromInsideATask(), testing::ExitedWithCode(4), "");
    figure("G24", "processes that hung where a HashedWheelTimer's task calls exit()",
           HasFailure() ? 1 : 0, exactly(0));
}

}  // namespace
}  // namespace timingwheel::test
