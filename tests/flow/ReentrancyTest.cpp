// What a task may do to its timer from inside: the same table for each timer.

#include <support/AnyTimer.h>
#include <support/Handles.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>

// Shows G8.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// One run of the table: a task that acts on a timeout, among others of its tick, of its level, and
/// of another level.
class Scene {
public:
    enum Target { self, earlier, later, otherSlot, otherLevel, kTargets };
    static constexpr char const* kNames[] = {"self", "earlier sibling", "later sibling",
                                             "other slot", "other level"};
    static constexpr std::size_t kLevels = 3;
    using Action = std::function<void(Scene&, Target)>;
    /// When a deadline is reached, both counted from the start.
    using Reached = nanoseconds (*)(nanoseconds deadline, nanoseconds tick);

    /// Of a timer with ticks of 1 ms and four slots. Of a flat one the levels are its turns.
    Scene(Timer& timer, ManualClock& clock, Reached reached, std::size_t level, Target target,
          Action const& action)
        : timer_{timer}, clock_{clock}, reached_{reached}, start_{clock.now()} {
        nanoseconds const delay = std::array{1'500us, 5'500us, 37'500us}.at(level);
        add(earlier, delay);
        due_[self] = delay;
        timeouts_[self] = timer_.newTimeout(
            [this, target, action](Timeout const& t) {
                EXPECT_EQ(t, timeouts_[self]);
                ran(self);
                action(*this, target);
            },
            delay);
        add(later, delay);
        add(otherSlot, std::array{2'500us, 10'500us, 50'500us}.at(level));
        add(otherLevel, std::array{8'500us, 29'500us, 149'500us}.at(level));
    }

    void play() {
        clock_.advance(500ms);
        for (int i = 0; i < kTargets; ++i) {
            SCOPED_TRACE(kNames[i]);
            EXPECT_EQ(runs_[i], isCancelled_[i] ? 0 : 1);
        }
        EXPECT_EQ(extraRuns_, extras_);
        EXPECT_EQ(timer_.pendingTimeouts(), 0U);
    }

    Timer& timer() { return timer_; }
    Clock::TimePoint now() const { return clock_.now(); }
    Timeout& timeout(Target which) { return timeouts_[which]; }
    bool hasRun(Target which) const { return runs_[which] > 0; }
    std::size_t notYetRun() const {
        return static_cast<std::size_t>(std::count(std::begin(runs_), std::end(runs_), 0));
    }
    void wasCancelled(Target which) { isCancelled_[which] = true; }
    void wasMoved(Target which, nanoseconds delay) { due_[which] = clock_.now() - start_ + delay; }
    void addExtra(nanoseconds delay) {
        ++extras_;
        timer_.newTimeout(
            [this, due = clock_.now() - start_ + delay] {
                ++extraRuns_;
                EXPECT_EQ(clock_.now() - start_, reached_(due, 1ms));
            },
            delay);
    }

private:
    void add(Target which, nanoseconds delay) {
        due_[which] = delay;
        timeouts_[which] = timer_.newTimeout(
            [this, which](Timeout const& t) {
                ran(which);
                EXPECT_TRUE(t.isExpired());
            },
            delay);
    }
    void ran(Target which) {
        ++runs_[which];
        EXPECT_EQ(clock_.now() - start_, reached_(due_[which], 1ms)) << kNames[which];
    }

    Timer& timer_;
    ManualClock& clock_;
    Reached reached_;
    Clock::TimePoint start_;
    Timeout timeouts_[kTargets];
    nanoseconds due_[kTargets]{};
    int runs_[kTargets]{};
    bool isCancelled_[kTargets]{};
    int extras_ = 0;
    int extraRuns_ = 0;
};

/// The table: every action on every target, on every level.
template <class T>
class Reentrancy : public OfAllTimers<T> {
protected:
    void playAll(Scene::Action const& action) {
        std::size_t right = 0;
        for (std::size_t level = 0; level < Scene::kLevels; ++level) {
            for (int target = 0; target < Scene::kTargets; ++target) {
                SCOPED_TRACE(testing::Message()
                             << "level " << level << ", " << Scene::kNames[target]);
                auto const timer = this->make({.slots = 4});
                Scene scene{*timer,
                            this->clock,
                            &Reentrancy::reached,
                            level,
                            static_cast<Scene::Target>(target),
                            action};
                scene.play();
                this->check(*timer);
                right += testing::Test::HasFailure() ? 0U : 1U;
            }
        }
        figure("G8", "right of {5 targets} x {level 0, 1, 2}, each timer", right, exactly(15));
    }
};
TYPED_TEST_SUITE(Reentrancy, AllTimers, NamesOfAllTimers);

template <class T>
using WheelTimerReentrancy = Reentrancy<T>;
TYPED_TEST_SUITE(WheelTimerReentrancy, WheelTimers, NamesOfTimers);

// G8
// Bug pattern: the current slot cannot be used while entries cascade: one tick late.
TYPED_TEST(Reentrancy, ATaskMaySchedule) {
    this->playAll([](Scene& scene, Scene::Target) {
        for (nanoseconds const delay : {0us, 500us, 1'000us, 3'000us, 3'500us, 4'000us, 4'500us,
                                        5'000us, 15'500us, 16'000us, 17'000us, 64'000us, 100'000us})
            scene.addExtra(delay);
    });
}

// G8. Bug pattern: the next pointer is read after the entry was freed by the task it ran.
TYPED_TEST(Reentrancy, ATaskMayCancelItselfAndOthers) {
    this->playAll([](Scene& scene, Scene::Target target) {
        bool const hadRun = scene.hasRun(target);
        EXPECT_EQ(scene.timeout(target).cancel(), !hadRun);
        EXPECT_FALSE(scene.timeout(target).cancel());
        if (!hadRun) scene.wasCancelled(target);
        EXPECT_EQ(scene.timeout(target).isCancelled(), !hadRun);
        EXPECT_EQ(scene.timeout(target).isExpired(), hadRun);
    });
}

// G8
TYPED_TEST(Reentrancy, ATaskMayCancelAndWaitForItselfAndOthers) {
    this->playAll([](Scene& scene, Scene::Target target) {
        bool const hadRun = scene.hasRun(target);
        EXPECT_EQ(scene.timeout(target).cancelAndWait(), !hadRun);
        if (!hadRun) scene.wasCancelled(target);
    });
}

// G8
TYPED_TEST(Reentrancy, ATaskMayCancelEverythingAndScheduleIt) {
    this->playAll([](Scene& scene, Scene::Target) {
        for (int i = 0; i < Scene::kTargets; ++i) {
            auto const target = static_cast<Scene::Target>(i);
            if (!scene.timeout(target).cancel()) continue;
            scene.wasCancelled(target);
            scene.addExtra(500us);
        }
    });
}

// G8
TYPED_TEST(WheelTimerReentrancy, ATaskMayRescheduleItselfAndOthers) {
    for (nanoseconds const delay : {0ms, 1ms, 2ms, 4ms, 15ms, 60ms, 300ms}) {
        SCOPED_TRACE(testing::Message() << "by " << delay.count() << " ns");
        this->playAll([delay](Scene& scene, Scene::Target target) {
            bool const hadRun = scene.hasRun(target);
            auto& timer = static_cast<TypeParam&>(scene.timer());
            EXPECT_EQ(timer.reschedule(scene.timeout(target), delay), !hadRun);
            if (!hadRun) scene.wasMoved(target, delay);
        });
    }
}

// G8
TYPED_TEST(Reentrancy, ATaskMayAskEverything) {
    this->playAll([](Scene& scene, Scene::Target target) {
        Timeout const& timeout = scene.timeout(target);
        EXPECT_EQ(answersOf(timeout), scene.hasRun(target) ? kExpired : kPending);
        EXPECT_EQ(timeout.isDone(), scene.hasRun(target) && target != Scene::self);
        EXPECT_EQ(timeout.timer(), &scene.timer());
        EXPECT_EQ(timeout.task(), nullptr);
        EXPECT_EQ(timeout.remaining(), std::max(nanoseconds{0}, timeout.deadline() - scene.now()));
        EXPECT_EQ(scene.timer().pendingTimeouts(), scene.notYetRun());
        EXPECT_EQ(TestFixture::statistics(scene.timer()).pending, scene.notYetRun());
        TestFixture::check(scene.timer());
    });
}

// G8
TYPED_TEST(Reentrancy, ATaskMayDropHandles) {
    this->playAll([](Scene& scene, Scene::Target target) { scene.timeout(target) = {}; });
}

// G8
// Bug pattern: `stop()` from a task loops or joins its own thread.
TYPED_TEST(Reentrancy, ATaskMayNotStopItsTimer) {
    auto const timer = this->make({.name = "busy"});
    int refused = 0;
    timer->newTimeout(
        [&] {
            expectThrows<std::logic_error>([&] { static_cast<void>(timer->stop()); }, "busy");
            [[maybe_unused]] auto& mine = static_cast<TypeParam&>(*timer);
            if constexpr (std::is_same_v<TypeParam, SystemTimer>)
                expectThrows<std::logic_error>([&] { mine.drain(); }, "drain");
            if constexpr (std::is_same_v<TypeParam, LoopTimer>)
                expectThrows<std::logic_error>([&] { mine.runDue(); }, "runDue");
            if constexpr (std::is_same_v<TypeParam, ManualTimer>)
                expectThrows<std::logic_error>([&] { mine.advanceTo(mine.clock().now()); },
                                               "advanceTo");
            ++refused;
        },
        500us);
    Timeout const next = timer->newTimeout([] {}, 1500us);
    this->clock.advance(2ms);
    EXPECT_EQ(refused, 1);
    EXPECT_TRUE(next.isExpired());
}

// G8. Bug pattern: the timer is destroyed in its own task.
TYPED_TEST(Reentrancy, ATaskMayDestroyItsTimer) {
    auto timer = this->make();
    auto const witness = std::make_shared<int>();
    int runs = 0;
    Timeout const other = timer->newTimeout([] { FAIL() << "the timer is gone"; }, 1h);
    Timeout const self = timer->newTimeout(
        [&, witness] {
            ++runs;
            timer.reset();
            EXPECT_TRUE(other.isCancelled());
            EXPECT_EQ(other.timer(), nullptr);
        },
        500us);
    this->clock.advance(1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(self.isDone());
    figure("G8", "captures left by a task that destroyed its timer", witness.use_count() - 1,
           exactly(0));
}

}  // namespace
}  // namespace timingwheel::test
