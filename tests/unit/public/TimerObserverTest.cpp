#include <support/Recorder.h>
#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;

/// In one line: the stage and where.
std::string lineOf(TimerEvent const& event) {
    std::string line = toString(event.stage);
    auto const place = [&] {
        line += " " + std::to_string(event.level) + ":" + std::to_string(event.slot) + "@" +
                std::to_string(event.expiration.value());
    };
    switch (event.stage) {
        case Stage::place:
        case Stage::arm:
        case Stage::wake:
            place();
            break;
        case Stage::cascade:
            line += " from " + std::to_string(event.fromLevel) + " to";
            place();
            break;
        default:
            break;
    }
    return line;
}

std::vector<std::string> linesOf(std::vector<TimerEvent> const& events) {
    std::vector<std::string> lines;
    for (TimerEvent const& event : events) lines.push_back(lineOf(event));
    return lines;
}

// What a stage does not have is zero.
TEST(TimerObserverEvent, BeginsWithoutAnything) {
    TimerEvent const event{.stage = Stage::schedule};
    EXPECT_FALSE(event.isPeriodic);
    EXPECT_EQ(event.shard, 0U);
    EXPECT_EQ(event.level, 0U);
    EXPECT_EQ(event.slot, 0U);
    EXPECT_EQ(event.fromLevel, 0U);
    EXPECT_EQ(event.number, 0U);
    EXPECT_EQ(event.deadline, Tick{0});
    EXPECT_EQ(event.expiration, Tick{0});
    EXPECT_EQ(event.entry, nullptr);
    EXPECT_EQ(event.time, Clock::TimePoint{});
    EXPECT_EQ(event.lateness, 0ns);
    EXPECT_EQ(event.duration, 0ns);
}

template <class T>
using TimerObserverTest = OfWheelTimers<T>;
TYPED_TEST_SUITE(TimerObserverTest, WheelTimers, NamesOfTimers);

TYPED_TEST(TimerObserverTest, SeesEveryStepOfOneTimeoutInOrder) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.newTimeout([] {}, 8527ms);
    this->clock.advance(10s);
    auto const events = recorder.events();
    EXPECT_EQ(linesOf(events),
              (std::vector<std::string>{"schedule", "intake", "place 3:1@8000", "arm 3:1@8000",  //
                                        "wake 3:1@8000", "cascade from 3 to 2:1@8400",
                                        "arm 2:1@8400",  //
                                        "wake 2:1@8400", "cascade from 2 to 1:6@8520",
                                        "arm 1:6@8520",  //
                                        "wake 1:6@8520", "cascade from 1 to 0:7@8527",
                                        "arm 0:7@8527",  //
                                        "wake 0:7@8527", "expire", "run"}));
    for (TimerEvent const& event : events) {
        if (event.stage == Stage::wake) {
            EXPECT_EQ(event.entry, nullptr);
            EXPECT_EQ(event.time, Clock::TimePoint{event.expiration.value() * 1ms});
        } else {
            EXPECT_EQ(event.entry, TimerObserver::entryOf(t));
        }
        if (event.entry != nullptr && event.stage != Stage::schedule) {
            EXPECT_EQ(event.deadline, Tick{8527});
        }
        if (event.stage != Stage::cascade) {
            EXPECT_EQ(event.fromLevel, 0U) << lineOf(event);
        }
    }
    EXPECT_EQ(events.back().lateness, 0ns);
    EXPECT_EQ(events.back().time, Clock::TimePoint{8527ms});
}

TEST(TimerObserverTest, SeesAllNineStagesWithAnExecutor) {
    ManualClock clock;
    Recorder recorder;
    SynchronousExecutor executor;
    SystemTimer timer{{.clock = clock, .executor = executor, .observer = &recorder}};
    timer.newTimeout([] {}, 8500ms);
    clock.advance(9s);
    std::vector<Stage> firstSeen;
    for (TimerEvent const& event : recorder.events())
        if (std::find(firstSeen.begin(), firstSeen.end(), event.stage) == firstSeen.end())
            firstSeen.push_back(event.stage);
    EXPECT_EQ(firstSeen, (std::vector<Stage>{Stage::schedule, Stage::intake, Stage::place,
                                             Stage::arm, Stage::wake, Stage::cascade, Stage::expire,
                                             Stage::dispatch, Stage::run}));
}

