// What pending() shows of all timers, and tags.

#include <support/AnyTimer.h>
#include <support/TestTimers.h>
#include <timingwheel/PendingTimeout.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/ifAlive.h>
#include <timingwheel/tagged.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

// Shows G32.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Kind = PendingTimeout::Kind;

/// How often each tag was shown.
std::map<void const*, std::size_t> tagsOf(Timer const& timer) {
    std::map<void const*, std::size_t> tags;
    timer.pending([&](PendingTimeout const& timeout) { ++tags[timeout.tag]; });
    return tags;
}

std::size_t countOf(Timer const& timer) {
    std::size_t count = 0;
    timer.pending([&](PendingTimeout const&) { ++count; });
    return count;
}

template <class T>
using PendingOfAnyTimer = OfAllTimers<T>;
TYPED_TEST_SUITE(PendingOfAnyTimer, AllTimers, NamesOfAllTimers);

TYPED_TEST(PendingOfAnyTimer, ShowsEachPendingTimeoutOnce) {
    auto const timer = this->make();
    EXPECT_EQ(countOf(*timer), 0U);
    std::vector<int> tags(1'000);
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < tags.size(); ++i) {
        // A third in one tick, far more than the timer looks at under one lock.
        auto const delay = i % 3 == 0 ? 50ms : std::chrono::milliseconds{i + 1};
        timeouts.push_back(timer->newTimeout(tagged(&tags[i], [] {}), delay));
        if (i == 500) this->clock.advance(3ms);  // some are in the wheel then, others in a queue
    }
    std::size_t cancelled = 0;
    for (std::size_t i = 0; i < tags.size(); i += 7)
        if (timeouts[i].cancel()) ++cancelled;
    std::size_t pending = 0;
    std::size_t wrong = 0;
    std::map<void const*, std::size_t> const shown = tagsOf(*timer);
    for (std::size_t i = 0; i < tags.size(); ++i) {
        std::size_t const expected = timeouts[i].isPending() ? 1 : 0;
        pending += expected;
        auto const found = shown.find(&tags[i]);
        if ((found == shown.end() ? 0 : found->second) != expected) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(shown.size(), pending);
    EXPECT_GT(cancelled, 100U);
    EXPECT_EQ(timer->stop().size(), pending);
    EXPECT_EQ(countOf(*timer), 0U) << "a stopped timer has nothing pending";
}

TYPED_TEST(PendingOfAnyTimer, ShowsDeadlineTagAndHandle) {
    auto const timer = this->make({.tick = 10ms});
    Timeout const timeout = timer->newTimeout(tagged("idle", [] {}), 95ms);
    Timeout const never = timer->newTimeout([] {}, (Duration::max)());
    std::size_t seen = 0;
    timer->pending([&](PendingTimeout const& shown) {
        ++seen;
        EXPECT_EQ(shown.kind, Kind::once);
        EXPECT_EQ(shown.period, 0ns);
        EXPECT_EQ(shown.deadline, shown.timeout.deadline());
        bool const isNever = shown.timeout == never;
        EXPECT_EQ(isNever, shown.deadline == (Clock::TimePoint::max)());
        EXPECT_EQ(isNever, shown.tag == nullptr);
        EXPECT_EQ(!isNever, shown.timeout == timeout);
    });
    EXPECT_EQ(seen, 2U);
}

TYPED_TEST(PendingOfAnyTimer, VisitorMayUseTheTimer) {
    auto const timer = this->make();
    for (int i = 0; i < 600; ++i) timer->newTimeout([] {}, 20ms);
    std::size_t visits = 0;
    std::size_t inside = 0;
    std::size_t won = 0;
    timer->pending([&](PendingTimeout const& shown) {
        if (++visits == 1) inside = countOf(*timer);
        timer->newTimeout([] {}, 1h);
        if (shown.timeout.cancel()) ++won;
    });
    EXPECT_EQ(visits, 600U);
    EXPECT_EQ(inside, 600U);
    EXPECT_EQ(won, 600U);
    EXPECT_EQ(countOf(*timer), 600U);
}

TYPED_TEST(PendingOfAnyTimer, ExceptionsOfTheVisitorPassToTheCaller) {
    auto const timer = this->make();
    for (int i = 0; i < 10; ++i) timer->newTimeout([] {}, 1h);
    std::size_t visits = 0;
    EXPECT_THROW(timer->pending([&](PendingTimeout const&) {
        if (++visits == 3) throw std::runtime_error{"enough"};
    }),
                 std::runtime_error);
    EXPECT_EQ(visits, 3U);
    EXPECT_EQ(countOf(*timer), 10U);
}

TYPED_TEST(PendingOfAnyTimer, EndsWhenTheVisitorReturnsFalse) {
    auto const timer = this->make();
    for (int i = 0; i < 10; ++i) timer->newTimeout([] {}, 1h);
    std::size_t visits = 0;
    timer->pending([&](PendingTimeout const&) { return ++visits < 4; });
    EXPECT_EQ(visits, 4U);
}

TYPED_TEST(PendingOfAnyTimer, RefusesAnEmptyVisitor) {
    auto const timer = this->make();
    expectThrows<std::invalid_argument>(
        [&] { timer->pending(std::function<void(PendingTimeout const&)>{}); }, "the visitor");
}

TYPED_TEST(PendingOfAnyTimer, WorksInsideATask) {
    auto const timer = this->make();
    std::map<void const*, std::size_t> inside;
    int const others[20] = {};
    timer->newTimeout(tagged(&inside, [&] { inside = tagsOf(*timer); }), 500us);
    for (int const& other : others) timer->newTimeout(tagged(&other, [] {}), 5ms);
    this->clock.advance(3ms);
    EXPECT_EQ(inside.size(), 20U) << "and not the task itself, which has begun";
    EXPECT_EQ(inside.count(&inside), 0U);
    this->clock.advance(10ms);
    EXPECT_EQ(countOf(*timer), 0U);
    this->check(*timer);
}

// Bug pattern: what waits for its turn in the same tick is in no list.
TYPED_TEST(PendingOfAnyTimer, ShowsInsideATaskWhatWaitsForItsTurnInTheSameTick) {
    auto const timer = this->make();
    constexpr std::size_t kCount = 40;
    std::size_t ran = 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i)
        timer->newTimeout(
            [&] {
                ++ran;
                if (countOf(*timer) != kCount - ran) ++wrong;
            },
            4500us);
    this->clock.advance(10ms);
    EXPECT_EQ(ran, kCount);
    EXPECT_EQ(wrong, 0U);
}

