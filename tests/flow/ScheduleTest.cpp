// Schedules are accepted or refused: failing memory, the limit of pending.

#include <support/AllocationCounter.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Schedule = OfWheelTimers<T>;
TYPED_TEST_SUITE(Schedule, WheelTimers, NamesOfTimers);

TYPED_TEST(Schedule, RefusesAnEmptyTaskAtATimeOrWithAPeriod) {
    TypeParam timer{this->options()};
    EXPECT_THROW(timer.scheduleAtFixedRate(std::function<void()>{}, 1s, 1s), std::invalid_argument);
    EXPECT_THROW(timer.newTimeout(std::function<void()>{}, this->now()), std::invalid_argument);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// Absolute deadlines are time points of the timer's clock, and nothing else.
template <class T, class At>
concept SchedulesAt = requires(T& timer, TimerHookBase& hook, At at) { timer.schedule(hook, at); };
static_assert(SchedulesAt<SystemTimer, Clock::TimePoint>);
static_assert(SchedulesAt<SystemTimer, std::chrono::milliseconds>);
static_assert(!SchedulesAt<SystemTimer, std::chrono::system_clock::time_point>);
static_assert(!SchedulesAt<SystemTimer, int>);

// ---- G16: memory that fails --------------------------------------------------------------------

struct Object {
    void run() { ++runs; }
    int runs = 0;
    TimerHook<&Object::run> hook{*this};
};

/// A timer with few levels built, a timeout in it, and what it looks like.
template <class TimerType>
struct Prepared {
    ManualClock clock;
    TimerType timer{{.wheelSize = 2, .clock = clock, .maxPendingTimeouts = 3}};
    std::shared_ptr<int> witness = std::make_shared<int>();
    int firstRuns = 0;
    int runs = 0;
    Timeout first = timer.newTimeout([this] { ++firstRuns; }, 1ms);
    Object object;

    auto task() {
        return [this, w = witness] {
            static_cast<void>(w);
            ++runs;
        };
    }

    void expectUnchanged() {
        timer.checkInvariants();
        EXPECT_EQ(timer.pendingTimeouts(), 1U);
        EXPECT_EQ(timer.statistics().scheduled, 1U);
        EXPECT_EQ(timer.statistics().rescheduled, 0U);
        EXPECT_EQ(witness.use_count(), 1);
        EXPECT_TRUE(first.isPending());
        EXPECT_EQ(first.deadline(), clock.now() + 1ms);
        EXPECT_FALSE(object.hook.isPending());
        EXPECT_EQ(object.hook.deadline(), Clock::TimePoint::max());
        // The limit was released.
        Timeout const b = timer.newTimeout([] {}, 1ms);
        Timeout const c = timer.newTimeout([] {}, 1ms);
        EXPECT_THROW(timer.newTimeout([] {}, 1ms), RejectedExecution);
        EXPECT_TRUE(b.cancel());
        EXPECT_TRUE(c.cancel());
    }
};

/// Lets each allocation of `act` fail in turn, expects that nothing changed, then acts again on the
/// same timer, lets time pass, and expects what `act` promised. Returns how many allocations
/// failed.
template <class TimerType>
std::size_t failEachAllocation(std::function<void(Prepared<TimerType>&)> const& act,
                               std::function<void(Prepared<TimerType>&)> const& expectDone) {
    for (std::size_t kth = 1;; ++kth) {
        SCOPED_TRACE(testing::Message() << "allocation " << kth);
        Prepared<TimerType> prepared;
        bool happened = false;
        bool threw = false;
        {
            AllocationFailure const failure{kth};
            try {
                act(prepared);
            } catch (std::bad_alloc const&) {
                threw = true;
            }
            happened = failure.happened();
        }
        EXPECT_EQ(threw, happened);
        if (threw) {
            prepared.expectUnchanged();
            act(prepared);
        }
        prepared.timer.checkInvariants();
        // Every level that was built, by the failed attempt too, is used.
        prepared.clock.advance(2ms);
        for (nanoseconds const delay : {3ms, 9ms, 40ms, 300ms, 900ms}) {
            Timeout const cascading = prepared.timer.newTimeout([] {}, delay);
            prepared.clock.advance(delay);
            EXPECT_TRUE(cascading.isExpired());
        }
        prepared.clock.advance(10s);
        expectDone(prepared);
        if (!happened) return kth - 1;
        if (testing::Test::HasFailure()) return kth;
    }
}

// G16
TYPED_TEST(Schedule, ATimeoutIsScheduledOrNothingHasChanged) {
    using P = Prepared<TypeParam>;
    std::size_t const failed =
        failEachAllocation<TypeParam>([](P& p) { p.timer.newTimeout(p.task(), 1000ms); },
                                      [](P& p) {
                                          EXPECT_EQ(p.runs, 1);
                                          EXPECT_EQ(p.firstRuns, 1);
                                          EXPECT_EQ(p.witness.use_count(), 1);
                                      });
    figure("G16", "allocations of newTimeout that failed in turn and left no change", failed,
           atLeast(3));
}

// G16
TYPED_TEST(Schedule, AHookIsScheduledOrNothingHasChanged) {
    using P = Prepared<TypeParam>;
    std::size_t const failed =
        failEachAllocation<TypeParam>([](P& p) { p.timer.schedule(p.object.hook, 1000ms); },
                                      [](P& p) { EXPECT_EQ(p.object.runs, 1); });
    figure("G16", "allocations of schedule that failed in turn and left no change", failed,
           atLeast(2));
}

// G16
TYPED_TEST(Schedule, ATimeoutIsMovedBeyondTheLevelsOrNothingHasChanged) {
    using P = Prepared<TypeParam>;
    std::size_t const failed = failEachAllocation<TypeParam>(
        [](P& p) { EXPECT_TRUE(p.timer.reschedule(p.first, 5000ms)); },
        [](P& p) { EXPECT_EQ(p.firstRuns, 1); });
    figure("G16", "allocations of reschedule that failed in turn and left no change", failed,
           atLeast(2));
}

// G16
TYPED_TEST(Schedule, APeriodicTimeoutIsScheduledOrNothingHasChanged) {
    using P = Prepared<TypeParam>;
    std::size_t const failed = failEachAllocation<TypeParam>(
        [](P& p) { p.timer.scheduleAtFixedRate(p.task(), 500ms, 500ms); },
        [](P& p) {
            EXPECT_GE(p.runs, 20);
            EXPECT_EQ(p.witness.use_count(), 2);
        });
    figure("G16", "allocations of scheduleAtFixedRate that failed in turn and left no change",
           failed, atLeast(3));
}

// G16, G17
TEST(Schedule, TheFirstScheduleStartsTheThreadOrNothingHasChanged) {
    std::size_t failures = 0;
    for (std::size_t kth = 1;; ++kth) {
        ManualClock clock;
        SystemTimer timer{{.clock = clock}};
        int runs = 0;
        bool happened = false;
        try {
            AllocationFailure const failure{kth};
            try {
                timer.newTimeout([&] { ++runs; }, 1ms);
            } catch (...) {
                happened = failure.happened();
                throw;
            }
            happened = failure.happened();
        } catch (std::bad_alloc const&) {
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
            timer.newTimeout([&] { ++runs; }, 1ms);
        }
        clock.advance(1ms);
        EXPECT_EQ(runs, 1);
        if (!happened) break;
        ++failures;
    }
    figure("G16", "allocations of a first schedule that failed in turn and left no change",
           failures, atLeast(3));
}

// G16: not by its run, which has nobody to tell that there is no memory.
TYPED_TEST(Schedule, APeriodicTimeoutHasTheLevelsOfItsNextRunBuiltAtOnce) {
    TypeParam timer{this->options()};
    int runs = 0;
    timer.scheduleAtFixedRate([&] { ++runs; }, 1ms, 1h);
    std::size_t const levels = timer.statistics().cascaded.size();
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(timer.statistics().cascaded.size(), levels);
}

// G16: cancel, in-range reschedule, expiring and stopping allocate nothing, on any thread.
TYPED_TEST(Schedule, WhatMustNotFailAllocatesNothing) {
    TypeParam timer{this->options()};
    std::vector<Timeout> timeouts;
    Object object;
    int runs = 0;
    timer.newTimeout([] {}, 100s).cancel();  // the levels
    timer.scheduleAtFixedRate([&] { ++runs; }, 10ms, 10ms);
    for (int i = 1; i <= 100; ++i) timeouts.push_back(timer.newTimeout([&] { ++runs; }, i * 100ms));
    timer.schedule(object.hook, 1s);
    this->clock.advance(1ms);  // the driver is at rest

    std::size_t all = 0;
    auto const count = [&all](auto&& act) {
        AllocationCounter const counter{Threads::all};
        act();
        all += counter.allocations();
        return counter.allocations();
    };
    EXPECT_EQ(count([&] { timeouts[10].cancel(); }), 0U);
    EXPECT_EQ(count([&] { timeouts[11].cancelAndWait(); }), 0U);
    EXPECT_EQ(count([&] { timer.reschedule(timeouts[12], 50s); }), 0U);
    EXPECT_EQ(count([&] { timer.reschedule(timeouts[13], 2ms); }), 0U);
    EXPECT_EQ(count([&] { object.hook.reschedule(2s); }), 0U);
    EXPECT_EQ(count([&] { object.hook.reschedule(1ms); }), 0U);
    EXPECT_EQ(count([&] { object.hook.cancel(); }), 0U);
    EXPECT_EQ(count([&] { timer.schedule(object.hook, 5s); }), 0U);
    EXPECT_EQ(count([&] { static_cast<void>(timeouts[14].remaining()); }), 0U);
    EXPECT_EQ(count([&] { static_cast<void>(timer.pendingTimeouts()); }), 0U);
    if constexpr (std::is_same_v<TypeParam, ManualTimer>) {
        EXPECT_EQ(count([&] { timer.advanceTo(this->now() + 6s); }), 0U);
        EXPECT_EQ(object.runs, 1);
    } else if constexpr (std::is_same_v<TypeParam, SystemTimer>) {
        timer.start();
    }
    EXPECT_EQ(count([&] {
                  StoppedTimeouts const stopped = timer.stop();
                  EXPECT_GT(stopped.size(), 30U);
              }),
              0U);
    figure("G16", "allocations of calls that must not fail", all, exactly(0));
}

// ---- G18: the limit of pending -----------------------------------------------------------------

// G18
TYPED_TEST(Schedule, AcceptsExactlyAsManyAsTheLimit) {
    constexpr std::size_t kLimit = 10;
    TypeParam timer{this->options({.name = "small", .maxPendingTimeouts = kLimit})};
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < kLimit; ++i) timeouts.push_back(timer.newTimeout([] {}, 1s));
    Object object;
    for (auto const& refused : std::vector<std::function<void()>>{
             [&] { timer.newTimeout([] {}, 1s); }, [&] { timer.newTimeout([] {}, this->now()); },
             [&] { timer.scheduleAtFixedRate([] {}, 1s, 1s); },
             [&] { timer.schedule(object.hook, 1s); }}) {
        expectThrows<RejectedExecution>(refused, "maxPendingTimeouts is 10");
        expectThrows<RejectedExecution>(refused, "timer \"small\": 10 timeouts are pending");
        EXPECT_EQ(timer.pendingTimeouts(), kLimit);
    }
    EXPECT_FALSE(object.hook.isPending());
    EXPECT_EQ(timer.statistics().refused, 8U);
    EXPECT_EQ(timer.statistics().scheduled, kLimit);
    figure("G18", "accepted under a limit of 10", timer.statistics().scheduled, exactly(kLimit));
}

