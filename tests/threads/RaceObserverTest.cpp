#include <support/AnyTimer.h>
#include <support/Effort.h>
#include <support/Executors.h>
#include <support/TestTimers.h>
#include <support/ThreadPool.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

// Shows G10, G11.

// An observer may go as soon as its timer has, whoever still has a handle, a hook or a thread in
// an executor. Bug pattern: stop() did not wait for what was delivered outside the lock.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;

/// Takes its time over one event: the first of `stage` after the first of `after`.
class SlowObserver final : public TimerObserver {
public:
    explicit SlowObserver(Stage stage, std::optional<Stage> after = {}) noexcept
        : stage_{stage}, after_{after}, isNext_{!after} {}

    void onEvent(TimerEvent const& event) noexcept override {
        if (event.stage == after_) isNext_ = true;
        if (event.stage != stage_ || !isNext_ || wasEntered_.exchange(true)) return;
        entered_.open();
        std::this_thread::sleep_for(20ms);
        isOver = true;
    }
    void waitUntilEntered() { entered_.wait(); }

    std::atomic<bool> isOver{false};

private:
    Stage const stage_;
    std::optional<Stage> const after_;
    std::atomic<bool> isNext_;
    std::atomic<bool> wasEntered_{false};
    Latch entered_;
};

/// What a sanitizer sees if it is touched after its end.
class ShortLivedObserver final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        spinFor(3us);
        ++*events_[static_cast<std::size_t>(event.stage)];
    }

private:
    using Count = std::unique_ptr<std::atomic<std::uint64_t>>;
    static std::vector<Count> counts() {
        std::vector<Count> counts(static_cast<std::size_t>(Stage::restart) + 1);
        for (Count& count : counts) count = std::make_unique<Count::element_type>(0);
        return counts;
    }

    std::vector<Count> const events_{counts()};
};

/// Something with a timer of its own.
class Connection {
public:
    void onIdle() {}
    TimerHook<&Connection::onIdle> idle{*this};
};

template <class T>
using OptionsOf =
    std::conditional_t<std::is_same_v<T, SystemTimer>, TimerOptions, HashedWheelTimerOptions>;

template <class T>
OptionsOf<T> observedBy(TimerObserver& observer) {
    OptionsOf<T> options;
    options.tick = 1ms;
    options.observer = &observer;
    return options;
}

template <class T>
class RaceObserverOf : public testing::Test {};

TYPED_TEST_SUITE(RaceObserverOf, TimersWithAThread, NamesOfAllTimers);

TYPED_TEST(RaceObserverOf, TheDestructorWaitsForACancelThatIsBeingDelivered) {
    Watchdog const watchdog{"the destructor while a cancel is delivered"};
    for (bool const andWait : {false, true}) {
        SlowObserver observer{Stage::cancel};
        auto timer = std::make_unique<TypeParam>(observedBy<TypeParam>(observer));
        Timeout const timeout = timer->newTimeout([] {}, 1h);
        std::thread canceller{[&] { andWait ? timeout.cancelAndWait() : timeout.cancel(); }};
        observer.waitUntilEntered();
        static_cast<void>(timer->stop());
        timer.reset();
        EXPECT_TRUE(observer.isOver);
        canceller.join();
    }
}

// Bug pattern: what is refused because stop() came first is reported after that.
TYPED_TEST(RaceObserverOf, AStopReturnsBehindAllEventsOfThreadsThatSchedule) {
    Watchdog const watchdog{"stop() against newTimeout()"};
    struct Log final : TimerObserver {
        void onEvent(TimerEvent const&) noexcept override { late += isStopped ? 1 : 0; }
        std::atomic<bool> isStopped{false};
        std::atomic<int> late{0};
    };
    int late = 0;
    for (std::uint64_t round = scaled(50, 10); round > 0; --round) {
        Log log;
        TypeParam timer{observedBy<TypeParam>(log)};
        timer.start();
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&timer] {
                try {
                    for (;;) timer.newTimeout([] {}, 1h).cancel();
                } catch (std::logic_error const&) {
                }
            });
        }
        std::this_thread::sleep_for(300us);
        static_cast<void>(timer.stop());
        log.isStopped = true;
        for (std::thread& thread : threads) thread.join();
        late += log.late;
    }
    EXPECT_EQ(late, 0);
}

