// Tasks run: what they throw, in whose turn, and which timers they destroy.

#include <support/CountOfEach.h>
#include <support/Handles.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Run = OfWheelTimers<T>;
TYPED_TEST_SUITE(Run, WheelTimers, NamesOfTimers);

// G7
TYPED_TEST(Run, TellsWhatWasThrown) {
    TypeParam timer{this->options()};
    timer.newTimeout([] { throw std::runtime_error{"out of tea"}; }, 1ms);
    timer.newTimeout([] { throw 7; }, 2ms);
    this->clock.advance(2ms);
    auto const entries = this->failures.entries();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].what, "out of tea");
    EXPECT_EQ(entries[1].what, "int 7");
}

// G7
TYPED_TEST(Run, ADestructorThatThrowsDoesNotHideWhyAScheduleFailed) {
    TypeParam timer{this->options({.maxPendingTimeouts = 1})};
    timer.newTimeout([] {}, 1h);
    EXPECT_THROW(timer.newTimeout([bad = ThrowsWhenItDies{}] {}, 1ms), RejectedExecution);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
}

// G7
TYPED_TEST(Run, WithoutAnErrorHandlerOneLineGoesToStderr) {
    testing::internal::CaptureStderr();
    {
        TypeParam timer{{.name = "tea", .clock = this->clock}};
        timer.newTimeout([] { throw std::runtime_error{"out of tea"}; }, 1ms);
        this->clock.advance(1ms);
    }
    std::string const heard = testing::internal::GetCapturedStderr();
    EXPECT_NE(heard.find("timer \"tea\""), std::string::npos) << heard;
    EXPECT_NE(heard.find("out of tea"), std::string::npos) << heard;
    EXPECT_EQ(heard.find('\n'), heard.size() - 1) << heard;
}

// G7, G19
TEST(RunWithoutErrorHandler, SaysWhatFailed) {
    struct Refusing {
        void execute(Claim) { throw std::runtime_error{"full"}; }
    } refusing;
    struct RunsAndThrows {
        void execute(Claim claim) {
            claim();
            throw std::runtime_error{"too late to refuse"};
        }
    } throwing;
    ManualClock clock;
    testing::internal::CaptureStderr();
    {
        SystemTimer refused{{.name = "refused", .clock = clock, .executor = refusing}};
        SystemTimer ran{{.name = "ran", .clock = clock, .executor = throwing}};
        SystemTimer dies{{.name = "dies", .clock = clock}};
        refused.newTimeout([] {}, 1ms);
        ran.newTimeout([] {}, 1ms);
        dies.newTimeout([bad = ThrowsWhenItDies{}] {}, 1ms);
        clock.advance(1ms);
    }
    std::string const heard = testing::internal::GetCapturedStderr();
    for (char const* line :
         {"timer \"refused\": the executor rejected a task: full\n",
          "timer \"ran\": the executor threw: too late to refuse\n",
          "timer \"dies\": the destructor of a task threw: a capture died badly\n"})
        EXPECT_NE(heard.find(line), std::string::npos) << line << " in\n" << heard;
}

