// Batches do what the calls one by one do, with one reading of the clock.

#include "unit/facade/IdleSession.h"

#include <support/Figure.h>
#include <support/Recorder.h>
#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

// Shows G27.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Hooks = std::vector<TimerHookBase*>;
using Handles = std::vector<Timeout const*>;

template <class Sessions>
Hooks hooksOf(Sessions& sessions) {
    Hooks hooks;
    for (Session& each : sessions) hooks.push_back(&each.hook);
    return hooks;
}

template <class T>
using Batch = OfWheelTimers<T>;
TYPED_TEST_SUITE(Batch, WheelTimers, NamesOfTimers);

TYPED_TEST(Batch, SchedulesEachHook) {
    TypeParam timer{this->options()};
    std::deque<Session> sessions(1000);  // several chunks
    timer.schedule(hooksOf(sessions), 50ms);
    timer.checkInvariants();
    EXPECT_EQ(timer.pendingTimeouts(), 1000U);
    this->clock.advance(49ms);
    for (Session const& each : sessions) ASSERT_EQ(each.runs, 0);
    this->clock.advance(1ms);
    for (Session const& each : sessions) ASSERT_EQ(each.runs, 1);
    timer.schedule(hooksOf(sessions), 50ms);  // now they have a shard
    timer.checkInvariants();
    EXPECT_EQ(timer.statistics().scheduled, 2000U);
    this->clock.advance(50ms);
    for (Session const& each : sessions) ASSERT_EQ(each.runs, 2);
}

TYPED_TEST(Batch, CancelsThosePending) {
    TypeParam timer{this->options()};
    std::deque<Session> sessions(600);
    Hooks const hooks = hooksOf(sessions);
    EXPECT_EQ(timer.cancel(hooks), 0U) << "never scheduled";
    timer.schedule(hooks, 50ms);
    sessions[7].hook.cancel();
    sessions[599].hook.cancel();
    EXPECT_EQ(timer.cancel(hooks), 598U);
    timer.checkInvariants();
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().cancelled, 600U);
    EXPECT_EQ(timer.cancel(hooks), 0U);
    this->clock.advance(1s);
    for (Session const& each : sessions) ASSERT_EQ(each.runs, 0);
}

TYPED_TEST(Batch, MovesHooksBackAndForth) {
    TypeParam timer{this->options()};
    std::deque<Session> sessions(600);
    Hooks const hooks = hooksOf(sessions);
    EXPECT_EQ(timer.reschedule(hooks, 50ms), 0U) << "never scheduled";
    timer.schedule(hooks, 50ms);
    for (Duration const delay : {Duration{2s}, Duration{30ms}, Duration{40ms}, Duration{40ms}}) {
        EXPECT_EQ(timer.reschedule(hooks, delay), 600U);
        timer.checkInvariants();
        for (Session const& each : sessions)
            ASSERT_EQ(each.hook.deadline(), this->now() + delay.nanoseconds());
    }
    sessions[1].hook.cancel();
    EXPECT_EQ(timer.reschedule(hooks, 60ms), 599U);
    EXPECT_EQ(timer.statistics().rescheduled, 4 * 600U + 599U);
    this->clock.advance(60ms);
    for (Session const& each : sessions) ASSERT_EQ(each.runs, &each == &sessions[1] ? 0 : 1);
    EXPECT_EQ(timer.reschedule(hooks, 60ms), 0U) << "all have run";
}

TYPED_TEST(Batch, MovesHandlesAndSkipsEmptyOnes) {
    TypeParam timer{this->options()};
    int runs = 0;
    std::vector<Timeout> timeouts(300);
    Handles handles;
    for (std::size_t i = 0; i < timeouts.size(); ++i) {
        if (i % 3 != 0) timeouts[i] = timer.newTimeout([&] { ++runs; }, 50ms);
        handles.push_back(&timeouts[i]);
    }
    timeouts[1].cancel();
    EXPECT_EQ(timer.reschedule(handles, 90ms), 199U);
    this->clock.advance(89ms);
    EXPECT_EQ(runs, 0);
    this->clock.advance(1ms);
    EXPECT_EQ(runs, 199);
}

TYPED_TEST(Batch, TakesATolerance) {
    TypeParam timer{this->options()};
    std::deque<Session> sessions(3);
    Hooks const hooks = hooksOf(sessions);
    timer.schedule(hooks, 30ms, {.tolerance = 20ms});
    EXPECT_EQ(sessions[2].hook.deadline(), this->now() + 40ms);
    timer.reschedule(hooks, 41ms, {.tolerance = 20ms});
    EXPECT_EQ(sessions[2].hook.deadline(), this->now() + 60ms);
    EXPECT_EQ(timer.cancel(hooks), 3U);
}

