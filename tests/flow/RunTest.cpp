// Tasks run: what they throw, what they do to their timer from inside, and in whose turn.

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
TYPED_TEST(Run, ThrowingTasksAffectNoOther) {
    constexpr int kTasks = 1000;
    for (int const k : {1, 2, 3, 7, 1000}) {
        FailureLog heard;
        CountOfEach runs{kTasks};
        TypeParam timer{this->options({.errorHandler = heard.handler()})};
        for (int i = 1; i <= kTasks; ++i) {
            auto task = [&runs, i, k] {
                runs.count(static_cast<std::size_t>(i - 1));
                if (i % k != 0) return;
                if (i % 2 == 0) throw std::runtime_error{"task " + std::to_string(i)};
                throw i;
            };
            timer.newTimeout(task, std::chrono::milliseconds{i % 10});
        }
        this->clock.advance(10ms);
        EXPECT_EQ(runs.otherThan(1), 0U);
        EXPECT_EQ(heard.count(TaskFailure::Kind::threw), static_cast<std::size_t>(kTasks / k));
        EXPECT_EQ(timer.statistics().fired, static_cast<std::uint64_t>(kTasks));
        for (auto const& failure : heard.entries()) {
            EXPECT_TRUE(failure.timeout.isExpired());
            EXPECT_EQ(failure.timerName, "timingwheel");
        }
        if (k != 7) continue;
        figure("G7", "tasks that did not run once where every 7th throws", runs.otherThan(1),
               exactly(0), {kTasks, kTasks});
        figure("G7", "failures that the handler heard of", heard.count(), exactly(kTasks / k));
    }
}

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
TYPED_TEST(Run, TellsOfDestructorsThatThrow) {
    TypeParam timer{this->options()};
    int runs = 0;
    auto const task = [&runs] { return [&runs, bad = ThrowsWhenItDies{}] { ++runs; }; };
    timer.newTimeout(task(), 1ms);
    timer.newTimeout([&runs] { ++runs; }, 1ms);
    auto const cancelled = timer.newTimeout(task(), 1ms);
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 1U);
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 2U);
    timer.newTimeout(task(), 1ms);
    static_cast<void>(timer.stop());
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::destructorThrew), 3U);
    for (auto const& entry : this->failures.entries())
        EXPECT_EQ(entry.what, "a capture died badly");
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

// ---- what a task may do to its timer -----------------------------------------------------------

/// One run of the table: a task that acts on a timeout, among others on its own and other levels.
template <class TimerType>
class Scene {
public:
    enum Target { self, earlier, later, otherBucket, otherLevel, kTargets };
    static constexpr char const* kNames[] = {"self", "earlier sibling", "later sibling",
                                             "other bucket", "other level"};

    using Action = std::function<void(Scene&, Target)>;

    /// Level 0 to 2 of a wheel of 4 slots.
    Scene(int level, Target target, Action action)
        : timer_{{.wheelSize = 4, .clock = clock_}}, start_{clock_.now()} {
        nanoseconds const delays[] = {2ms, 6ms, 38ms};
        nanoseconds const others[] = {3ms, 11ms, 51ms};
        nanoseconds const distant[] = {9ms, 30ms, 150ms};
        auto const add = [this](Target which, nanoseconds delay) {
            due_[which] = delay;
            timeouts_[which] = timer_.newTimeout(
                [this, which](Timeout const& t) {
                    ran(which);
                    EXPECT_TRUE(t.isExpired());
                },
                delay);
        };
        add(earlier, delays[level]);
        due_[self] = delays[level];
        timeouts_[self] = timer_.newTimeout(
            [this, target, action](Timeout const& t) {
                EXPECT_EQ(t, timeouts_[self]);
                ran(self);
                action(*this, target);
            },
            delays[level]);
        add(later, delays[level]);
        add(otherBucket, others[level]);
        add(otherLevel, distant[level]);
    }

    void play() {
        clock_.advance(500ms);
        for (int i = 0; i < kTargets; ++i) {
            SCOPED_TRACE(kNames[i]);
            EXPECT_EQ(runs_[i], isCancelled_[i] ? 0 : 1);
        }
        EXPECT_EQ(extraRuns_, extras_);
        EXPECT_EQ(timer_.pendingTimeouts(), 0U);
        timer_.checkInvariants();
    }

    TimerType& timer() { return timer_; }
    Timeout& timeout(Target which) { return timeouts_[which]; }
    bool hasRun(Target which) const { return runs_[which] > 0; }
    void wasCancelled(Target which) { isCancelled_[which] = true; }
    void wasMoved(Target which, nanoseconds delay) { due_[which] = clock_.now() - start_ + delay; }
    void addExtra(Duration delay) {
        ++extras_;
        Clock::TimePoint const due = clock_.now() + delay.nanoseconds();
        timer_.newTimeout(
            [this, due] {
                ++extraRuns_;
                EXPECT_EQ(clock_.now(), due);
            },
            delay);
    }

private:
    void ran(Target which) {
        ++runs_[which];
        EXPECT_EQ(clock_.now() - start_, due_[which]) << kNames[which];
    }

    ManualClock clock_;
    TimerType timer_;
    Clock::TimePoint start_;
    Timeout timeouts_[kTargets];
    nanoseconds due_[kTargets]{};
    int runs_[kTargets]{};
    bool isCancelled_[kTargets]{};
    int extras_ = 0;
    int extraRuns_ = 0;
};

