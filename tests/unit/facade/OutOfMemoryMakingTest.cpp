// Objects are made or they are not; what is said in words, traced, or handed to a pool, with too
// little memory.

#include <support/OutOfMemory.h>
#include <support/TemporaryFile.h>
#include <support/TestTimers.h>
#include <timingwheel/Duration.h>
#include <timingwheel/Executor.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/TimerTrace.h>
#include <timingwheel/version.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Repeat = AllocationFailure::Repeat;

// ---- constructors ------------------------------------------------------------------------------

/// What there is while something is made.
struct Workshop {
    ManualClock clock;
    TaskPool pool{{.threads = 1}};
    CountingObserver observer;
    Nowhere buffer;
    std::ostream nowhere{&buffer};
    TemporaryFile const file;
    std::function<void(std::system_error const&)> const onError =
        [room = Large{}](std::system_error const&) { static_cast<void>(room); };
    TimerOptions options;
    HashedWheelTimerOptions flatOptions;

    Workshop() {
        options.clock = clock;
        options.name = "out of memory";
        options.errorHandler = [room = Large{}](TaskFailure const&) { static_cast<void>(room); };
        options.slowTaskHandler = [room = Large{}](SlowTask const&) { static_cast<void>(room); };
        options.observer = &observer;
        flatOptions.clock = clock;
        flatOptions.tick = 1us;  // which is told
        flatOptions.errorHandler = options.errorHandler;
        flatOptions.slowTaskHandler = options.slowTaskHandler;
        flatOptions.logger = [room = Large{}](TimerLog const&) { static_cast<void>(room); };
        flatOptions.leakDetection = false;
    }
};

struct Making {
    char const* name;
    std::function<void(Workshop&)> make;
};

/// Makes it, and destroys it, while allocations fail. True if one did.
bool tryMaking(Making const& making, Threads threads, std::size_t kth, Repeat repeat) {
    Workshop workshop;
    bool happened = false;
    bool threw = false;
    {
        AllocationFailure const failure{kth, repeat, threads};
        try {
            making.make(workshop);
        } catch (std::bad_alloc const&) {
            threw = true;
        }
        happened = failure.happened();
    }
    EXPECT_TRUE(happened || !threw);
    workshop.clock.advance(1ms);  // nobody is left to hear of it
    EXPECT_EQ(workshop.observer.events, 0U);
    making.make(workshop);  // there is memory again
    return happened;
}

Tried tryAllMakings(std::vector<Making> const& makings, Threads threads = Threads::thisOne) {
    Tried sum;
    for (Making const& making : makings) {
        SCOPED_TRACE(making.name);
        sum += failEachAllocation([&](std::size_t kth, Repeat repeat) {
            return tryMaking(making, threads, kth, repeat);
        });
    }
    return sum;
}

void makeHashedWheelTimerWithAFactory(Workshop& w) {
    auto const factory = [room = Large{}](std::function<void()> body) {
        static_cast<void>(room);
        return std::thread{std::move(body)};
    };
    HashedWheelTimer const timer{factory, 1s, 8, false, 10, w.pool};
}

std::vector<Making> timers() {
    return {
        {"SystemTimer", [](Workshop&) { SystemTimer const timer; }},
        {"SystemTimer with options",
         [](Workshop& w) {
             TimerOptions options = w.options;
             options.executor = w.pool;
             options.shards = 4;
             SystemTimer const timer{std::move(options)};
         }},
        {"ManualTimer", [](Workshop&) { ManualTimer const timer; }},
        {"ManualTimer with options", [](Workshop& w) { ManualTimer const timer{w.options}; }},
        {"HashedWheelTimer",
         [](Workshop&) {
             HashedWheelTimer timer;
             static_cast<void>(timer.stop());
         }},
        {"HashedWheelTimer with a tick",
         [](Workshop&) {
             HashedWheelTimer timer{1s, 8};
             static_cast<void>(timer.stop());
         }},
        {"HashedWheelTimer with a factory",
         [](Workshop& w) { makeHashedWheelTimerWithAFactory(w); }},
        {"HashedWheelTimer with options",
         [](Workshop& w) { HashedWheelTimer const timer{w.flatOptions}; }},
        {"HashedWheelTimer that nobody stops",
         [](Workshop& w) {
             HashedWheelTimerOptions options = w.flatOptions;
             options.leakDetection = true;
             HashedWheelTimer const timer{std::move(options)};
         }},
        {"HashedWheelTimer with a pool",
         [](Workshop& w) {
             HashedWheelTimerOptions options = w.flatOptions;
             options.taskPool = TaskPoolOptions{.threads = 2};
             HashedWheelTimer const timer{std::move(options)};
         }},
    };
}