TYPED_TEST(TimerObserverTest, SeesATimeoutThatIsDueOnArrivalGoThroughNoBucket) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    timer.newTimeout([] {}, 0ms);
    this->clock.advance(1ms);
    EXPECT_EQ(linesOf(recorder.events()),
              (std::vector<std::string>{"schedule", "intake", "expire", "run"}));
}

TYPED_TEST(TimerObserverTest, SeesHowLateARunWas) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    timer.newTimeout([] {}, 5ms);
    this->clock.jump(12ms);
    auto const events = recorder.events();
    EXPECT_EQ(events.back().stage, Stage::run);
    EXPECT_EQ(events.back().lateness, 7ms);
}

TYPED_TEST(TimerObserverTest, MayAskTheTimerFromInside) {
    class Asking final : public TimerObserver {
    public:
        void onEvent(TimerEvent const&) noexcept override {
            if (timer != nullptr) sum += timer->pendingTimeouts();
        }
        WheelTimer* timer = nullptr;
        std::size_t sum = 0;
    } asking;
    TypeParam timer{this->options({.observer = &asking})};
    asking.timer = &timer;
    timer.newTimeout([] {}, 50ms);
    this->clock.advance(50ms);
    EXPECT_GE(asking.sum, 4U);
    asking.timer = nullptr;
}

TYPED_TEST(TimerObserverTest, SeesAPushedBackTimeoutPlacedAgain) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.newTimeout([] {}, 5ms);
    EXPECT_TRUE(timer.reschedule(t, 9ms));
    this->clock.advance(9ms);
    EXPECT_EQ(
        linesOf(recorder.events()),
        (std::vector<std::string>{"schedule", "intake", "place 0:5@5", "arm 0:5@5", "wake 0:5@5",
                                  "place 0:9@9", "arm 0:9@9", "wake 0:9@9", "expire", "run"}));
}

TYPED_TEST(TimerObserverTest, SeesEachBucketThatEntersTheHeapAndNoOther) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    timer.newTimeout([] {}, 5ms);
    timer.newTimeout([] {}, 9ms);  // not the earliest
    timer.newTimeout([] {}, 9ms);  // armed already
    EXPECT_EQ(linesOf(recorder.events()),
              (std::vector<std::string>{"schedule", "intake", "place 0:5@5", "arm 0:5@5",  //
                                        "schedule", "intake", "place 0:9@9", "arm 0:9@9",  //
                                        "schedule", "intake", "place 0:9@9"}));
    this->clock.advance(9ms);
}

TYPED_TEST(TimerObserverTest, SeesACancelledTimeoutLeaveAndItsBucketLater) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.newTimeout([] {}, 5ms);
    EXPECT_TRUE(t.cancel());
    EXPECT_FALSE(t.cancel());
    this->clock.jump(5ms);
    if constexpr (std::is_same_v<TypeParam, SystemTimer>) timer.drain();
    auto const events = recorder.events();
    EXPECT_EQ(linesOf(events), (std::vector<std::string>{"schedule", "intake", "place 0:5@5",
                                                         "arm 0:5@5", "cancel", "wake 0:5@5"}));
    EXPECT_EQ(events[4].entry, TimerObserver::entryOf(t));
    EXPECT_EQ(events[4].deadline, Tick{5});
}

TEST(TimerObserverTest, SeesEmptiedBucketsLeaveTheHeapWhenTheNextIsScheduled) {
    class Still final : public Clock {  // wakes nobody
    public:
        TimePoint now() const noexcept override { return now_; }
        std::unique_ptr<Waiter> makeWaiter() override { return steady().makeWaiter(); }
        TimePoint now_{};
    } clock;
    Recorder recorder;
    ManualTimer timer{{.clock = clock, .observer = &recorder}};
    timer.newTimeout([] {}, 7ms).cancel();
    timer.newTimeout([] {}, 5ms).cancel();
    recorder.clear();
    clock.now_ += 6ms;
    timer.newTimeout([] {}, 1ms);
    EXPECT_EQ(linesOf(recorder.events()),
              (std::vector<std::string>{"wake 0:5@5", "schedule", "intake", "place 0:7@7"}));
}