// G7
TYPED_TEST(Run, SurvivesAnErrorHandlerThatThrows) {
    testing::internal::CaptureStderr();
    int runs = 0;
    {
        TypeParam timer{this->options({.errorHandler = [](TaskFailure const&) { throw 1; }})};
        for (int i = 0; i < 3; ++i) {
            timer.newTimeout(
                [&] {
                    ++runs;
                    throw 2;
                },
                1ms);
        }
        this->clock.advance(1ms);
        timer.newTimeout([&] { ++runs; }, 1ms);
        this->clock.advance(1ms);
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(runs, 4);
}

// G9. Bug pattern: an entry placed again into what is being drained runs in the same drain for
// ever.
TEST(Run, AManualTimerMakesOnePassOfATaskThatIsDueAgainAtOnce) {
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    struct Again {
        ManualTimer& timer;
        int& runs;
        void operator()() const {
            ++runs;
            timer.newTimeout(*this, 0ms);
        }
    };
    timer.newTimeout(Again{timer, runs}, 0ms);
    for (int pass = 1; pass <= 5; ++pass) {
        timer.advanceTo(clock.now());
        EXPECT_EQ(runs, pass);
        EXPECT_EQ(timer.nextExpiration(), clock.now());
        EXPECT_EQ(timer.pollTimeout(), 0);
    }
}

// G9
TEST(Run, AManualTimerStarvesNobodyForATaskThatIsDueAgainAtOnce) {
    for (nanoseconds const phase : {0us, 300us, 999us}) {
        SettableClock clock;
        ManualTimer timer{{.clock = clock}};
        clock.add(phase);
        std::size_t again = 0;
        struct Again {
            ManualTimer& timer;
            std::size_t& runs;
            void operator()() const {
                ++runs;
                timer.newTimeout(*this, 0ms);
            }
        };
        timer.newTimeout(Again{timer, again}, 0ms);
        nanoseconds latest{0};
        int runs = 0;
        for (int i = 0; i < 100; ++i) {
            auto const due = clock.now() + i * 370us;
            timer.newTimeout(
                [&, due] {
                    ++runs;
                    latest = std::max(latest, clock.now() - due);
                },
                due);
        }
        for (int step = 0; step < 400; ++step) {
            clock.add(100us);
            timer.advanceTo(clock.now());
        }
        EXPECT_EQ(runs, 100);
        EXPECT_GE(again, 38U);
        figure("G9", "late at most, beside one that is always due, in ticks", latest / 1.0ms,
               atMost(2), {100, 100});
    }
}

/// Is due again at once, as long as `isDone` says no; each of its runs takes a while.
struct AlwaysDue {
    SystemTimer& timer;
    SettableClock& clock;
    Duration delay;
    nanoseconds takes;
    int const& others;
    std::size_t& runs;

    void operator()() const {
        clock.add(takes);
        if (others < 100 && ++runs < 10'000) timer.newTimeout(*this, delay);
    }
};

// G9
TEST(Run, ADriverThreadStarvesNobodyForATaskThatIsDueAgainAtOnce) {
    struct Case {
        Duration delay;
        nanoseconds phase;
        nanoseconds takes;
    };
    for (Case const c :
         {Case{0ms, 0us, 1ms}, Case{-5ms, 270us, 50us}, Case{-5ms, 0us, 1ns * 999}}) {
        SettableClock clock;
        Latch done;
        nanoseconds latest{0};
        int runs = 0;
        std::size_t again = 0;
        SystemTimer timer{{.clock = clock}};
        clock.add(c.phase);
        Clock::TimePoint const start = clock.now() + 1ms;
        for (int i = 0; i < 100; ++i) {
            auto const due = start + i * (c.takes * 2);
            timer.newTimeout(
                [&, due] {
                    latest = std::max(latest, clock.now() - due);
                    if (++runs == 100) done.open();
                },
                due);
        }
        timer.newTimeout(AlwaysDue{timer, clock, c.delay, c.takes, runs, again}, c.delay);
        done.wait();
        EXPECT_EQ(runs, 100);
        EXPECT_LT(again, 10'000U);
        figure("G9", "late at most, beside one that is always due, in ticks", latest / 1.0ms,
               atMost(2), {100, 100});
        static_cast<void>(timer.stop());
    }
}

// G9
// Of two buckets that expire at once the second comes before what the first has made due, though
// that alone is more than is run in one hold of the lock.
TEST(Run, ADriverThreadStarvesNobodyInAnotherBucketOfTheSameTick) {
    constexpr int kTasks = 600;
    ManualClock clock;
    bool ran = false;
    int again = 0;
    std::function<void()> repeat;
    SystemTimer timer{{.clock = clock, .shards = 1}};
    timer.newTimeout([&ran] { ran = true; }, 20ms);  // on level 1
    clock.advance(5ms);
    repeat = [&] {
        if (!ran && ++again < 100 * kTasks) timer.newTimeout([&repeat] { repeat(); }, 0ms);
    };
    for (int i = 0; i < kTasks; ++i) timer.newTimeout([&repeat] { repeat(); }, 15ms);  // on 0
    clock.advance(15ms);
    EXPECT_TRUE(ran);
    EXPECT_LE(again, 2 * kTasks);
}

// G8
TEST(Run, ATaskMayDestroyTheManualTimerThatAdvancesIt) {
    ManualClock clock;
    auto timer = std::make_unique<ManualTimer>(TimerOptions{.clock = clock});
    int runs = 0;
    for (int i = 0; i < 3; ++i) {
        timer->newTimeout(
            [&] {
                ++runs;
                timer.reset();
            },
            1ms);
    }
    ManualTimer& driven = *timer;
    EXPECT_FALSE(driven.advanceTo(clock.now() + 1ms));
    EXPECT_EQ(runs, 1);
}

// G8
TEST(Run, AHooksTaskMayDestroyTheHookAndTheManualTimer) {
    struct App {
        void end() { delete this; }
        ManualClock& clock;
        ManualTimer timer{{.clock = clock}};
        TimerHook<&App::end> hook{*this};
    };
    ManualClock clock;
    auto* const app = new App{clock};
    app->timer.schedule(app->hook, 1ms);
    ManualTimer& driven = app->timer;
    EXPECT_FALSE(driven.advanceTo(clock.now() + 1ms));
}

// G8
TEST(Run, ATaskOnAnExecutorMayDestroyItsTimer) {
    ManualClock clock;
    ThreadExecutor executor;
    std::unique_ptr<SystemTimer> timer =
        std::make_unique<SystemTimer>(TimerOptions{.clock = clock, .executor = executor});
    Latch done;
    timer->newTimeout(
        [&] {
            timer.reset();
            done.open();
        },
        1ms);
    auto const other = timer->newTimeout([] {}, 1h);
    clock.advance(1ms);
    done.wait();
    EXPECT_TRUE(other.isCancelled());
}

// Bug pattern: a periodic task that destroys its timer is never let go.
TYPED_TEST(Run, APeriodicTaskMayDestroyItsTimer) {
    auto timer = std::make_unique<TypeParam>(this->options());
    auto const witness = std::make_shared<int>(0);
    auto const handle = timer->scheduleAtFixedRate([&timer, witness] { timer.reset(); }, 1ms, 1ms);
    this->clock.advance(1ms);
    this->clock.advance(5ms);
    EXPECT_EQ(timer, nullptr);
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_FALSE(handle.isPending());
}

}  // namespace
}  // namespace timingwheel::test
