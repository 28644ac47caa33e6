// What the interface of all timers promises, tested through it: the same suite on each.

#include "unit/public/OwnedObjects.h"

#include <support/AnyTimer.h>
#include <support/CountOfEach.h>
#include <support/Effort.h>
#include <support/Handles.h>
#include <support/Ledger.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using AnyTimer = OfAllTimers<T>;
TYPED_TEST_SUITE(AnyTimer, AllTimers, NamesOfAllTimers);

// ---- time --------------------------------------------------------------------------------------

// G1, G2: at the first tick that is not before the deadline; a flat wheel at the first after it.
TYPED_TEST(AnyTimer, RunsEachTaskOnceAndOnTime) {
    std::uint64_t const seed = seedOr(51);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    std::size_t const each = scaled(3'000);
    std::size_t lost = 0;
    std::size_t wrong = 0;
    for (nanoseconds const tick : {nanoseconds{1ms}, nanoseconds{7ms}, nanoseconds{100ms}}) {
        for (std::int64_t const slots : {2, 8, 64}) {
            auto const timer = this->make({.tick = tick, .slots = slots});
            nanoseconds const start = this->now();
            CountOfEach runs{each};
            std::uniform_int_distribution<std::int64_t> delay{1, 200 * tick.count()};
            std::uniform_int_distribution<std::int64_t> step{0, 3 * tick.count()};
            for (std::size_t i = 0; i < each; ++i) {
                nanoseconds const after{delay(random)};
                nanoseconds const due = this->reached(this->now() - start + after, tick);
                timer->newTimeout(
                    [this, &runs, &wrong, i, start, due] {
                        runs.count(i);
                        wrong += this->now() - start == due ? 0U : 1U;
                    },
                    after);
                if (i % 8 == 0) this->clock.advance(nanoseconds{step(random)});
            }
            this->clock.advance(202 * tick);
            EXPECT_EQ(timer->pendingTimeouts(), 0U);
            lost += runs.otherThan(1);
        }
    }
    EXPECT_EQ(lost, 0U) << "lost, or run twice";
    figure("G1", "early or late of its tick, each timer", wrong, exactly(0), {9 * each, 27'000});
}

// G1: a handle's deadline is the one that was asked for or later, by at most a tick.
TYPED_TEST(AnyTimer, ADeadlineIsWhatWasAskedForOrUpToATickLater) {
    auto const timer = this->make({.tick = 10ms});
    for (nanoseconds const delay : {1ns, nanoseconds{3ms}, nanoseconds{10ms}, nanoseconds{25ms},
                                    nanoseconds{80ms}, nanoseconds{999ms}, nanoseconds{1h}}) {
        auto const asked = this->clock.now() + delay;
        Timeout const t = timer->newTimeout([] {}, delay);
        EXPECT_GE(t.deadline(), asked);
        EXPECT_LE(t.deadline(), asked + 10ms);
        EXPECT_EQ(t.remaining(), t.deadline() - this->clock.now());
        EXPECT_EQ(t.timer(), timer.get());
        this->clock.advance(7ms);
    }
}

// G13. Bug pattern: a negative delay waits a full turn.
TYPED_TEST(AnyTimer, ZeroAndNegativeDelaysRunWithinATick) {
    auto const timer = this->make({.tick = 10ms, .slots = 4});
    this->clock.advance(1234ms);
    int runs = 0;
    std::vector<Duration> const delays{0ms,   -1ns,    -10ms, -39ms,
                                       -40ms, -1234ms, -1h,   Duration{nanoseconds::min()}};
    for (Duration const delay : delays) timer->newTimeout([&runs] { ++runs; }, delay);
    this->clock.advance(6ms);
    EXPECT_EQ(runs, static_cast<int>(delays.size()));
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

template <class D>
void addExtremes(std::vector<Duration>& delays) {
    using Rep = typename D::rep;
    for (int k = 0; k <= 62; ++k) {
        std::int64_t const power = std::int64_t{1} << k;
        for (std::int64_t const count : {power - 1, power, power + 1}) {
            delays.push_back(D{static_cast<Rep>(count)});
            delays.push_back(D{static_cast<Rep>(-count)});
        }
    }
    delays.push_back(D::max());
    delays.push_back(D::min());
}

// G13. Bug patterns: max() fires at once; a delay beyond the capacity fires early.
TYPED_TEST(AnyTimer, AnyDelayInAnyUnitHasADocumentedResult) {
    constexpr nanoseconds kTime = TestFixture::kIsFlat ? nanoseconds{2s} : nanoseconds{1h};
    std::vector<Duration> delays;
    addExtremes<std::chrono::nanoseconds>(delays);
    addExtremes<std::chrono::microseconds>(delays);
    addExtremes<std::chrono::milliseconds>(delays);
    addExtremes<std::chrono::hours>(delays);
    addExtremes<std::chrono::duration<double>>(delays);
    addExtremes<std::chrono::duration<float>>(delays);
    nanoseconds const start = this->now();
    for (std::int64_t const less : {start.count() - 1, start.count(), start.count() + 1})
        delays.push_back(nanoseconds{INT64_MAX - std::max<std::int64_t>(less, 0)});
    delays.push_back(std::chrono::duration<double>{std::numeric_limits<double>::infinity()});
    delays.push_back(std::chrono::duration<float>{-std::numeric_limits<float>::infinity()});
    auto const timer = this->make({.slots = 32});
    std::size_t early = 0;
    std::size_t runs = 0;
    std::size_t due = 0;
    for (Duration const delay : delays) {
        due += delay.nanoseconds() <= kTime ? 1U : 0U;
        timer->newTimeout(
            [&, delay] {
                ++runs;
                early += this->now() - start < delay.nanoseconds() ? 1U : 0U;
            },
            delay);
    }
    this->check(*timer);
    this->clock.advance(kTime + 1ms);  // no delay lies between
    EXPECT_EQ(runs, due);
    figure("G13", "extreme delays that ran early, each timer", early, exactly(0),
           {delays.size(), 2'285});
    if (!this->kIsFlat) {
        figure("G13", "levels for them", this->statistics(*timer).cascaded.size(), atMost(15));
    }
    EXPECT_EQ(timer->pendingTimeouts(), delays.size() - due);
    EXPECT_EQ(timer->stop().size(), delays.size() - due);
}

// G13
TYPED_TEST(AnyTimer, RefusesNaN) {
    auto const timer = this->make();
    EXPECT_THROW(timer->newTimeout([] {}, std::chrono::duration<double>{std::nan("")}),
                 std::invalid_argument);
    EXPECT_THROW(timer->newTimeout([] {}, std::chrono::duration<float>{std::nanf("")}),
                 std::invalid_argument);
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    EXPECT_EQ(this->statistics(*timer).scheduled, 0U);
}

// Bug patterns: a delay of wheelSize - 1 ticks lands in a slot that is not drained yet; an exact
// multiple of a wheel's turn is a lap off.
TYPED_TEST(AnyTimer, DelaysAroundATurnOfTheWheelAreNeitherALapShortNorLong) {
    for (std::int64_t const slots : {2, 8}) {
        for (std::int64_t const phase : {0, 1, 3, 7}) {
            auto const timer = this->make({.slots = slots});
            nanoseconds const start = this->now();
            this->clock.advance(phase * 1ms);
            std::size_t runs = 0;
            std::size_t added = 0;
            for (std::int64_t turn = 1; turn <= slots * slots; turn *= slots) {
                for (std::int64_t const off : {-1, 0, 1}) {
                    for (nanoseconds const half : {nanoseconds{0}, nanoseconds{500us}}) {
                        nanoseconds const delay = turn * slots * 1ms + off * 1ms - half;
                        nanoseconds const due = this->reached(phase * 1ms + delay, 1ms);
                        ++added;
                        timer->newTimeout(
                            [this, &runs, start, due] {
                                ++runs;
                                EXPECT_EQ(this->now() - start, due);
                            },
                            delay);
                    }
                }
            }
            this->clock.advance(slots * slots * slots * 1ms + 2ms);
            EXPECT_EQ(runs, added);
        }
    }
}

// Bug patterns: a later timer hides an earlier one; a shorter delay added later does not wake the
// sleeper; the next alarm is computed from a cancelled timer.
TYPED_TEST(AnyTimer, NoTimeoutHidesAnother) {
    auto const timer = this->make({.slots = 4});
    Timeout const never = timer->newTimeout([] {}, Duration::max());
    Timeout const far = timer->newTimeout([] {}, 1h);
    Timeout const cancelled = timer->newTimeout([] {}, 2500us);
    Timeout const middle = timer->newTimeout([] {}, 70'500us);
    this->clock.advance(1ms);
    Timeout const near = timer->newTimeout([] {}, 4500us);  // at 5.5
    EXPECT_TRUE(cancelled.cancel());
    this->clock.advance(4ms);
    EXPECT_TRUE(near.isPending());
    this->clock.advance(1ms);
    EXPECT_TRUE(near.isExpired());
    this->clock.advance(64ms);
    EXPECT_TRUE(middle.isPending());
    this->clock.advance(1ms);
    EXPECT_TRUE(middle.isExpired());
    EXPECT_TRUE(far.isPending());
    EXPECT_TRUE(never.isPending());
    EXPECT_EQ(timer->pendingTimeouts(), 2U);
}

// Bug pattern: after a rest the first is placed relative to where the wheel stood.
TYPED_TEST(AnyTimer, ATimeoutAfterALongRestIsOnTime) {
    auto const timer = this->make({.tick = 10ms, .slots = 4});
    nanoseconds const start = this->now();
    for (nanoseconds const rest : {nanoseconds{40ms}, nanoseconds{1h + 3ms}, nanoseconds{24h}}) {
        this->clock.jump(rest);
        for (nanoseconds const delay : {nanoseconds{1ms}, nanoseconds{39ms}, nanoseconds{165ms}}) {
            nanoseconds const due = this->reached(this->now() - start + delay, 10ms);
            nanoseconds ranAt{0};
            timer->newTimeout([&] { ranAt = this->now() - start; }, delay);
            this->clock.advance(200ms);
            EXPECT_EQ(ranAt, due);
        }
    }
}

// G15. Bug patterns: only one tick is processed per wake-up; what a task schedules counts from the
// tick that the driver has reached.
TYPED_TEST(AnyTimer, AForwardJumpRunsEverythingDueOnceInOrder) {
    std::uint64_t const seed = seedOr(52);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    auto const timer = this->make({.slots = 8});
    std::size_t const count = scaled(20'000);
    std::vector<unsigned char> runs(count);
    std::vector<std::int64_t> order;
    order.reserve(count);
    std::size_t due = 0;
    for (std::size_t i = 0; i < count; ++i) {
        // Between two ticks, so that each has the same tick in every timer.
        auto const tick = static_cast<std::int64_t>(random() % 10'000);
        if (tick < 8'000) ++due;
        timer->newTimeout(
            [&runs, &order, i, tick] {
                ++runs[i];
                order.push_back(tick);
            },
            tick * 1ms + 500us);
    }
    this->clock.jump(8s);
    EXPECT_EQ(order.size(), due);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(timer->pendingTimeouts(), count - due);
    this->clock.jump(2001ms);
    EXPECT_EQ(order.size(), count);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    figure("G15", "runs of each after a jump, at most, each timer",
           int{*std::max_element(runs.begin(), runs.end())}, exactly(1), {count, 20'000});
}

TYPED_TEST(AnyTimer, WhatATaskSchedulesCountsFromNowAlsoWhenTheTaskIsLate) {
    auto const timer = this->make({.tick = 10ms});
    std::vector<nanoseconds> ranAt;
    timer->newTimeout(
        [&] {
            ranAt.push_back(this->now());
            timer->newTimeout([&] { ranAt.push_back(this->now()); }, 25ms);  // at 525
        },
        15ms);
    this->clock.jump(500ms);
    this->clock.advance(100ms);
    EXPECT_EQ(ranAt, (std::vector<nanoseconds>{500ms, 530ms}));
}

// advance() lets each task of a chain see its own time.
TYPED_TEST(AnyTimer, AChainOfTasksRunsAtTheTimeOfEach) {
    auto const timer = this->make({.tick = 10ms, .slots = 4});
    std::vector<nanoseconds> ranAt;
    std::function<void()> const again = [&] {
        ranAt.push_back(this->now());
        timer->newTimeout(again, 95ms);
    };
    timer->newTimeout(again, 95ms);
    this->clock.advance(1s);
    ASSERT_EQ(ranAt.size(), 10U);
    for (std::size_t i = 0; i < ranAt.size(); ++i)
        EXPECT_EQ(ranAt[i], static_cast<std::int64_t>(i + 1) * 100ms);
}

// ---- outcomes ----------------------------------------------------------------------------------

// G3, G4
TYPED_TEST(AnyTimer, CancelIsTrueOnceAndTheTaskNeverRuns) {
    auto const timer = this->make();
    for (nanoseconds const delay : {nanoseconds{1}, nanoseconds{4500us}, nanoseconds{1h}}) {
        for (bool const waits : {false, true}) {
            Timeout const t = timer->newTimeout([] { FAIL(); }, delay);
            EXPECT_TRUE(waits ? t.cancelAndWait() : t.cancel());
            EXPECT_FALSE(t.cancel());
            EXPECT_FALSE(t.cancelAndWait());
            EXPECT_EQ(answersOf(t), kCancelled);
            this->clock.advance(10ms);
            EXPECT_EQ(answersOf(t), kCancelled);
            EXPECT_EQ(timer->pendingTimeouts(), 0U);
        }
    }
    Timeout const ran = timer->newTimeout([] {}, 500us);
    this->clock.advance(1ms);
    EXPECT_FALSE(ran.cancel());
    EXPECT_FALSE(ran.cancelAndWait());
    EXPECT_EQ(answersOf(ran), kExpired);
}

/// A task with an account in a ledger.
struct Booked {
    Ledger* ledger;
    ManualClock* clock;
    Ledger::Id id;
    void operator()() const { ledger->ran(id, clock->now()); }
};

// G3: whatever happens when, and whenever it is stopped.
TYPED_TEST(AnyTimer, EachTimeoutHasExactlyOneOutcome) {
    std::uint64_t const seed = seedOr(53);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    LedgerSum sum;
    constexpr std::size_t kOperations = 400;
    for (std::size_t round = 0; round < scaled(100); ++round) {
        Ledger ledger{kOperations};
        auto const timer = this->make({.slots = 4});
        std::vector<std::pair<Timeout, Ledger::Id>> handles;
        std::size_t const stopsAt = random() % kOperations;
        for (std::size_t i = 0; i < stopsAt; ++i) {
            auto const dice = random() % 10;
            if (dice < 6) {
                nanoseconds const delay{static_cast<std::int64_t>(random() % 40'000'000)};
                Ledger::Id const id = ledger.open(this->clock.now() + delay);
                handles.emplace_back(timer->newTimeout(Booked{&ledger, &this->clock, id}, delay),
                                     id);
                ledger.accept(id);
            } else if (dice < 9 && !handles.empty()) {
                auto const& [timeout, id] = handles[random() % handles.size()];
                if (random() % 2 == 0 ? timeout.cancel() : timeout.cancelAndWait())
                    ledger.book(id, Outcome::cancelled);
            } else if (random() % 2 == 0) {
                this->clock.advance(nanoseconds{static_cast<std::int64_t>(random() % 5'000'000)});
            } else {
                this->clock.jump(nanoseconds{static_cast<std::int64_t>(random() % 5'000'000)});
            }
        }
        for (StoppedTimeout const& one : timer->stop())
            ledger.book(one.target<Booked>()->id, Outcome::returned);
        EXPECT_EQ(timer->pendingTimeouts(), 0U);
        this->clock.advance(50ms);
        for (auto const& [timeout, id] : handles) {
            EXPECT_TRUE(timeout.isExpired() != timeout.isCancelled());
            EXPECT_EQ(timeout.isDone(), timeout.isExpired());
        }
        sum += ledger.sum();
    }
    tellTheSum("each timer, stopped at random points", sum, {sum.accepted, 0});
    EXPECT_GT(sum.returned, 0U);
    EXPECT_GT(sum.cancelled, 0U);
    EXPECT_GT(sum.ran, 0U);
}

// G6: a flat wheel leaves it to the next tick.
TYPED_TEST(AnyTimer, ACaptureGoesWithItsTimeout) {
    auto const timer = this->make({.slots = 4});
    auto const witness = std::make_shared<int>();
    auto const alive = [&] { return witness.use_count() - 1; };
    auto const add = [&](Duration delay) { return timer->newTimeout([witness] {}, delay); };
    Timeout const ran = add(500us);
    Timeout const cancelled = add(1h);
    Timeout const waited = add(1h);
    Timeout const near = add(2500us);
    EXPECT_EQ(alive(), 4);
    EXPECT_TRUE(waited.cancelAndWait());
    EXPECT_EQ(alive(), 3);
    EXPECT_TRUE(cancelled.cancel());
    if (!this->kIsFlat) {
        EXPECT_EQ(alive(), 2);
    }
    this->clock.advance(1ms);
    EXPECT_TRUE(ran.isExpired());
    EXPECT_EQ(alive(), 1);
    {
        StoppedTimeouts const stopped = timer->stop();
        EXPECT_EQ(stopped.size(), 1U);
        EXPECT_EQ(alive(), 1);
    }
    EXPECT_TRUE(near.isReturned());
    EXPECT_EQ(alive(), 0);
    {
        auto const brief = this->make();
        brief->newTimeout([witness] {}, 1h);
    }
    EXPECT_EQ(alive(), 0);
}

TYPED_TEST(AnyTimer, IsDoneWhenItsRunIsOver) {
    auto const timer = this->make();
    EXPECT_FALSE(Timeout{}.isDone());
    bool isDoneInside = true;
    Timeout const returns =
        timer->newTimeout([&](Timeout const& self) { isDoneInside = self.isDone(); }, 500us);
    Timeout const throws = timer->newTimeout([] { throw 1; }, 500us);
    Timeout const cancelled = timer->newTimeout([] {}, 500us);
    Timeout const returned = timer->newTimeout([] {}, 1h);
    std::vector<Timeout> const all{returns, throws, cancelled, returned};
    for (Timeout const& t : all) EXPECT_FALSE(t.isDone());
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_FALSE(cancelled.isDone());
    this->clock.advance(1ms);
    EXPECT_FALSE(isDoneInside);
    static_cast<void>(timer->stop());
    for (Timeout const& t : all) EXPECT_EQ(t.isDone(), t == returns || t == throws);
}

TYPED_TEST(AnyTimer, CountsWhatIsPending) {
    auto const timer = this->make();
    std::vector<Timeout> timeouts;
    for (std::int64_t i = 0; i < 10; ++i)
        timeouts.push_back(timer->newTimeout([] {}, i * 1ms + 500us));
    EXPECT_EQ(timer->pendingTimeouts(), 10U);
    this->clock.advance(3ms);
    EXPECT_EQ(timer->pendingTimeouts(), 7U);
    EXPECT_TRUE(timeouts[9].cancel());
    EXPECT_FALSE(timeouts[9].cancel());
    EXPECT_FALSE(timeouts[0].cancel());
    this->clock.advance(1ms);  // a flat wheel counts it until then
    EXPECT_EQ(timer->pendingTimeouts(), 5U);
    this->clock.advance(1h);
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

// ---- tasks -------------------------------------------------------------------------------------

int plainRuns = 0;
void plainFunction() { ++plainRuns; }

TYPED_TEST(AnyTimer, TakesEveryKindOfCallable) {
    auto const timer = this->make();
    plainRuns = 0;
    int runs = 0;
    timer->newTimeout(&plainFunction, 500us);
    timer->newTimeout(std::function<void()>{plainFunction}, 500us);
    timer->newTimeout([&]() -> int { return ++runs; }, 500us);
    timer->newTimeout([&](Timeout const&) mutable noexcept { ++runs; }, 500us);
    timer->newTimeout([&runs, p = std::make_unique<int>(7)] { runs += *p; }, 500us);
    this->clock.advance(1ms);
    EXPECT_EQ(plainRuns, 2);
    EXPECT_EQ(runs, 9);
}

template <std::size_t size, std::size_t alignment>
struct alignas(alignment) Big {
    std::array<unsigned char, size> bytes{};
    int* runs;
    explicit Big(int* counter) : runs{counter} { bytes.fill(0x5a); }
    void operator()() {
        ++*runs;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % alignment, 0U);
        for (unsigned char const byte : bytes) ASSERT_EQ(byte, 0x5a);
    }
};

TYPED_TEST(AnyTimer, TakesHugeAndOverAlignedCallables) {
    auto const timer = this->make();
    int runs = 0;
    timer->newTimeout(Big<100'000, 8>{&runs}, 500us);
    timer->newTimeout(Big<1, 16>{&runs}, 500us);
    timer->newTimeout(Big<3, 32>{&runs}, 500us);
    timer->newTimeout(Big<64, 64>{&runs}, 500us);
    timer->newTimeout(Big<1, 4096>{&runs}, 500us);
    Timeout const dropped = timer->newTimeout(Big<100'000, 64>{&runs}, 500us);
    EXPECT_TRUE(dropped.cancel());
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 5);
    if constexpr (!TestFixture::kIsFlat) {
        auto& periodic = static_cast<TypeParam&>(*timer);
        periodic.scheduleAtFixedRate(Big<5, 256>{&runs}, 1ms, 1ms);
        this->clock.advance(2ms);
        EXPECT_EQ(runs, 7);
    }
}

// Bug pattern: a class with an operator new of its own has no placement form.
TYPED_TEST(AnyTimer, TakesATaskOfAClassThatAllocatesByItself) {
    auto const timer = this->make();
    struct Task {
        static void* operator new(std::size_t size) { return ::operator new(size); }
        static void operator delete(void* memory) { ::operator delete(memory); }
        void operator()() const { ++*runs; }
        int* runs;
    };
    int runs = 0;
    timer->newTimeout(Task{&runs}, 1ms);
    this->clock.advance(3ms);
    EXPECT_EQ(runs, 1);
}

TYPED_TEST(AnyTimer, TakesATimePointOfItsClockAndATolerance) {
    auto const timer = this->make();
    int runs = 0;
    auto const start = this->now();
    timer->newTimeout([&] { ++runs; }, start + 4500us, {.tolerance = 1us});
    timer->newTimeout([&] { runs += 10; }, start - 1h);
    timer->newTimeout([&] { runs += 100; }, Clock::TimePoint::max());
    timer->newTimeout([&] { runs += 1000; }, Clock::TimePoint::min());
    EXPECT_THROW(timer->newTimeout([&] { ++runs; }, 1ms, {.tolerance = -1ns}),
                 std::invalid_argument);
    EXPECT_THROW(timer->newTimeout([&] { ++runs; }, start, {.tolerance = -1ns}),
                 std::invalid_argument);
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 1010);
    EXPECT_EQ(timer->pendingTimeouts(), 2U);
    this->clock.advance(3ms);
    EXPECT_EQ(runs, 1010);
    this->clock.advance(2ms);
    EXPECT_EQ(runs, 1011);
    this->clock.advance(1s);
    EXPECT_EQ(runs, 1011);
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
}

#ifdef TIMINGWHEEL_STOP_TOKEN

/// Counts what becomes of it.
struct CountedJob {
    int* runs;
    int* cancellations;
    void operator()() const { ++*runs; }
    void cancelled(Timeout const&) const { ++*cancellations; }
};

// Shows G29.
TYPED_TEST(AnyTimer, CancelsATaskWhoseTokenIsStopped) {
    auto const timer = this->make();
    int runs = 0;
    int cancellations = 0;
    CountedJob const job{&runs, &cancellations};
    std::stop_source source;
    Timeout const early = timer->newTimeout(untilStopped(source.get_token(), job), 1ms);
    Timeout const late = timer->newTimeout(untilStopped(source.get_token(), job), 500ms);
    this->clock.advance(2ms);
    EXPECT_EQ(runs, 1);
    source.request_stop();
    EXPECT_TRUE(early.isExpired());
    EXPECT_TRUE(late.isCancelled());
    Timeout const never = timer->newTimeout(untilStopped(source.get_token(), job), -1h);
    EXPECT_TRUE(never.isCancelled());
    this->clock.advance(1s);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cancellations, 2);
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

#endif

TYPED_TEST(AnyTimer, RefusesAnEmptyTask) {
    auto const timer = this->make();
    auto const object = std::make_shared<int>(1);
    void (*const function)() = nullptr;
    EXPECT_THROW(timer->newTimeout(function, 1s), std::invalid_argument);
    EXPECT_THROW(timer->newTimeout(std::function<void()>{}, 1s), std::invalid_argument);
    EXPECT_THROW(timer->newTimeout(std::shared_ptr<TimerTask>{}, 1s), std::invalid_argument);
    auto const empty = std::function<void(int&)>{};
    EXPECT_THROW(std::ignore = ifAlive(std::weak_ptr{object}, empty), std::invalid_argument);
    EXPECT_THROW(std::ignore = ifAlive(object, empty), std::invalid_argument);
    expectThrows<std::invalid_argument>(
        [&] { std::ignore = ifAlive(std::shared_ptr<int>{}, [](int&) {}); }, "the object is null");
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

// G16
TYPED_TEST(AnyTimer, AMovingTaskThatThrowsChangesNothing) {
    struct Immovable {
        explicit Immovable(int movesLeft) : left{movesLeft} {}
        Immovable(Immovable&& other) : left{other.left - 1} {
            if (left < 0) throw std::runtime_error{"not movable"};
        }
        void operator()() {}
        int left;
    };
    auto const timer = this->make({.maxPendingTimeouts = 1});
    EXPECT_THROW(timer->newTimeout(Immovable{0}, 1s), std::runtime_error);
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    EXPECT_TRUE(timer->newTimeout(Immovable{5}, 1s).isPending());
}

TYPED_TEST(AnyTimer, ReturnsItsTimerTaskWhileItIsPendingOrRunning) {
    auto const timer = this->make();
    auto const task = std::make_shared<ATask>();
    std::shared_ptr<TimerTask> inside;
    task->onRun = [&](Timeout const& self) { inside = self.task(); };
    Timeout const t = timer->newTimeout(task, 500us);
    EXPECT_EQ(t.task(), task);
    this->clock.advance(1ms);
    EXPECT_EQ(inside, task);
    EXPECT_EQ(t.task(), nullptr);
    EXPECT_EQ(task->runs, 1);
    EXPECT_EQ(task->cancels, 0);
    EXPECT_EQ(task->last, t);
    inside.reset();
    task->last = {};
    EXPECT_EQ(task.use_count(), 1);
}

// By the canceller, or on the worker at the next tick.
TYPED_TEST(AnyTimer, TellsATaskOnceThatItWasCancelled) {
    auto const timer = this->make();
    auto const task = std::make_shared<ATask>();
    int runs = 0;
    int cancels = 0;
    Timeout const a = timer->newTimeout(task, 1h);
    Timeout const b = timer->newTimeout(Hears{&runs, &cancels}, 1h);
    Timeout const ran = timer->newTimeout(Hears{&runs, &cancels}, 500us);
    EXPECT_TRUE(a.cancel());
    if (!this->kIsFlat) {
        EXPECT_EQ(task->cancels, 1);
    }
    EXPECT_FALSE(a.cancelAndWait());
    EXPECT_TRUE(b.cancelAndWait());
    EXPECT_FALSE(b.cancel());
    EXPECT_EQ(cancels, 1);
    this->clock.advance(1ms);
    EXPECT_FALSE(ran.cancel());
    this->clock.advance(1ms);
    EXPECT_EQ(task->cancels, 1);
    EXPECT_EQ(task->runs, 0);
    EXPECT_EQ(task->last, a);
    EXPECT_EQ(a.task(), nullptr);
    EXPECT_EQ(task.use_count(), 1);
    EXPECT_EQ(cancels, 1);
    EXPECT_EQ(runs, 1);
}

TYPED_TEST(AnyTimer, ATaskOnAWeakPointerRunsOnTheLivingObjectOrNotAtAll) {
    auto const timer = this->make();
    auto const living = std::make_shared<OwnedObject>();
    auto dead = std::make_shared<OwnedObject>();
    int onDead = 0;
    timer->newTimeout(ifAlive(std::weak_ptr{living}, &OwnedObject::expire), 500us);
    timer->newTimeout(ifAlive(std::weak_ptr{living}, [](OwnedObject& s) { s.expirations += 10; }),
                      500us);
    timer->newTimeout(ifAlive(std::weak_ptr{dead}, [&](OwnedObject&) { ++onDead; }), 500us);
    EXPECT_EQ(living.use_count(), 1);
    dead.reset();
    this->clock.advance(1ms);
    EXPECT_EQ(living->expirations, 11);
    EXPECT_EQ(onDead, 0);

    // Of a shared pointer the timer keeps no more than that.
    dead = std::make_shared<OwnedObject>();
    timer->newTimeout(ifAlive(living, &OwnedObject::expire), 500us);
    timer->newTimeout(ifAlive(dead, [&](OwnedObject&) { ++onDead; }), 500us);
    EXPECT_EQ(living.use_count(), 1);
    dead.reset();
    this->clock.advance(2ms);
    EXPECT_EQ(living->expirations, 12);
    EXPECT_EQ(onDead, 0);
    EXPECT_EQ(this->failures.count(), 0U);
}

// G5: what a cancel() destroys may cancel it as well, and so may what dies with that.
TYPED_TEST(AnyTimer, ACaptureThatDiesMayWaitForItsOwnTimeout) {
    Watchdog const watchdog{"a capture that waits for its own timeout"};
    struct OnDeath {
        explicit OnDeath(std::function<void()> what) : act{std::move(what)} {}
        ~OnDeath() { act(); }
        std::function<void()> act;
    };
    auto const timer = this->make();
    Timeout outer;
    Timeout inner;
    int waited = 0;
    auto const wait = [&] {
        EXPECT_FALSE(outer.cancelAndWait());
        ++waited;
    };
    inner = timer->newTimeout([mine = std::make_shared<OnDeath>(wait)] {}, 1h);
    outer = timer->newTimeout([mine = std::make_shared<OnDeath>([&] {
                                   inner.cancelAndWait();
                                   wait();
                               })] {},
                              1h);
    outer.cancelAndWait();
    EXPECT_EQ(waited, 2);
}

// G7
TYPED_TEST(AnyTimer, ThrowingTasksAffectNoOther) {
    constexpr int kTasks = 1000;
    for (int const k : {1, 2, 3, 7, 1000}) {
        std::size_t const before = this->failures.count();
        auto const timer = this->make({.name = "tea"});
        CountOfEach runs{kTasks};
        for (int i = 1; i <= kTasks; ++i) {
            auto task = [&runs, i, k] {
                runs.count(static_cast<std::size_t>(i - 1));
                if (i % k != 0) return;
                if (i % 2 == 0) throw std::runtime_error{"task " + std::to_string(i)};
                throw i;
            };
            timer->newTimeout(task, i % 10 * 1ms + 500us);
        }
        this->clock.advance(10ms);
        EXPECT_EQ(runs.otherThan(1), 0U);
        EXPECT_EQ(this->statistics(*timer).fired, static_cast<std::uint64_t>(kTasks));
        auto const entries = this->failures.entries();
        ASSERT_EQ(entries.size() - before, static_cast<std::size_t>(kTasks / k));
        for (std::size_t i = before; i < entries.size(); ++i) {
            EXPECT_EQ(entries[i].kind, TaskFailure::Kind::threw);
            EXPECT_TRUE(entries[i].timeout.isDone());
            EXPECT_TRUE(entries[i].timeout.isExpired());
            EXPECT_EQ(entries[i].timerName, "tea");
        }
        if (k != 7) continue;
        figure("G7", "tasks that did not run once where every 7th throws, each timer",
               runs.otherThan(1), exactly(0), {kTasks, kTasks});
        figure("G7", "failures that the handler heard of, each timer", entries.size() - before,
               exactly(kTasks / k));
    }
}

// G7
TYPED_TEST(AnyTimer, ThrowingDestructorsAffectNoOther) {
    auto const timer = this->make();
    int runs = 0;
    auto const task = [&runs] { return [&runs, bad = ThrowsWhenItDies{}] { ++runs; }; };
    timer->newTimeout(task(), 500us);
    timer->newTimeout([&runs] { ++runs; }, 500us);
    EXPECT_TRUE(timer->newTimeout(task(), 1h).cancelAndWait());
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 1U);
    EXPECT_TRUE(timer->newTimeout(task(), 1h).cancel());
    if (!this->kIsFlat) {
        EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 2U);
    }
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 3U);
    timer->newTimeout(task(), 1h);
    static_cast<void>(timer->stop());
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 4U);
    EXPECT_EQ(this->failures.count(), 4U);
    for (auto const& entry : this->failures.entries())
        EXPECT_EQ(entry.what, "a capture died badly");
}

// ---- the limit of pending timeouts -------------------------------------------------------------

// G18
TYPED_TEST(AnyTimer, AcceptsExactlyAsManyAsTheLimit) {
    auto const timer = this->make({.name = "small", .maxPendingTimeouts = 10});
    std::vector<Timeout> timeouts;
    auto const add = [&] { timeouts.push_back(timer->newTimeout([] {}, 2500us)); };
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 10; ++i) add();
        expectThrows<RejectedExecution>(add, "timer \"small\": 10 timeouts are pending");
        expectThrows<RejectedExecution>(add, "maxPendingTimeouts is 10");
        EXPECT_EQ(timer->pendingTimeouts(), 10U);
        for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(timeouts[timeouts.size() - 1 - i].cancel());
        this->clock.advance(1ms);
        EXPECT_EQ(timer->pendingTimeouts(), 5U);
        for (int i = 0; i < 5; ++i) add();
        EXPECT_THROW(add(), RejectedExecution);
        this->clock.advance(5ms);
        EXPECT_EQ(timer->pendingTimeouts(), 0U);
    }
}

// G18
TYPED_TEST(AnyTimer, ARunningTaskHasReleasedTheLimit) {
    auto const timer = this->make({.maxPendingTimeouts = 1});
    int runs = 0;
    std::function<void()> const again = [&] {
        if (++runs < 100) timer->newTimeout(again, 500us);
    };
    timer->newTimeout(again, 500us);
    this->clock.advance(1s);
    EXPECT_EQ(runs, 100);
    EXPECT_EQ(this->failures.count(), 0U);
}

// ---- stop --------------------------------------------------------------------------------------

/// An order that is kept until it is due.
struct Order {
    int number;
    std::shared_ptr<int> witness = {};
    void operator()() const {}
};

// G10
TYPED_TEST(AnyTimer, StopReturnsExactlyWhatWasPending) {
    auto const timer = this->make({.slots = 4});
    std::set<Timeout> expected;
    for (int i = 1; i <= 100; ++i) {
        Timeout const t = timer->newTimeout(Order{i}, i * 10ms - 500us);
        if (i % 3 == 0) {
            EXPECT_TRUE(t.cancel());
        }
        if (i % 3 != 0 && i > 50) expected.insert(t);
    }
    expected.insert(timer->newTimeout([] {}, Duration::max()));
    this->clock.advance(500ms);
    StoppedTimeouts const stopped = timer->stop();
    figure("G10", "returned by stop(), each timer", stopped.size(), exactly(expected.size()));
    EXPECT_EQ(stopped.hooks(), 0U);
    std::set<Timeout> returned;
    for (StoppedTimeout const s : stopped) {
        returned.insert(s.timeout());
        EXPECT_EQ(answersOf(s.timeout()), kCancelled);
        EXPECT_TRUE(s.timeout().isReturned());
        EXPECT_EQ(s.deadline(), s.timeout().deadline());
        EXPECT_EQ(s.remaining(), s.timeout().remaining());
        EXPECT_EQ(s.task(), nullptr);
        if (Order* const order = s.target<Order>()) {
            EXPECT_GE(s.remaining(), order->number * 10ms - 500ms - 500us);
            EXPECT_LE(s.remaining(), order->number * 10ms - 500ms + 500us);
        } else {
            EXPECT_EQ(s.deadline(), Clock::TimePoint::max());
        }
        EXPECT_EQ(s.target<int (*)()>(), nullptr);
    }
    EXPECT_EQ(returned, expected);
    EXPECT_EQ(this->statistics(*timer).returned, expected.size());
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    this->clock.advance(1h);
    for (Timeout const& t : expected) EXPECT_EQ(answersOf(t), kCancelled);
}

// G10
TYPED_TEST(AnyTimer, StopIsIdempotentAndEndsAcceptance) {
    auto const timer = this->make({.name = "gone"});
    Timeout const t = timer->newTimeout([] { FAIL(); }, 500us);
    EXPECT_EQ(timer->stop().size(), 1U);
    EXPECT_TRUE(timer->stop().empty());
    expectThrows<std::logic_error>([&] { timer->newTimeout([] {}, 1s); },
                                   this->kIsFlat ? "\"gone\"" : "\"gone\" was stopped");
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    EXPECT_EQ(this->statistics(*timer).scheduled, 1U);
    this->clock.advance(1h);
    EXPECT_FALSE(t.cancel());
    auto const unused = this->make();
    StoppedTimeouts const none = unused->stop();
    EXPECT_TRUE(none.empty());
    EXPECT_TRUE(none.begin() == none.end());
}

TYPED_TEST(AnyTimer, WhatStopReturnedMayBeMovedOutAndScheduledAgain) {
    auto const first = this->make();
    int sum = 0;
    auto makeTask = [&sum](int n) { return [&sum, p = std::make_unique<int>(n)] { sum += *p; }; };
    using Task = decltype(makeTask(1));
    auto const job = std::make_shared<ATask>();
    first->newTimeout(makeTask(1), 9500us);
    first->newTimeout(makeTask(2), 19'500us);
    first->newTimeout(job, 19'500us);
    this->clock.advance(5ms);
    auto const second = this->make();
    for (StoppedTimeout const s : first->stop()) {
        if (Task* const task = s.target<Task>()) {
            second->newTimeout(std::move(*task), s.remaining() - 100us);
        } else {
            EXPECT_EQ(s.task(), job);
            EXPECT_EQ(*s.target<std::shared_ptr<ATask>>(), job);
            second->newTimeout(job, s.remaining() - 100us);
        }
    }
    this->clock.advance(5ms);
    EXPECT_EQ(sum, 1);
    this->clock.advance(10ms);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(job->runs, 1);
}

// G11
TYPED_TEST(AnyTimer, TheRangeThatStopReturnedOutlivesTheTimer) {
    auto const witness = std::make_shared<int>();
    StoppedTimeouts kept;
    {
        auto const timer = this->make();
        for (int i = 0; i < 10; ++i) timer->newTimeout(Order{i, witness}, 1s);
        StoppedTimeouts stopped = timer->stop();
        StoppedTimeouts moved = std::move(stopped);
        EXPECT_TRUE(stopped.empty());  // NOLINT: a moved-from range is empty
        EXPECT_TRUE(stopped.begin() == stopped.end());
        kept = std::move(moved);
    }
    this->clock.advance(1h);
    EXPECT_EQ(kept.size(), 10U);
    EXPECT_EQ(witness.use_count(), 11);
    std::vector<Timeout> handles;
    int sum = 0;
    for (auto it = kept.begin(); it != kept.end(); it++) {
        StoppedTimeout const s = *it;
        handles.push_back(s.timeout());
        sum += s.target<Order>()->number;
        EXPECT_GE(s.remaining(), 1s);
        EXPECT_LE(s.remaining(), 1s + 1ms);
    }
    EXPECT_EQ(sum, 45);
    kept = {};
    EXPECT_EQ(witness.use_count(), 1);
    for (Timeout const& t : handles) {
        EXPECT_EQ(answersOf(t), kCancelled);
        EXPECT_EQ(t.timer(), nullptr);
    }
}

// G11. Bug pattern: a long chain of entries is destroyed recursively.
TYPED_TEST(AnyTimer, ManyPendingTimeoutsMayBeDropped) {
    auto const witness = std::make_shared<int>();
    std::size_t const count = scaled(300'000);
    for (bool const isStopped : {false, true}) {
        auto timer = this->make({.slots = 2});
        for (std::size_t i = 0; i < count; ++i) timer->newTimeout([witness] {}, 1h);
        if (isStopped) {
            EXPECT_EQ(timer->stop().size(), count);
        } else {
            timer.reset();
        }
        EXPECT_EQ(witness.use_count(), 1);
    }
}

// ---- handles -----------------------------------------------------------------------------------

// G11
TYPED_TEST(AnyTimer, HandlesTellTheTruthWhenTheTimerIsGone) {
    std::vector<Timeout> handles;
    {
        auto const timer = this->make();
        handles.push_back(timer->newTimeout([] {}, 500us));
        handles.push_back(timer->newTimeout([] {}, 1h));
        handles.push_back(timer->newTimeout([] {}, 1h));
        handles.push_back(timer->newTimeout(std::make_shared<ATask>(), 1h));
        EXPECT_TRUE(handles[1].cancel());
        EXPECT_TRUE(handles[3].cancelAndWait());
        this->clock.advance(5ms);
    }
    this->clock.advance(2h);
    std::array const expected{kExpired, kCancelled, kCancelled, kCancelled};
    std::size_t right = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(answersOf(handles[i]), expected[i]);
        EXPECT_EQ(handles[i].isReturned(), i == 2);
        EXPECT_EQ(handles[i].isDone(), i == 0);
        EXPECT_EQ(handles[i].timer(), nullptr);
        EXPECT_EQ(handles[i].task(), nullptr);
        right += answersOf(handles[i]) == expected[i] ? 1U : 0U;
        EXPECT_FALSE(handles[i].cancel());
        EXPECT_FALSE(handles[i].cancelAndWait());
        Timeout const copy = handles[i];
        EXPECT_EQ(copy, handles[i]);
    }
    // What was left when the timer stopped.
    EXPECT_GE(handles[2].remaining(), 1h - 5ms);
    EXPECT_LE(handles[2].remaining(), 1h - 4ms);
    EXPECT_EQ(handles[0].remaining(), 0ns);
    figure("G11", "fates told right when the timer is gone, each timer", right, exactly(4));
}

TYPED_TEST(AnyTimer, HandlesPrintThemselves) {
    auto const timer = this->make();
    std::string inside;
    Timeout const t =
        timer->newTimeout([&](Timeout const& self) { inside = printed(self); }, 1500us);
    Timeout const never = timer->newTimeout([] {}, Duration::max());
    Timeout const cancelled = timer->newTimeout([] {}, 1h);
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_EQ(printed(t).rfind("timeout(pending, due in ", 0), 0U) << printed(t);
    EXPECT_EQ(printed(never), "timeout(pending, never due)");
    EXPECT_EQ(printed(cancelled), "timeout(cancelled)");
    this->clock.advance(2ms);
    EXPECT_EQ(inside, "timeout(running)");
    EXPECT_EQ(printed(t), "timeout(expired)");
    static_cast<void>(timer->stop());
    EXPECT_EQ(printed(never), "timeout(returned by stop())");
}

// Dropping the handle cancels nothing; a ScopedTimeout does.
TYPED_TEST(AnyTimer, HandlesMayBeDropped) {
    auto const timer = this->make();
    int runs = 0;
    timer->newTimeout([&] { ++runs; }, 500us);
    Timeout inner;
    {
        Timeout const dropped = timer->newTimeout([&] { ++runs; }, 500us);
        ScopedTimeout const scoped = timer->newTimeout([&] { ++runs; }, 500us);
        inner = scoped.get();
    }
    EXPECT_TRUE(inner.isCancelled());
    ScopedTimeout kept = timer->newTimeout([&] { ++runs; }, 500us);
    Timeout const released = kept.release();
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 3);
    EXPECT_TRUE(released.isDone());
}

// G5: from inside the task itself it does not wait.
TYPED_TEST(AnyTimer, AScopedTimeoutMayGoInsideItsOwnTask) {
    auto const timer = this->make();
    auto scoped = std::make_unique<ScopedTimeout>();
    int runs = 0;
    *scoped = timer->newTimeout(
        [&] {
            ++runs;
            scoped.reset();
        },
        500us);
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 1);
}

// Bug pattern: cancelAndWait() goes on with a handle that died with the captures.
TYPED_TEST(AnyTimer, AScopedTimeoutMayDieWithTheCapturesOfTheTaskItCancels) {
    auto const timer = this->make();
    for (int i = 0; i < 3; ++i) {
        std::shared_ptr<OwnedByItsTask<ScopedTimeout>> owned{new OwnedByItsTask<ScopedTimeout>};
        std::weak_ptr<OwnedByItsTask<ScopedTimeout>> const weak = owned;
        owned->timeout = timer->newTimeout([owned] { FAIL(); }, 1h);
        OwnedByItsTask<ScopedTimeout>* const object = owned.get();
        owned.reset();
        object->timeout.reset();
        EXPECT_TRUE(weak.expired());
    }
    this->clock.advance(1ms);
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

// ---- threads -----------------------------------------------------------------------------------

template <class T>
using AnyTimerWithAThread = OfAllTimers<T>;
TYPED_TEST_SUITE(AnyTimerWithAThread, TimersWithAThread, NamesOfAllTimers);

// G3, G10: four threads schedule and cancel while the clock moves and the timer is stopped.
TYPED_TEST(AnyTimerWithAThread, NothingIsLostWhenItIsStoppedWhileOthersScheduleAndCancel) {
    Watchdog const watchdog{"stop() against schedule and cancel", 60s};
    constexpr std::size_t kThreads = 4;
    constexpr std::size_t kOfThread = 2'000;
    LedgerSum sum;
    for (std::size_t round = 0; round < scaled(30, 5); ++round) {
        Ledger ledger{kThreads * kOfThread};
        auto const timer = this->make({.slots = 4});
        std::atomic<std::size_t> at{0};
        std::size_t const stopsAt = Random{round + 1}.below(kThreads * kOfThread);
        together(kThreads + 1, [&](std::size_t thread) {
            if (thread == kThreads) {
                while (at < stopsAt) this->clock.advance(300us);
                for (StoppedTimeout const& one : timer->stop())
                    ledger.book(one.target<Booked>()->id, Outcome::returned);
                return;
            }
            Random random{round * kThreads + thread + 1};
            try {
                for (std::size_t i = 0; i < kOfThread; ++i, ++at) {
                    nanoseconds const delay = random.below(nanoseconds{5ms});
                    Ledger::Id const id = ledger.open(this->clock.now() + delay);
                    Timeout const t = timer->newTimeout(Booked{&ledger, &this->clock, id}, delay);
                    ledger.accept(id);
                    if (random.below(3) == 0 && t.cancel()) ledger.book(id, Outcome::cancelled);
                }
            } catch (std::logic_error const&) {
                at = kThreads * kOfThread;  // it was stopped
            }
        });
        EXPECT_EQ(timer->pendingTimeouts(), 0U);
        EXPECT_TRUE(timer->stop().empty());
        sum += ledger.sum();
    }
    Ledger::expectRight(sum);
}

// Captures that die use their timer: on whichever thread, outside every lock.
TYPED_TEST(AnyTimerWithAThread, CapturesMayUseTheTimerWhenTheyDie) {
    struct Uses {
        Timer* timer;
        std::atomic<int>* deaths;
        std::shared_ptr<int> alive = std::make_shared<int>();
        Uses(Timer& its, std::atomic<int>& counter) : timer{&its}, deaths{&counter} {}
        Uses(Uses&&) = default;
        ~Uses() {
            if (!alive) return;
            ++*deaths;
            try {
                static_cast<void>(timer->pendingTimeouts());
                timer->newTimeout([] {}, 1h).cancel();
                timer->newTimeout([] {}, 1h).cancelAndWait();
            } catch (std::logic_error const&) {
                // The timer was stopped.
            }
        }
        void operator()() const {}
    };
    Watchdog const watchdog{"captures that use the timer"};
    std::atomic<int> deaths{0};
    auto const timer = this->make();
    for (int i = 0; i < 40; ++i) {
        Timeout const t = timer->newTimeout(Uses{*timer, deaths}, i % 4 * 1ms);
        if (i % 4 == 1) t.cancel();
        if (i % 4 == 2) t.cancelAndWait();
    }
    this->clock.advance(2ms);
    static_cast<void>(timer->stop());
    EXPECT_EQ(deaths, 40);
}

}  // namespace
}  // namespace timingwheel::test