TYPED_TEST(TimerObserverTest, SeesARescheduledTimeoutTakenInAgain) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.newTimeout([] {}, 9ms);
    EXPECT_TRUE(timer.reschedule(t, 3ms));
    this->clock.advance(3ms);
    EXPECT_EQ(
        linesOf(recorder.events()),
        (std::vector<std::string>{"schedule", "intake", "place 0:9@9", "arm 0:9@9", "intake",
                                  "place 0:3@3", "arm 0:3@3", "wake 0:3@3", "expire", "run"}));
}

TYPED_TEST(TimerObserverTest, SeesAPeriodicTimeoutGoOnAndEnd) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.scheduleAtFixedRate(
        [n = 0](Timeout const& self) mutable {
            if (++n == 2) self.cancel();
        },
        5ms, 5ms);
    this->clock.advance(30ms);
    EXPECT_EQ(linesOf(recorder.events()),
              (std::vector<std::string>{"schedule", "intake", "place 0:5@5", "arm 0:5@5",
                                        "wake 0:5@5", "expire", "run", "intake", "place 0:10@10",
                                        "arm 0:10@10", "wake 0:10@10", "expire", "run", "cancel"}));
    for (TimerEvent const& event : recorder.events())
        EXPECT_EQ(event.isPeriodic, event.entry != nullptr);
}

TYPED_TEST(TimerObserverTest, SeesAHookLeaveWhenItsObjectDies) {
    struct Object {
        void onDue() {}
        TimerHook<&Object::onDue> hook{*this};
    };
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    void const* entry = nullptr;
    {
        Object object;
        entry = TimerObserver::entryOf(object.hook);
        timer.schedule(object.hook, 5ms);
        EXPECT_TRUE(object.hook.cancel());
        timer.schedule(object.hook, 5ms);
    }
    EXPECT_EQ(linesOf(recorder.events()),
              (std::vector<std::string>{"schedule", "intake", "place 0:5@5", "arm 0:5@5", "cancel",
                                        "schedule", "intake", "place 0:5@5", "cancel"}));
    EXPECT_EQ(recorder.events().back().entry, entry);
}

TYPED_TEST(TimerObserverTest, SeesWhatStopReturns) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    timer.newTimeout([] {}, 5ms);
    timer.newTimeout([] {}, 500ms);
    timer.newTimeout([] {}, 0ms);
    recorder.clear();
    std::size_t const returned = timer.stop().size();
    std::size_t delivered = 0;
    for (TimerEvent const& event : recorder.events())
        delivered += event.stage == Stage::cancel ? 1 : 0;
    EXPECT_EQ(delivered, returned);
}

TEST(TimerObserverTest, SeesWhatAnExecutorRejects) {
    struct Refusing {
        void execute(Claim const&) { throw std::runtime_error{"full"}; }
    } executor;
    ManualClock clock;
    Recorder recorder;
    SystemTimer timer{{.clock = clock,
                       .executor = executor,
                       .errorHandler = [](TaskFailure const&) {},
                       .observer = &recorder}};
    timer.newTimeout([] {}, 5ms);
    clock.advance(5ms);
    EXPECT_EQ(linesOf(recorder.events()),
              (std::vector<std::string>{"schedule", "intake", "place 0:5@5", "arm 0:5@5",
                                        "wake 0:5@5", "expire", "dispatch", "cancel"}));
}

TEST(TimerObserverTest, SeesWhenARunBeganAndHowLongItTook) {
    SettableClock clock;
    Recorder recorder;
    ManualTimer timer{{.clock = clock, .observer = &recorder}};
    timer.newTimeout([&clock] { clock.add(7ms); }, 5ms);
    clock.add(6ms);
    timer.advanceTo(clock.now());
    TimerEvent const run = recorder.events().back();
    EXPECT_EQ(run.stage, Stage::run);
    EXPECT_EQ(run.time, Clock::TimePoint{6ms});
    EXPECT_EQ(run.lateness, 1ms);
    EXPECT_EQ(run.duration, 7ms);
}

TYPED_TEST(TimerObserverTest, MayScheduleAndCancelFromInside) {
    class Meddling final : public TimerObserver {
    public:
        void onEvent(TimerEvent const& event) noexcept override {
            if (event.stage != Stage::run || timer == nullptr || ++runs > 3) return;
            timer->newTimeout([] {}, 1ms);
            timer->newTimeout([] {}, 1ms).cancel();
        }
        WheelTimer* timer = nullptr;
        int runs = 0;
    } meddling;
    TypeParam timer{this->options({.observer = &meddling})};
    meddling.timer = &timer;
    timer.newTimeout([] {}, 1ms);
    this->clock.advance(10ms);
    EXPECT_EQ(meddling.runs, 4);
}