TYPED_TEST(Batch, OfNothingDoesNothing) {
    TypeParam timer{this->options()};
    timer.schedule(Hooks{}, 1ms);
    EXPECT_EQ(timer.reschedule(Hooks{}, 1ms), 0U);
    EXPECT_EQ(timer.reschedule(Handles{}, 1ms), 0U);
    EXPECT_EQ(timer.cancel(Hooks{}), 0U);
    EXPECT_EQ(timer.statistics().scheduled, 0U);
}

// Bug pattern: a batch that fails in the middle, or changes something before it refuses.
TYPED_TEST(Batch, RefusesWhatCannotBeBeforeAnythingHasChanged) {
    TypeParam timer{this->options({.name = "here"})};
    TypeParam other{this->options({.name = "there"})};
    std::deque<Session> sessions(3);
    Hooks hooks = hooksOf(sessions);
    timer.schedule(hooks, 50ms);
    Timeout const mine = timer.newTimeout([] {}, 50ms);
    Timeout const foreign = other.newTimeout([] {}, 50ms);
    HashedWheelTimer flat{{.clock = this->clock}};
    Timeout const ofFlat = flat.newTimeout([] {}, 50ms);

    expectThrows<std::invalid_argument>(
        [&] {
            timer.reschedule(Handles{&mine, &foreign}, 1s);
        },
        "timeouts[1] is of another timer: it must be one of timer \"here\"");
    expectThrows<std::invalid_argument>(
        [&] {
            timer.reschedule(Handles{&mine, &ofFlat}, 1s);
        },
        "timeouts[1] is of another timer");
    expectThrows<std::invalid_argument>(
        [&] {
            timer.reschedule(Handles{&mine, nullptr}, 1s);
        },
        "timeouts[1] is null");
    expectThrows<std::invalid_argument>([&] { other.reschedule(hooks, 1s); },
                                        "hooks[0] is of another timer");
    expectThrows<std::invalid_argument>([&] { static_cast<void>(other.cancel(hooks)); },
                                        "hooks[0] is of another timer");
    expectThrows<std::invalid_argument>([&] { timer.reschedule(hooks, 1s, {.tolerance = -1ns}); },
                                        "tolerance is -1 ns");
    expectThrows<std::invalid_argument>([&] { timer.schedule(Hooks{}, 1s, {.tolerance = -1ns}); },
                                        "tolerance is -1 ns");
    hooks.push_back(nullptr);
    expectThrows<std::invalid_argument>([&] { timer.reschedule(hooks, 1s); }, "hooks[3] is null");
    expectThrows<std::invalid_argument>([&] { timer.schedule(hooks, 1s); }, "hooks[3] is null");
    expectThrows<std::invalid_argument>([&] { static_cast<void>(timer.cancel(hooks)); },
                                        "hooks[3] is null");

    for (Session const& each : sessions) EXPECT_EQ(each.hook.deadline(), this->now() + 50ms);
    EXPECT_EQ(mine.deadline(), this->now() + 50ms);
    EXPECT_EQ(timer.pendingTimeouts(), 4U);
    static_cast<void>(flat.stop());
}

TYPED_TEST(Batch, KeepsWhatCameBeforeAnError) {
    TypeParam timer{this->options({.maxPendingTimeouts = 3})};
    std::deque<Session> sessions(5);
    Hooks const hooks = hooksOf(sessions);
    for (int round = 0; round < 2; ++round) {  // new hooks, then hooks that have a shard
        EXPECT_THROW(timer.schedule(hooks, 50ms), RejectedExecution);
        EXPECT_EQ(timer.pendingTimeouts(), 3U);
        EXPECT_TRUE(sessions[2].hook.isPending());
        EXPECT_FALSE(sessions[3].hook.isPending());
        EXPECT_EQ(timer.cancel(hooks), 3U);
    }
    timer.schedule(Hooks{hooks[1], hooks[4], hooks[4]}, 50ms);
    EXPECT_THROW(timer.schedule(hooks, 70ms), RejectedExecution);
    EXPECT_EQ(timer.pendingTimeouts(), 3U) << "the limit counts as the timer does";
    EXPECT_TRUE(sessions[0].hook.isPending());
    EXPECT_EQ(sessions[1].hook.deadline(), this->now() + 70ms) << "it was pending: it moved";
    EXPECT_EQ(sessions[4].hook.deadline(), this->now() + 50ms) << "it comes after the error";
    EXPECT_EQ(timer.cancel(hooks), 3U);
    timer.schedule(Hooks{hooks[0], hooks[1], hooks[2]}, 50ms);
    timer.checkInvariants();
}