template <class T>
using PendingOfWheelTimers = OfWheelTimers<T>;
TYPED_TEST_SUITE(PendingOfWheelTimers, WheelTimers, NamesOfTimers);

struct Connection {
    void onIdle() {}
    TimerHook<&Connection::onIdle> idle{*this};
};

TYPED_TEST(PendingOfWheelTimers, ShowsOfWhatKindEachIs) {
    TypeParam timer{this->options()};
    Connection connection;
    timer.schedule(connection.idle, 60s);
    timer.scheduleAtFixedRate(tagged("rate", [] {}), 1s, 2s);
    timer.scheduleWithFixedDelay(tagged("delay", [] {}), 1s, 3s);
    auto const everyHour = [](Clock::TimePoint time) { return time + 1h; };
    timer.scheduleAtTimes(tagged("series", [] {}), everyHour);
    std::map<Kind, PendingTimeout> shown;
    timer.pending([&](PendingTimeout const& timeout) { shown[timeout.kind] = timeout; });
    ASSERT_EQ(shown.size(), 4U);
    EXPECT_EQ(shown[Kind::hook].tag, &connection);
    EXPECT_EQ(shown[Kind::hook].deadline, connection.idle.deadline());
    EXPECT_FALSE(shown[Kind::hook].timeout);
    EXPECT_EQ(shown[Kind::fixedRate].period, 2s);
    EXPECT_STREQ(static_cast<char const*>(shown[Kind::fixedRate].tag), "rate");
    EXPECT_EQ(shown[Kind::fixedDelay].period, 3s);
    EXPECT_STREQ(static_cast<char const*>(shown[Kind::series].tag), "series");
    EXPECT_EQ(shown[Kind::series].period, 0ns);
}

TYPED_TEST(PendingOfWheelTimers, TagsComeThroughWhatElseIsMadeOfATask) {
    TypeParam timer{this->options()};
    auto const object = std::make_shared<int>(1);
    timer.newTimeout(tagged("alive", ifAlive(object, [](int&) {})), 1s);
    struct Task final : TimerTask {
        void run(Timeout const&) override {}
    };
    auto const task = std::make_shared<Task>();
    Timeout const shared = timer.newTimeout(tagged("shared", task), 1s);
    EXPECT_EQ(shared.task(), task);
    Timeout const twice = timer.newTimeout(tagged("outer", tagged("inner", task)), 1s);
    EXPECT_EQ(twice.task(), task);
    EXPECT_EQ(tagsOf(timer).count("outer"), 1U);
    EXPECT_TRUE(twice.cancel());
#ifdef TIMINGWHEEL_STOP_TOKEN
    std::stop_source source;
    timer.newTimeout(untilStopped(source.get_token(), tagged("stoppable", [] {})), 1s);
    EXPECT_EQ(tagsOf(timer).count("stoppable"), 1U);
    source.request_stop();
#endif
    EXPECT_EQ(tagsOf(timer).size(), 2U);
    EXPECT_THROW(timer.newTimeout(tagged("empty", std::function<void()>{}), 1s),
                 std::invalid_argument);
}

// Bug pattern: an observer is called with a lock held that the list needs.
TEST(Pending, MayBeListedByAnObserver) {
    struct Lister final : TimerObserver {
        void onEvent(TimerEvent const&) noexcept override {
            if (timer != nullptr) most = std::max(most.load(), countOf(*timer));
        }
        std::atomic<Timer*> timer = nullptr;
        std::atomic<std::size_t> most = 0;
    };
    for (bool const isFlat : {false, true}) {
        Lister lister;
        ManualClock clock;
        std::unique_ptr<Timer> timer;
        if (isFlat)
            timer = std::make_unique<HashedWheelTimer>(
                HashedWheelTimerOptions{.tick = 1ms, .clock = clock, .observer = &lister});
        else
            timer =
                std::make_unique<SystemTimer>(TimerOptions{.clock = clock, .observer = &lister});
        lister.timer = timer.get();
        for (int i = 1; i <= 20; ++i) timer->newTimeout([] {}, i * 1ms);
        clock.advance(5ms);
        EXPECT_EQ(lister.most, 20U);
        EXPECT_GE(timer->stop().size(), 14U);
    }
}

TEST(Pending, CallsCancelledOfATaggedTask) {
    bool wasCancelled = false;
    struct Hears {
        void operator()() const {}
        void cancelled(Timeout const&) const { *was = true; }
        bool* was;
    };
    ManualTimer timer;
    EXPECT_TRUE(timer.newTimeout(tagged("hears", Hears{&wasCancelled}), 1s).cancel());
    EXPECT_TRUE(wasCancelled);
}

}  // namespace
}  // namespace timingwheel::test
