#include <support/TestTimers.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;

class Recorder final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        std::lock_guard const lock{mutex_};
        events_.push_back(event);
    }
    std::vector<TimerEvent> events() const {
        std::lock_guard const lock{mutex_};
        return events_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<TimerEvent> events_;
};

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

template <class T>
using Observed = OfWheelTimers<T>;
TYPED_TEST_SUITE(Observed, WheelTimers, NamesOfTimers);

TYPED_TEST(Observed, SeesEveryStepOfOneTimeoutInOrder) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.newTimeout([] {}, 8527ms);
    this->clock.advance(10s);
    auto const events = recorder.events();
    EXPECT_EQ(linesOf(events),
              (std::vector<std::string>{"schedule", "intake", "place 3:1@8000", "arm 3:1@8000",  //
                                        "wake 3:1@8000", "cascade from 3 to 2:1@8400",           //
                                        "wake 2:1@8400", "cascade from 2 to 1:6@8520",           //
                                        "wake 1:6@8520", "cascade from 1 to 0:7@8527",           //
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
    }
    EXPECT_EQ(events.back().lateness, 0ns);
    EXPECT_EQ(events.back().time, Clock::TimePoint{8527ms});
}

TEST(Observed, SeesAllNineStagesWithAnExecutor) {
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

TYPED_TEST(Observed, SeesHowLateARunWas) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    timer.newTimeout([] {}, 5ms);
    this->clock.jump(12ms);
    auto const events = recorder.events();
    EXPECT_EQ(events.back().stage, Stage::run);
    EXPECT_EQ(events.back().lateness, 7ms);
}

TYPED_TEST(Observed, MayAskTheTimerFromInside) {
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

TYPED_TEST(Observed, SeesAPushedBackTimeoutPlacedAgain) {
    Recorder recorder;
    TypeParam timer{this->options({.observer = &recorder})};
    Timeout const t = timer.newTimeout([] {}, 5ms);
    EXPECT_TRUE(timer.reschedule(t, 9ms));
    this->clock.advance(9ms);
    EXPECT_EQ(
        linesOf(recorder.events()),
        (std::vector<std::string>{"schedule", "intake", "place 0:5@5", "arm 0:5@5", "wake 0:5@5",
                                  "place 0:9@9", "wake 0:9@9", "expire", "run"}));
}

TEST(Observed, NamesItsStages) {
    std::vector<std::string> names;
    for (int i = 0; i < 9; ++i) names.emplace_back(toString(static_cast<Stage>(i)));
    EXPECT_EQ(names, (std::vector<std::string>{"schedule", "intake", "place", "arm", "wake",
                                               "cascade", "expire", "dispatch", "run"}));
}

}  // namespace
}  // namespace timingwheel::test