TYPED_TEST(RaceObserverOf, AnObserverMayGoWithItsTimerWhileHandlesAreCancelled) {
    Watchdog const watchdog{"observers against cancel()"};
    constexpr std::size_t kHandles = 30;
    std::unique_ptr<ShortLivedObserver> observer;
    std::optional<TypeParam> timer;
    std::vector<Timeout> handles;
    inBatches(
        scaled(1'000, 300), 2,
        [&](std::uint64_t) {
            observer = std::make_unique<ShortLivedObserver>();
            timer.emplace(observedBy<TypeParam>(*observer));
            handles.clear();
            for (std::size_t i = 0; i < kHandles; ++i)
                handles.push_back(timer->newTimeout([] {}, 1h));
        },
        [&](std::size_t worker, std::uint64_t round) {
            if (worker == 0) {
                for (Timeout const& each : handles)
                    round % 2 == 0 ? each.cancel() : each.cancelAndWait();
            } else {
                spinFor(std::chrono::microseconds{round % 20});
                static_cast<void>(timer->stop());
                timer.reset();
                observer.reset();
            }
        },
        [](std::uint64_t) {});
}

TEST(RaceObserver, TheDestructorWaitsForAHooksCancelThatIsBeingDelivered) {
    Watchdog const watchdog{"the destructor while a hook's cancel is delivered"};
    SlowObserver observer{Stage::cancel};
    auto timer = std::make_unique<SystemTimer>(observedBy<SystemTimer>(observer));
    auto connection = std::make_unique<Connection>();
    timer->schedule(connection->idle, 1h);
    std::thread owner{[&] { connection.reset(); }};
    observer.waitUntilEntered();
    timer.reset();
    EXPECT_TRUE(observer.isOver);
    owner.join();
}

TEST(RaceObserver, TheDestructorWaitsForARescheduleThatIsBeingDelivered) {
    Watchdog const watchdog{"the destructor while a reschedule is delivered"};
    SlowObserver observer{Stage::intake, Stage::place};
    auto timer = std::make_unique<SystemTimer>(observedBy<SystemTimer>(observer));
    Connection connection;
    timer->schedule(connection.idle, 1h);
    std::thread owner{[&] { connection.idle.reschedule(1ms); }};
    observer.waitUntilEntered();
    timer.reset();
    EXPECT_TRUE(observer.isOver);
    owner.join();
}

// The run was over when its next intake was delivered.
TEST(RaceObserver, TheDestructorWaitsForTheNextIntakeOfAPeriodicTask) {
    Watchdog const watchdog{"the destructor while an intake is delivered"};
    ThreadExecutor executor;
    SlowObserver observer{Stage::intake, Stage::run};
    TimerOptions options = observedBy<SystemTimer>(observer);
    options.executor = executor;
    auto timer = std::make_unique<SystemTimer>(options);
    timer->scheduleAtFixedRate([] {}, 1ms, 1ms);
    observer.waitUntilEntered();
    timer.reset();
    EXPECT_TRUE(observer.isOver);
}

TEST(RaceObserver, AnObserverMayGoWithItsTimerWhilePeriodicTasksRunInAPool) {
    Watchdog const watchdog{"observers against periodic tasks"};
    boost::asio::thread_pool pool{3};
    for (std::uint64_t round = 0; round < scaled(500, 200); ++round) {
        auto observer = std::make_unique<ShortLivedObserver>();
        TimerOptions options = observedBy<SystemTimer>(*observer);
        options.tick = 20us;
        options.shards = 1;
        options.executor = pool;
        {
            SystemTimer timer{options};
            for (int i = 0; i < 8; ++i) timer.scheduleAtFixedRate([] {}, 20us, 20us);
            spinFor(std::chrono::microseconds{200 + round % 300});
        }
        observer.reset();
    }
}

TEST(RaceObserver, DrainEndsWhenTheLastEventWasDelivered) {
    Watchdog const watchdog{"drain() while a cancel is delivered"};
    SlowObserver observer{Stage::cancel};
    SystemTimer timer{observedBy<SystemTimer>(observer)};
    Timeout const timeout = timer.newTimeout([] {}, 1h);
    std::thread canceller{[&] { timeout.cancel(); }};
    observer.waitUntilEntered();
    timer.drain();
    EXPECT_TRUE(observer.isOver);
    canceller.join();
}

}  // namespace
}  // namespace timingwheel::test