TYPED_TEST(Batch, MovesAHookOfAnotherTimerHere) {
    TypeParam timer{this->options()};
    TypeParam other{this->options()};
    std::deque<Session> sessions(4);
    timer.schedule(Hooks{&sessions[0].hook, &sessions[1].hook}, 1ms);
    other.schedule(Hooks{&sessions[2].hook}, 1ms);
    this->clock.advance(1ms);
    timer.schedule(hooksOf(sessions), 50ms);
    EXPECT_EQ(timer.pendingTimeouts(), 4U);
    EXPECT_EQ(timer.cancel(hooksOf(sessions)), 4U);
}

TYPED_TEST(Batch, IsRefusedOnceTheTimerHasStopped) {
    TypeParam timer{this->options()};
    std::deque<Session> sessions(4);
    Hooks const hooks = hooksOf(sessions);
    timer.schedule(hooks, 50ms);
    static_cast<void>(timer.stop());
    EXPECT_THROW(timer.schedule(hooks, 50ms), std::logic_error);
    EXPECT_EQ(timer.reschedule(hooks, 50ms), 0U);
    EXPECT_EQ(timer.cancel(hooks), 0U);
}

/// Counts who asks for the time.
class ClockThatCounts final : public Clock {
public:
    TimePoint now() const noexcept override {
        ++count;
        return TimePoint{};
    }
    std::unique_ptr<Waiter> makeWaiter() override { return steady().makeWaiter(); }

    mutable std::atomic<int> count{0};
};

TEST(BatchTest, ReadsTheClockOnce) {
    ClockThatCounts clock;
    ManualTimer timer{{.clock = clock}};
    std::deque<Session> sessions(1000);
    Hooks const hooks = hooksOf(sessions);
    timer.schedule(hooks, 50ms);
    timer.reschedule(hooks, 1s);  // builds what push-backs need
    timer.cancel(hooks);
    auto const readings = [&clock](auto&& call) {
        int const before = clock.count;
        call();
        return clock.count - before;
    };
    EXPECT_EQ(readings([&] { timer.schedule(hooks, 50ms); }), 1);
    EXPECT_EQ(readings([&] { timer.reschedule(hooks, 100ms); }), 1);
    EXPECT_EQ(readings([&] { timer.reschedule(hooks, 20ms); }), 1) << "to earlier";
    EXPECT_EQ(readings([&] { timer.reschedule(hooks, 1h); }), 1) << "beyond the levels";
    EXPECT_EQ(readings([&] { static_cast<void>(timer.cancel(hooks)); }), 0);
}

TEST(BatchTest, MovesWhatIsPendingWhileTheTimerDrains) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    std::deque<Session> sessions(2);
    Hooks const hooks = hooksOf(sessions);
    timer.schedule(hooks, 1h);
    sessions[1].hook.cancel();
    std::thread drains{[&] { timer.drain(); }};
    try {
        for (;;) timer.newTimeout([] {}, 1h).cancel();
    } catch (std::logic_error const&) {  // it accepts nothing more
    }
    EXPECT_THROW(timer.schedule(hooks, 2h), std::logic_error) << "one of them is not pending";
    EXPECT_NO_THROW(timer.schedule(Hooks{hooks[0]}, 3h));
    clock.advance(2h);
    EXPECT_EQ(sessions[0].runs, 0);
    clock.advance(1h);
    drains.join();
    EXPECT_EQ(sessions[0].runs, 1);
    EXPECT_EQ(sessions[1].runs, 0);
}

// Hooks belong to the shard of the thread that scheduled them first; a batch may mix them.
TEST(BatchTest, MayMixShards) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .shards = 8}};
    std::deque<Session> sessions(900);
    for (std::size_t part = 0; part < 3; ++part) {
        std::thread{[&, part] {
            for (std::size_t i = part; i < sessions.size(); i += 3)
                timer.schedule(sessions[i].hook, 50ms);
        }}.join();
    }
    Hooks const hooks = hooksOf(sessions);
    EXPECT_EQ(timer.reschedule(hooks, 70ms), 900U);
    EXPECT_EQ(timer.cancel(hooks), 900U);
    timer.schedule(hooks, 20ms);
    timer.checkInvariants();
    clock.advance(20ms);
    for (Session const& each : sessions) ASSERT_EQ(each.runs, 1);
}

