// Objects are made or they are not, with too little memory.

#include <support/OutOfMemory.h>
#include <support/TemporaryFile.h>
#include <support/TestTimers.h>
#include <timingwheel/Duration.h>
#include <timingwheel/Executor.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/TimerTrace.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <new>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

// Shows G16.

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
        {"SystemTimer whose levels differ",
         [](Workshop&) {
             SystemTimer const timer{{.levelSizes = {60, 60, 24, 7}}};
         }},
        {"SystemTimer under Clock::continuous()",
         [](Workshop&) { SystemTimer const timer{{.clock = Clock::continuous()}}; }},
        {"SystemTimer under Clock::wall()",
         [](Workshop&) {
             SystemTimer const timer{{.clock = Clock::wall()}};
             static_cast<void>(Clock::wallTime(Clock::systemTime(timer.clock().now())));
         }},
        {"LoopTimer and its nativeHandle",
         [](Workshop&) {
             LoopTimer const timer;
             EXPECT_NE(timer.nativeHandle(), detail::kNoHandle);
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

}  // namespace
}  // namespace timingwheel::test