// A number for each event of a shard, none twice, none left out.
TEST(TimerObserverTest, NumbersTheEventsOfAShardAsTheyHappened) {
    ManualClock clock;
    Recorder recorder;
    {
        SystemTimer timer{{.clock = clock, .shards = 1, .observer = &recorder}};
        auto const load = [&timer] {
            for (int i = 0; i < 500; ++i) {
                Timeout const t = timer.newTimeout([] {}, std::chrono::milliseconds{i % 40});
                if (i % 3 == 0) t.cancel();
            }
        };
        std::thread other{load};
        load();
        clock.advance(30ms);
        other.join();
    }
    std::vector<std::uint64_t> numbers;
    for (TimerEvent const& event : recorder.events()) numbers.push_back(event.number);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
}

TEST(TimerObserverTest, SeesEveryTimeoutEndOnceInAFlatTimer) {
    ManualClock clock;
    Recorder recorder;
    HashedWheelTimer timer{{.tick = 10ms, .clock = clock, .observer = &recorder}};
    Timeout const runs = timer.newTimeout([] {}, 15ms);
    Timeout const cancelled = timer.newTimeout([] {}, 15ms);
    Timeout const returned = timer.newTimeout([] {}, 1s);
    EXPECT_TRUE(cancelled.cancel());
    auto const lastOf = [&recorder](Timeout const& t) {
        std::optional<Stage> last;
        for (TimerEvent const& event : recorder.events())
            if (event.entry == TimerObserver::entryOf(t)) last = event.stage;
        return last;
    };
    EXPECT_EQ(lastOf(cancelled), Stage::cancel) << "delivered at once";
    clock.advance(30ms);
    EXPECT_EQ(lastOf(runs), Stage::run);
    EXPECT_EQ(timer.stop().size(), 1U);
    EXPECT_EQ(lastOf(returned), Stage::cancel);
    EXPECT_EQ(lastOf(cancelled), Stage::cancel);
    auto const events = recorder.events();
    EXPECT_EQ(std::count_if(events.begin(), events.end(),
                            [](TimerEvent const& e) { return e.stage == Stage::cancel; }),
              2);
}

TEST(TimerObserverTest, SeesEveryStepOfATimeoutInAFlatTimerInOrder) {
    ManualClock clock;
    Recorder recorder;
    HashedWheelTimer timer{
        {.tick = 10ms, .ticksPerWheel = 8, .clock = clock, .observer = &recorder}};
    auto const stages = [&recorder](Timeout const& timeout) {
        std::vector<Stage> of;
        for (TimerEvent const& event : recorder.events())
            if (event.entry == TimerObserver::entryOf(timeout)) of.push_back(event.stage);
        return of;
    };
    Timeout const runs = timer.newTimeout([] {}, 25ms);
    Timeout const cancelled = timer.newTimeout([] {}, 25ms);
    EXPECT_TRUE(cancelled.cancel());
    clock.advance(40ms);
    EXPECT_EQ(stages(runs), (std::vector{Stage::schedule, Stage::intake, Stage::place,
                                         Stage::expire, Stage::run}));
    EXPECT_EQ(stages(cancelled), (std::vector{Stage::schedule, Stage::intake, Stage::cancel}));
    for (TimerEvent const& event : recorder.events()) {
        bool const hasSlot = event.stage == Stage::wake || event.stage == Stage::place;
        EXPECT_EQ(event.slot, hasSlot ? event.expiration.value() % 8 : 0) << lineOf(event);
    }
}

TEST(TimerObserverTest, NamesItsStages) {
    std::vector<std::string> names;
    for (int i = 0; i < 10; ++i) names.emplace_back(toString(static_cast<Stage>(i)));
    EXPECT_EQ(names, (std::vector<std::string>{"schedule", "intake", "place", "arm", "wake",
                                               "cascade", "expire", "dispatch", "run", "cancel"}));
}

}  // namespace
}  // namespace timingwheel::test