// While the driver runs what is due, one thread pushes back and another cancels, all by batches.
TEST(BatchTest, AccountsForEveryHookWhileThreadsCompete) {
    SystemTimer timer{{.tick = 1ms, .wheelSize = 4, .shards = 2}};
    struct Counted {
        void onDue() { ++runs; }
        std::atomic<int> runs{0};
        TimerHook<&Counted::onDue> hook{*this};
    };
    std::deque<Counted> all(300);
    Hooks hooks;
    for (Counted& each : all) hooks.push_back(&each.hook);
    std::uint64_t cancelled = 0;
    std::uint64_t scheduled = 0;
    for (int round = 0; round < 20; ++round) {
        timer.schedule(hooks, 2ms);
        scheduled += hooks.size();
        std::thread pusher{[&] {
            for (int i = 0; i < 20; ++i)
                timer.reschedule(hooks, std::chrono::milliseconds{2 + i % 2});
        }};
        std::thread canceller{[&] { cancelled += timer.cancel(std::span{hooks}.first(150)); }};
        pusher.join();
        canceller.join();
        cancelled += timer.cancel(hooks);  // what has not run by now
        timer.checkInvariants();
    }
    std::uint64_t ran = 0;
    for (Counted& each : all) {
        static_cast<void>(each.hook.cancelAndWait());
        ran += static_cast<std::uint64_t>(each.runs.load());
    }
    EXPECT_EQ(ran + cancelled, scheduled);
    EXPECT_EQ(timer.statistics().cancelled, cancelled);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// ---- beside the calls one by one ---------------------------------------------------------------

/// A timer with sessions and handles, and all that can be seen of it.
struct World {
    ManualClock clock;
    Recorder recorder;
    int ran = 0;
    std::vector<Timeout> timeouts = std::vector<Timeout>(40);
    ManualTimer timer{{.wheelSize = 4, .clock = clock, .observer = &recorder}};
    std::deque<Session> sessions = std::deque<Session>(40);  // they go before their timer

    auto seen() {
        std::vector<std::tuple<TimerEvent::Stage, Tick, Tick>> events;
        for (TimerEvent const& event : recorder.events())
            events.emplace_back(event.stage, event.deadline, event.expiration);
        recorder.clear();
        std::vector<int> runs;
        for (Session const& each : sessions) runs.push_back(each.runs);
        TimerStatistics const counts = timer.statistics();
        return std::tuple{events,
                          runs,
                          ran,
                          counts.scheduled,
                          counts.fired,
                          counts.cancelled,
                          counts.rescheduled,
                          counts.pending};
    }
};

// G27
TEST(BatchTest, IsTheSameAsItsCallsOneByOne) {
    std::mt19937_64 random{seedOr(27)};
    auto const below = [&random](std::size_t bound) { return random() % bound; };
    std::uint64_t const trials = 1000;
    std::uint64_t different = 0;
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
        World batch;
        World single;
        for (int step = 0; step < 12; ++step) {
            std::vector<std::size_t> which(below(30));
            for (std::size_t& each : which) each = below(40);
            Hooks hooks;
            Handles handles;
            for (std::size_t const i : which) {
                hooks.push_back(&batch.sessions[i].hook);
                handles.push_back(&batch.timeouts[i]);
            }
            Duration const delay{std::chrono::milliseconds{below(300)}};
            TimeoutOptions const options{.tolerance = std::chrono::milliseconds{below(2) * 20}};
            std::pair<std::size_t, std::size_t> counts{0, 0};
            std::pair<bool, bool> threw{false, false};
            switch (below(6)) {
                case 0:
                    try {
                        batch.timer.schedule(hooks, delay, options);
                    } catch (std::logic_error const&) {
                        threw.first = true;
                    }
                    try {
                        for (std::size_t const i : which)
                            single.timer.schedule(single.sessions[i].hook, delay, options);
                    } catch (std::logic_error const&) {
                        threw.second = true;
                    }
                    break;
                case 1:
                    counts.first = batch.timer.reschedule(hooks, delay, options);
                    for (std::size_t const i : which)
                        counts.second += single.sessions[i].hook.reschedule(delay, options);
                    break;
                case 2:
                    counts.first = batch.timer.reschedule(handles, delay, options);
                    for (std::size_t const i : which)
                        counts.second +=
                            single.timer.reschedule(single.timeouts[i], delay, options);
                    break;
                case 3:
                    counts.first = batch.timer.cancel(hooks);
                    for (std::size_t const i : which)
                        counts.second += single.sessions[i].hook.cancel();
                    break;
                case 4:
                    for (World* world : {&batch, &single})
                        for (std::size_t const i : which)
                            if (!world->timeouts[i].isPending())
                                world->timeouts[i] =
                                    world->timer.newTimeout([world] { ++world->ran; }, delay);
                    break;
                default:
                    batch.clock.advance(delay);
                    single.clock.advance(delay);
            }
            batch.timer.checkInvariants();
            if (counts.first != counts.second || threw.first != threw.second ||
                batch.seen() != single.seen())
                ++different;
        }
    }
    figure("G27", "batches that differ from their calls one by one", different, exactly(0),
           {trials * 12, 12'000});
}

}  // namespace
}  // namespace timingwheel::test