/// How many timeouts the limit still admits: schedules and cancels as many.
std::size_t freePlaces(WheelTimer& timer) {
    std::vector<Timeout> timeouts;
    try {
        for (;;) timeouts.push_back(timer.newTimeout([] {}, 1h));
    } catch (RejectedExecution const&) {
    }
    for (Timeout const& timeout : timeouts) EXPECT_TRUE(timeout.cancel());
    return timeouts.size();
}

// G18
TYPED_TEST(Schedule, EveryOutcomeReleasesTheLimit) {
    TypeParam timer{this->options({.maxPendingTimeouts = 8})};
    ASSERT_EQ(freePlaces(timer), 8U);
    Object object;

    timer.newTimeout([] {}, 1ms);
    timer.newTimeout([] { throw 1; }, 1ms);
    timer.schedule(object.hook, 1ms);
    Timeout const cancelled = timer.newTimeout([] {}, 1ms);
    EXPECT_EQ(freePlaces(timer), 4U);
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_FALSE(cancelled.cancel());
    EXPECT_EQ(freePlaces(timer), 5U);
    this->clock.advance(1ms);
    EXPECT_EQ(freePlaces(timer), 8U);

    timer.schedule(object.hook, 1ms);
    EXPECT_EQ(freePlaces(timer), 7U);
    EXPECT_TRUE(object.hook.cancel());
    EXPECT_FALSE(object.hook.cancel());
    EXPECT_EQ(freePlaces(timer), 8U);
    {
        Object brief;
        timer.schedule(brief.hook, 1ms);
    }
    EXPECT_EQ(freePlaces(timer), 8U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G18
TYPED_TEST(Schedule, APeriodicTimeoutCountsUntilItEnds) {
    TypeParam timer{this->options({.maxPendingTimeouts = 4})};
    Timeout periodic;
    std::size_t freeInside = 99;
    periodic = timer.scheduleAtFixedRate([&] { freeInside = freePlaces(timer); }, 1ms, 1ms);
    for (int i = 0; i < 5; ++i) {
        this->clock.advance(1ms);
        EXPECT_EQ(freePlaces(timer), 3U);
        EXPECT_EQ(freeInside, 3U);
    }
    EXPECT_TRUE(periodic.cancel());
    EXPECT_EQ(freePlaces(timer), 4U);

    Timeout self;
    self = timer.scheduleAtFixedRate([&] { EXPECT_TRUE(self.cancel()); }, 1ms, 1ms);
    this->clock.advance(5ms);
    EXPECT_EQ(freePlaces(timer), 4U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G18, G19
TEST(Schedule, ARejectedTaskReleasesTheLimit) {
    struct Refusing {
        void execute(Claim) { throw std::runtime_error{"full"}; }
    };
    ManualClock clock;
    Refusing executor;
    FailureLog failures;
    SystemTimer timer{{.clock = clock,
                       .executor = executor,
                       .maxPendingTimeouts = 4,
                       .errorHandler = failures.handler()}};
    timer.newTimeout([] {}, 1ms);
    timer.scheduleAtFixedRate([] {}, 1ms, 1ms);
    clock.advance(1ms);
    EXPECT_EQ(freePlaces(timer), 4U);
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 2U);
}

}  // namespace
}  // namespace timingwheel::test