std::vector<Making> others() {
    return {
        {"ManualClock", [](Workshop&) { ManualClock const clock; }},
        {"JsonLinesTrace of a file",
         [](Workshop& w) {
             JsonLinesTrace const t{w.file.path, w.onError};
         }},
        {"JsonLinesTrace of a stream", [](Workshop& w) { JsonLinesTrace const t{w.nowhere}; }},
        {"ChromeTrace of a file",
         [](Workshop& w) {
             ChromeTrace const t{w.file.path, w.onError};
         }},
        {"ChromeTrace of a stream",
         [](Workshop& w) {
             ChromeTrace const t{w.nowhere, w.onError};
         }},
        {"RejectedExecution", [](Workshop&) { RejectedExecution const e{"for want of memory"}; }},
    };
}

/// Runs `make`, which must throw an `Exception` if not std::bad_alloc.
template <class Exception, class Make>
std::function<void(Workshop&)> invalid(Make make) {
    return [make](Workshop& w) {
        try {
            make(w);
            ADD_FAILURE() << "was made";
        } catch (Exception const&) {
        }
    };
}

std::vector<Making> invalidOnes() {
    using Invalid = std::invalid_argument;
    return {
        {"SystemTimer without a tick",
         invalid<Invalid>([](Workshop&) { SystemTimer const timer{{.tick = 0ns}}; })},
        {"SystemTimer with too small a wheel",
         invalid<Invalid>([](Workshop&) { SystemTimer const timer{{.wheelSize = 1}}; })},
        {"ManualTimer with shards",
         invalid<Invalid>([](Workshop&) { ManualTimer const timer{{.shards = 2}}; })},
        {"HashedWheelTimer without slots", invalid<Invalid>([](Workshop&) {
             HashedWheelTimer const timer{1s, 0};
         })},
        {"HashedWheelTimer without a factory",
         invalid<Invalid>([](Workshop&) { HashedWheelTimer const timer{ThreadFactory{}}; })},
        {"TaskPool with too many threads",
         invalid<Invalid>([](Workshop&) { TaskPool const pool{{.threads = 5'000}}; })},
        {"Duration that is no number", invalid<Invalid>([](Workshop&) {
             Duration const d{std::chrono::duration<double>{std::nan("")}};
         })},
        {"JsonLinesTrace of no file", invalid<std::system_error>([](Workshop&) {
             JsonLinesTrace const trace{"/no/such/folder/trace.jsonl"};
         })},
        {"ChromeTrace of no file", invalid<std::system_error>([](Workshop&) {
             ChromeTrace const trace{"/no/such/folder/trace.json"};
         })},
    };
}

// G16
TEST(OutOfMemoryMaking, ATimerIsMadeOrNothingIsLeft) {
    tell("making timers", tryAllMakings(timers()), 200);
}

TEST(OutOfMemoryMaking, TracesAndOthersAreMadeOrNothingIsLeft) {
    Tried tried = tryAllMakings(others());
    tried += tryAllMakings(invalidOnes());
    tell("making the rest", tried, 50);
}

// Also when the pool's threads have no memory.
TEST(OutOfMemoryMaking, APoolIsMadeOrNothingIsLeft) {
    std::vector<Making> const pools{
        {"TaskPool", [](Workshop&) { TaskPool const pool{{.threads = 3}}; }},
        {"TaskPool for each core", [](Workshop&) { TaskPool const pool; }}};
    Tried tried = tryAllMakings(pools);
    tried += tryAllMakings(pools, Threads::all);
    tell("making pools", tried, 40);
}

// ---- what never allocates ----------------------------------------------------------------------

struct Owner {
    void run() {}
    TimerHook<&Owner::run> hook{*this};
};

struct Queue {
    void execute(Claim claim) {
        Claim copy{claim};
        Claim moved{std::move(copy)};
        copy = moved;
        moved();
    }
};

void useSmallThings(TimerStatistics const& statistics, std::ostream& out) {
    Queue queue;
    Executor const executor{queue};
    EXPECT_FALSE(executor.isInline());
    EXPECT_TRUE(Executor{}.isInline());
    EXPECT_EQ(Duration{1.5ns}.count(), 2);
    EXPECT_EQ(Duration{std::chrono::hours::max()}.nanoseconds(), Duration::max().nanoseconds());
    EXPECT_EQ((Tick{1} + 2).value(), 3);
    out << Tick{3};
    LatenessHistogram histogram;
    histogram.add(5ms);
    EXPECT_EQ(histogram.count(), 1U);
    EXPECT_EQ(histogram.quantile(0.5),
              LatenessHistogram::upperBound(LatenessHistogram::bucketOf(5ms)));
    EXPECT_EQ(histogram.counts().size(), LatenessHistogram::kBuckets);
    out << toString(TimerEvent::Stage::run) << statistics;
    Owner owner;
    EXPECT_FALSE(owner.hook.cancel() || owner.hook.isPending());
    EXPECT_NE(&Clock::steady(), nullptr);
    EXPECT_GT(Clock::steady().now(), Clock::TimePoint{});
    StoppedTimeouts nothing;
    StoppedTimeouts moved{std::move(nothing)};
    nothing = std::move(moved);
    EXPECT_TRUE(nothing.empty() && nothing.begin() == nothing.end() && nothing.hooks() == 0);
    ScopedTimeout scoped{Timeout{}};
    scoped.reset();
    EXPECT_TRUE(out.good());
}

// G16
TEST(OutOfMemoryMaking, SmallThingsNeedNone) {
    Nowhere buffer;
    std::ostream nowhere{&buffer};
    TimerStatistics statistics;
    statistics.cascaded = {1, 2, 3};
    statistics.maxLateness = 23'456us;
    useSmallThings(statistics, nowhere);  // what is made once for the process is made here
    AllocationCounter const counter;
    useSmallThings(statistics, nowhere);
    figure("G16", "allocations of small things", counter.allocations(), exactly(0));
}

// ---- pools -------------------------------------------------------------------------------------

/// Tasks go through a pool whose queue finds no memory from the `kth` allocation on, or only then.
/// Each has run or was rejected, and told. True if an allocation failed.
template <class T>
bool tryPool(WhenFull whenFull, std::size_t kth, Repeat repeat) {
    // Five bursts, each of which fills the queue. It allocates once for some dozens of tasks.
    constexpr std::size_t kTasks = 500;
    ManualClock clock;
    std::atomic<std::size_t> runs{0};
    std::atomic<std::size_t> told{0};
    auto const witness = std::make_shared<int>();
    TaskPool pool{{.threads = 2, .queueCapacity = 80, .whenFull = whenFull}};
    std::conditional_t<std::is_same_v<T, SystemTimer>, TimerOptions, HashedWheelTimerOptions>
        options;
    options.tick = 1ms;
    options.clock = clock;
    options.executor = pool;
    options.errorHandler = [&](TaskFailure const& failure) {
        told += failure.kind == TaskFailure::Kind::rejected ? 1U : 0U;
    };
    T timer{options};
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < kTasks; ++i)
        timeouts.push_back(
            timer.newTimeout([&runs, witness] { ++runs; }, static_cast<int>(i / 100) * 1ms));
    clock.advance(Duration{});
    if constexpr (!std::is_same_v<T, SystemTimer>) clock.advance(1ms);  // they are in their slots
    bool happened = false;
    {
        AllocationFailure const failure{kth, repeat, Threads::others};
        clock.advance(10ms);
        happened = failure.happened();
    }
    std::size_t rejected = 0;
    for (Timeout const& each : timeouts) {
        EXPECT_NE(each.isRejected(), each.isDone());
        rejected += each.isRejected() ? 1U : 0U;
    }
    EXPECT_EQ(runs + rejected, kTasks);
    EXPECT_EQ(told, rejected);
    EXPECT_TRUE(whenFull == WhenFull::reject || happened == (rejected > 0));
    EXPECT_EQ(witness.use_count(), 1);
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.pending, 0U);
    EXPECT_EQ(s.rejected, rejected);
    EXPECT_EQ(s.scheduled, s.fired + s.rejected);
    EXPECT_EQ(pool.queued(), 0U);
    EXPECT_EQ(pool.threads(), 2U);
    Timeout const next = timer.newTimeout([] {}, 0ms);
    clock.advance(1ms);
    EXPECT_TRUE(next.isDone());
    return happened;
}

// G19
TEST(OutOfMemoryPool, RejectsWhatItCannotQueueAndNothingElse) {
    Tried sum;
    for (WhenFull const whenFull : {WhenFull::callerRuns, WhenFull::reject}) {
        sum += failEachAllocation([&](std::size_t kth, Repeat repeat) {
            return tryPool<SystemTimer>(whenFull, kth, repeat);
        });
        sum += failEachAllocation([&](std::size_t kth, Repeat repeat) {
            return tryPool<HashedWheelTimer>(whenFull, kth, repeat);
        });
    }
    figure("G19", "failed allocations of a pool's queue that cost more than that task", sum.wrong,
           exactly(0), {sum.allocations, 20});
    EXPECT_EQ(sum.leaks, 0U);
}

// ---- words -------------------------------------------------------------------------------------

using testing::HasSubstr;
using testing::Not;

// Bug pattern: what is told needs memory, just when something goes wrong.
TEST(OutOfMemoryWords, TheLineOfATaskThatThrewNeedsNone) {
    SettableClock clock;
    ManualTimer timer{{.name = "wordy", .clock = clock, .slowTaskThreshold = 1ms}};
    std::string const words = "it went wrong, and it takes more than a few words to say how";
    std::runtime_error const error{words};
    timer.newTimeout([&] { throw error; }, 1ms);
    timer.newTimeout([] { throw 7; }, 1ms);
    timer.newTimeout([&] { clock.add(20ms); }, 2ms);
    clock.add(2ms);
    testing::internal::CaptureStderr();
    bool happened = false;
    {
        AllocationFailure const failure{1, Repeat::forEver};
        timer.advanceTo(clock.now());
        happened = failure.happened();
    }
    std::string const told = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(happened);
    EXPECT_THAT(told, HasSubstr("timer \"wordy\": a task threw: " + words));
    EXPECT_THAT(told, HasSubstr("an exception that is not a std::exception"));
    EXPECT_THAT(told, HasSubstr("a task ran for 20.000 ms"));
    EXPECT_THAT(told, Not(HasSubstr("handler threw")));
}

TEST(OutOfMemoryWords, AHandlerThatFindsNoMemoryHarmsNothing) {
    SettableClock clock;
    std::vector<std::string> told;
    ManualTimer timer{{.name = "wordy", .clock = clock, .errorHandler = [&](TaskFailure const&) {
                           told.emplace_back(100, 'x');
                       }}};
    int runs = 0;
    timer.newTimeout([] { throw 7; }, 1ms);
    timer.newTimeout([&] { ++runs; }, 2ms);
    clock.add(2ms);
    testing::internal::CaptureStderr();
    {
        AllocationFailure const failure{1, Repeat::forEver};
        timer.advanceTo(clock.now());
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("its error handler threw"));
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(told.empty());
}

// ---- traces ------------------------------------------------------------------------------------

/// A trace dies with events that wait for an earlier one. True if an allocation failed.
template <class Trace>
bool endTrace(std::size_t kth, Repeat repeat) {
    Nowhere buffer;
    std::ostream nowhere{&buffer};
    std::vector<int> const entries(20);
    int told = 0;
    auto trace = std::make_unique<Trace>(nowhere, [&](std::system_error const&) { ++told; });
    for (std::size_t i = 0; i < entries.size(); ++i)
        trace->onEvent(
            {.stage = TimerEvent::Stage::schedule, .number = i + 1, .entry = &entries[i]});
    AllocationFailure const failure{kth, repeat};
    trace->flush();
    trace.reset();
    EXPECT_EQ(told, failure.happened() ? 1 : 0);
    return failure.happened();
}

TEST(OutOfMemoryTrace, EndsWithEventsThatWaitForAnEarlierOne) {
    Tried tried = failEachAllocation(endTrace<JsonLinesTrace>);
    tried += failEachAllocation(endTrace<ChromeTrace>);
    tell("the end of a trace", tried, 20);
}

// ---- live timers -------------------------------------------------------------------------------

class OutOfMemoryDeathTest : public testing::Test {
protected:
    OutOfMemoryDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Makes the 65th timer of the process, which is told of, while its `kth` allocation fails. Exits
/// with 0 if it was made or there is none, and with 1 if something else came of it.
[[noreturn]] void makeOneTooMany(std::size_t kth, Repeat repeat) {
    std::vector<std::unique_ptr<HashedWheelTimer>> timers;
    HashedWheelTimerOptions const options{.leakDetection = false, .logger = [](TimerLog const&) {}};
    for (int i = 0; i < 64; ++i) timers.push_back(std::make_unique<HashedWheelTimer>(options));
    HashedWheelTimerOptions copy = options;
    try {
        AllocationFailure const failure{kth, repeat};
        HashedWheelTimer timer{std::move(copy)};
        static_cast<void>(timer.stop());
    } catch (std::bad_alloc const&) {
    }
    HashedWheelTimer one{options};
    Timeout const timeout = one.newTimeout([] {}, 1h);
    std::exit(one.stop().size() == 1 && timeout.isReturned() ? 0 : 1);
}

/// How many allocations it takes to make a timer.
std::size_t allocationsOfATimer() {
    HashedWheelTimerOptions options{.leakDetection = false};
    AllocationCounter const counter;
    HashedWheelTimer const timer{std::move(options)};
    return counter.allocations();
}

TEST_F(OutOfMemoryDeathTest, OneTimerTooManyIsMadeOrNothingIsLeft) {
    // Around where it is told, which is the last that allocates.
    std::size_t const usual = allocationsOfATimer();
    for (Repeat const repeat : {Repeat::once, Repeat::forEver}) {
        for (std::size_t const kth : {usual - 1, usual, usual + 1}) {
            EXPECT_EXIT(makeOneTooMany(kth, repeat), testing::ExitedWithCode(0), "");
        }
    }
}

/// Kept by static pointers, so that they are no leaks of memory; volatile, so that those are kept.
HashedWheelTimer* volatile forgotten = nullptr;
AllocationFailure* volatile forGood = nullptr;

[[noreturn]] void exitWithoutMemory(std::size_t kth) {
    auto const logger = [room = Large{}](TimerLog const& told) {
        static_cast<void>(room);
        std::fprintf(stderr, "%s\n", told.timerName.data());
    };
    forgotten = new HashedWheelTimer{{.name = "forgotten", .logger = logger}};
    forGood = new AllocationFailure{kth, Repeat::forEver};
    std::exit(3);
}

// A process that has no memory left ends as it should, even if it cannot say all.
TEST_F(OutOfMemoryDeathTest, AProcessExitsWithATimerThatNobodyStopped) {
    for (std::size_t const kth : {1U, 2U}) {
        EXPECT_EXIT(exitWithoutMemory(kth), testing::ExitedWithCode(3), "forgotten") << kth;
    }
}

}  // namespace
}  // namespace timingwheel::test