template <class TimerType>
void playAll(typename Scene<TimerType>::Action action) {
    using S = Scene<TimerType>;
    std::size_t right = 0;
    for (int level = 0; level < 3; ++level) {
        for (int target = 0; target < S::kTargets; ++target) {
            SCOPED_TRACE(testing::Message() << "level " << level << ", " << S::kNames[target]);
            S{level, static_cast<typename S::Target>(target), action}.play();
            right += testing::Test::HasFailure() ? 0U : 1U;
        }
    }
    figure("G8", "right of {self, earlier, later, other bucket, other level} x {level 0, 1, 2}",
           right, exactly(15));
}

// G8
TYPED_TEST(Run, ATaskMaySchedule) {
    using S = Scene<TypeParam>;
    playAll<TypeParam>([](S& scene, typename S::Target) {
        for (nanoseconds const delay : {0ms, 1ms, 3ms, 4ms, 5ms, 16ms, 17ms, 64ms, 100ms})
            scene.addExtra(delay);
    });
}

// G8
TYPED_TEST(Run, ATaskMayCancelItselfAndOthers) {
    using S = Scene<TypeParam>;
    playAll<TypeParam>([](S& scene, typename S::Target target) {
        bool const hadRun = scene.hasRun(target);
        EXPECT_EQ(scene.timeout(target).cancel(), !hadRun);
        EXPECT_FALSE(scene.timeout(target).cancel());
        if (!hadRun) scene.wasCancelled(target);
        EXPECT_EQ(scene.timeout(target).isCancelled(), !hadRun);
        EXPECT_EQ(scene.timeout(target).isExpired(), hadRun);
    });
}

// G8
TYPED_TEST(Run, ATaskMayCancelAndWaitForItselfAndOthers) {
    using S = Scene<TypeParam>;
    playAll<TypeParam>([](S& scene, typename S::Target target) {
        bool const hadRun = scene.hasRun(target);
        EXPECT_EQ(scene.timeout(target).cancelAndWait(), !hadRun);
        if (!hadRun) scene.wasCancelled(target);
    });
}

// G8
TYPED_TEST(Run, ATaskMayRescheduleItselfAndOthers) {
    using S = Scene<TypeParam>;
    for (nanoseconds const delay : {0ms, 1ms, 2ms, 4ms, 15ms, 60ms, 300ms}) {
        SCOPED_TRACE(testing::Message() << "by " << delay.count() << " ns");
        playAll<TypeParam>([delay](S& scene, typename S::Target target) {
            bool const hadRun = scene.hasRun(target);
            EXPECT_EQ(scene.timer().reschedule(scene.timeout(target), delay), !hadRun);
            if (!hadRun) scene.wasMoved(target, delay);
        });
    }
}

// G8
TYPED_TEST(Run, ATaskMayAskEverything) {
    using S = Scene<TypeParam>;
    playAll<TypeParam>([](S& scene, typename S::Target target) {
        Timeout const& timeout = scene.timeout(target);
        EXPECT_EQ(timeout.isPending(), !scene.hasRun(target));
        EXPECT_EQ(timeout.isExpired(), scene.hasRun(target));
        EXPECT_FALSE(timeout.isCancelled());
        EXPECT_FALSE(timeout.isRejected());
        EXPECT_EQ(timeout.timer(), &scene.timer());
        EXPECT_EQ(timeout.task(), nullptr);
        EXPECT_EQ(timeout.remaining(),
                  std::max(nanoseconds{0}, timeout.deadline() - scene.timer().clock().now()));
        std::size_t pending = 0;
        for (int i = 0; i < S::kTargets; ++i)
            pending += scene.hasRun(static_cast<typename S::Target>(i)) ? 0U : 1U;
        EXPECT_EQ(scene.timer().pendingTimeouts(), pending);
        EXPECT_EQ(scene.timer().statistics().pending, pending);
        scene.timer().checkInvariants();
    });
}

// G8
TYPED_TEST(Run, ATaskMayDropHandles) {
    using S = Scene<TypeParam>;
    playAll<TypeParam>([](S& scene, typename S::Target target) { scene.timeout(target) = {}; });
}

// G8
TYPED_TEST(Run, ATaskMayNotStopItsTimer) {
    TypeParam timer{this->options({.name = "busy"})};
    int refused = 0;
    timer.newTimeout(
        [&] {
            expectThrows<std::logic_error>([&] { static_cast<void>(timer.stop()); }, "busy");
            ++refused;
            if constexpr (std::is_same_v<TypeParam, SystemTimer>) {
                expectThrows<std::logic_error>([&] { timer.drain(); }, "drain");
            } else {
                expectThrows<std::logic_error>([&] { timer.advanceTo(timer.clock().now()); },
                                               "advanceTo");
            }
            ++refused;
        },
        1ms);
    auto const after = timer.newTimeout([] {}, 2ms);
    this->clock.advance(2ms);
    EXPECT_EQ(refused, 2);
    EXPECT_TRUE(after.isExpired());
}

// G8. Bug pattern: the timer is destroyed in its own task.
TYPED_TEST(Run, ATaskMayDestroyItsTimer) {
    auto timer = std::make_unique<TypeParam>(this->options());
    auto const witness = std::make_shared<int>(0);
    std::weak_ptr<int> const alive{witness};
    int runs = 0;
    auto const other = timer->newTimeout([] { FAIL() << "the timer is gone"; }, 1h);
    timer->newTimeout(
        [&, witness] {
            ++runs;
            timer.reset();
            EXPECT_TRUE(other.isCancelled());
            EXPECT_EQ(other.timer(), nullptr);
        },
        1ms);
    this->clock.advance(1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 1);
    figure("G8", "captures left by a task that destroyed its timer", witness.use_count() - 1,
           exactly(0));
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
