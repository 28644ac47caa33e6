#include <support/Effort.h>
#include <support/TestTimers.h>
#include <support/ThreadStatus.h>
#include <timingwheel/TaskPool.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#    include <sys/resource.h>
#endif

namespace timingwheel {
namespace {

using namespace std::chrono_literals;
using test::expectThrows;
using test::FailureLog;
using test::findThread;
using test::Latch;
using test::SettableClock;

void waitUntil(std::function<bool()> const& holds) {
    while (!holds()) std::this_thread::yield();
}

// Options.

TEST(TaskPool, RefusesOptionsOutOfRange) {
    auto const refused = [](TaskPoolOptions options, std::string const& text) {
        expectThrows<std::invalid_argument>([&] { TaskPool const pool{std::move(options)}; }, text);
    };
    refused({.threads = 1'025}, "threads is 1025: it must be at most 1024");
    refused({.queueCapacity = 0}, "queueCapacity is 0: it must be at least 1");
    refused({.name = "sixteen-bytes-xx"},
            "name is \"sixteen-bytes-xx\", 16 bytes long: it must be at most 15 bytes long");
    refused({.name = std::string{"a\0b", 3}}, "name is a string with a NUL byte");
    EXPECT_NO_THROW((TaskPool{{.threads = 1, .queueCapacity = 1, .name = "fifteen-bytes-x"}}));
}

TEST(TaskPool, HasAThreadForEachCoreUnlessTold) {
    EXPECT_EQ(TaskPool{}.threads(), std::max(1U, std::thread::hardware_concurrency()));
    EXPECT_EQ(TaskPool{{.threads = 3}}.threads(), 3U);
}

#if defined(__linux__)
TEST(TaskPool, NamesItsThreadsAndBlocksTheirSignals) {
    TaskPool const pool{{.threads = 2, .name = "named-pool"}};
    waitUntil([] { return findThread("named-pool") != 0; });
    std::uint64_t const blocked =
        std::stoull(test::threadStatus(findThread("named-pool"), "SigBlk"), nullptr, 16);
    EXPECT_NE(blocked & 1U << (SIGTERM - 1), 0U);
    EXPECT_NE(blocked & 1U << (SIGINT - 1), 0U);
}

// Ends the process: with 0 when not all threads found memory and the pool said so.
[[noreturn]] void askForTooManyThreads() {
    rlimit const limit{2'000'000'000, 2'000'000'000};
    setrlimit(RLIMIT_AS, &limit);
    try {
        TaskPool const pool{{.threads = 1'024, .name = "too-many"}};
    } catch (std::system_error const& error) {
        std::cerr << error.what();
        std::exit(0);
    }
    std::exit(1);
}

// Some threads run already when one cannot be started: they are stopped, and nobody hangs.
TEST(TaskPoolDeathTest, SaysWhichThreadCouldNotBeStarted) {
    if (test::kIsSanitized) GTEST_SKIP() << "sanitizers need the memory that is limited here";
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(askForTooManyThreads(), testing::ExitedWithCode(0),
                "task pool \"too-many\": thread [0-9]+ of 1024 could not be started");
}
#endif

// The queue.

/// A timer whose tasks run in a pool of two threads, both of which are busy, with room for three.
class FullTaskPool : public testing::Test {
protected:
    void start(WhenFull whenFull) {
        pool_.emplace(TaskPoolOptions{.threads = 2, .queueCapacity = 3, .whenFull = whenFull});
        TimerOptions options;
        options.clock = clock_;
        options.executor = *pool_;
        options.errorHandler = failures_.handler();
        options.threadFactory = [this](std::function<void()> body) {
            std::thread thread{std::move(body)};
            driver_ = thread.get_id();
            return thread;
        };
        timer_.emplace(options);
        for (int i = 0; i < 2; ++i) {
            timer_->newTimeout(
                [this] {
                    ++busy_;
                    gate_.wait();
                },
                1ms);
        }
        clock_.add(1ms);
        waitUntil([this] { return busy_ == 2; });
    }

    // Five more, all due at once.
    void scheduleFive() {
        for (int i = 0; i < 5; ++i) {
            timer_->newTimeout(
                [this] {
                    std::lock_guard const lock{mutex_};
                    ++runs_[std::this_thread::get_id()];
                },
                1ms);
        }
        clock_.add(1ms);
    }

    std::size_t runsOnTheDriver() {
        std::lock_guard const lock{mutex_};
        auto const found = runs_.find(driver_);
        return found == runs_.end() ? 0 : found->second;
    }
    std::size_t runs() {
        std::lock_guard const lock{mutex_};
        std::size_t sum = 0;
        for (auto const& [thread, count] : runs_) sum += count;
        return sum;
    }

    SettableClock clock_;
    FailureLog failures_;
    Latch gate_;
    std::atomic<int> busy_{0};
    std::thread::id driver_;
    std::mutex mutex_;
    std::map<std::thread::id, std::size_t> runs_;
    std::optional<TaskPool> pool_;
    std::optional<SystemTimer> timer_;
};

TEST_F(FullTaskPool, RejectsWhatFindsNoRoomAndTellsTheErrorHandlerWhy) {
    start(WhenFull::reject);
    EXPECT_EQ(pool_->queued(), 0U) << "what runs does not wait";
    scheduleFive();
    waitUntil([this] { return failures_.count() == 2; });
    EXPECT_EQ(pool_->queued(), 3U);
    EXPECT_EQ(runs(), 0U);
    for (FailureLog::Entry const& entry : failures_.entries()) {
        EXPECT_EQ(entry.kind, TaskFailure::Kind::rejected);
        EXPECT_EQ(entry.what,
                  "task pool \"timer-task\" is full: 3 tasks wait, and queueCapacity is 3");
        EXPECT_TRUE(entry.timeout.isRejected());
    }
    gate_.open();
    timer_->drain();
    EXPECT_EQ(runs(), 3U);
    EXPECT_EQ(runsOnTheDriver(), 0U);
    EXPECT_EQ(failures_.count(), 2U);
}

TEST_F(FullTaskPool, LetsTheDriverRunWhatFindsNoRoom) {
    start(WhenFull::callerRuns);
    scheduleFive();
    waitUntil([this] { return runs() == 2; });
    EXPECT_EQ(runsOnTheDriver(), 2U);
    EXPECT_EQ(pool_->queued(), 3U);
    gate_.open();
    timer_->drain();
    EXPECT_EQ(runs(), 5U);
    EXPECT_EQ(runsOnTheDriver(), 2U) << "the others waited for the pool";
    EXPECT_EQ(failures_.count(), 0U);
    EXPECT_EQ(pool_->queued(), 0U);
}

TEST_F(FullTaskPool, HasRoomAgainWhenAThreadHasTakenATask) {
    start(WhenFull::reject);
    scheduleFive();
    waitUntil([this] { return failures_.count() == 2; });
    gate_.open();
    waitUntil([this] { return runs() == 3; });
    for (int i = 0; i < 3; ++i) timer_->newTimeout([] {}, 1ms);
    clock_.add(1ms);
    timer_->drain();
    EXPECT_EQ(failures_.count(), 2U);
}

// stop() returns what is queued; the claims that are left in the pool are for nothing.
TEST_F(FullTaskPool, MayEndWithTasksInItsQueueThatStopHasReturned) {
    start(WhenFull::reject);
    scheduleFive();
    waitUntil([this] { return failures_.count() == 2; });
    std::thread stopping{[this] { EXPECT_EQ(timer_->stop().size(), 3U); }};
    waitUntil([this] { return timer_->pendingTimeouts() == 0; });
    gate_.open();
    stopping.join();
    pool_.reset();
    EXPECT_EQ(runs(), 0U);
}

// Running.

TEST(TaskPool, RunsEveryTaskOnceOnItsOwnThreads) {
    constexpr std::size_t kTasks = 5'000;
    std::vector<std::atomic<int>> times(kTasks);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    ManualClock clock;
    {
        TaskPool pool{{.threads = 4}};
        SystemTimer timer{{.clock = clock, .executor = pool}};
        for (std::size_t i = 0; i < kTasks; ++i) {
            timer.newTimeout(
                [&, i] {
                    ++times[i];
                    std::lock_guard const lock{mutex};
                    threads.insert(std::this_thread::get_id());
                },
                std::chrono::milliseconds{1 + i % 50});
        }
        // A manual clock waits for what is due to run, in whatever executor.
        clock.advance(25ms);
        std::size_t ran = 0;
        for (auto const& count : times) ran += count == 1 ? 1U : 0U;
        EXPECT_EQ(ran, kTasks / 2);
        clock.advance(25ms);
    }
    for (auto const& count : times) ASSERT_EQ(count, 1);
    EXPECT_LE(threads.size(), 4U);
    EXPECT_EQ(threads.count(std::this_thread::get_id()), 0U);
}

// Claims of one timer cannot be told apart, so each task is of another.
TEST(TaskPool, TakesTasksUpInTheOrderInWhichTheyCame) {
    constexpr std::size_t kTasks = 8;
    std::atomic<bool> isBusy{false};
    Latch gate;
    std::vector<std::size_t> order;
    std::vector<std::size_t> expected;
    TaskPool pool{{.threads = 1}};
    std::vector<std::unique_ptr<SettableClock>> clocks;
    std::vector<std::unique_ptr<SystemTimer>> timers;
    for (std::size_t i = 0; i < kTasks; ++i) {
        clocks.push_back(std::make_unique<SettableClock>());
        timers.push_back(
            std::make_unique<SystemTimer>(TimerOptions{.clock = *clocks[i], .executor = pool}));
        timers[i]->newTimeout(
            [&, i] {
                isBusy = true;
                gate.wait();
                order.push_back(i);
            },
            1ms);
        clocks[i]->add(1ms);
        waitUntil([&] { return isBusy && pool.queued() == i; });
        expected.push_back(i);
    }
    gate.open();
    for (auto const& timer : timers) timer->drain();
    EXPECT_EQ(order, expected);
}

TEST(TaskPool, ServesManyTimersAndATinyQueue) {
    constexpr std::size_t kTasks = 500;
    TaskPool pool{{.threads = 2, .queueCapacity = 1}};
    std::atomic<std::size_t> runs{0};
    std::vector<std::unique_ptr<SystemTimer>> timers;
    for (int i = 0; i < 4; ++i)
        timers.push_back(std::make_unique<SystemTimer>(TimerOptions{.executor = pool}));
    for (std::size_t i = 0; i < kTasks; ++i)
        for (auto const& timer : timers) timer->newTimeout([&] { ++runs; }, 1ms);
    for (auto const& timer : timers) timer->drain();
    EXPECT_EQ(runs, 4 * kTasks);
}

TEST(TaskPool, OutlivesTasksThatThrow) {
    FailureLog failures;
    ManualClock clock;
    TaskPool pool{{.threads = 1}};
    SystemTimer timer{{.clock = clock, .executor = pool, .errorHandler = failures.handler()}};
    bool ran = false;
    timer.newTimeout([] { throw std::runtime_error{"a task's"}; }, 1ms);
    timer.newTimeout([&] { ran = true; }, 2ms);
    clock.advance(5ms);
    EXPECT_TRUE(ran);
    ASSERT_EQ(failures.count(), 1U);
    EXPECT_EQ(failures.entries()[0].kind, TaskFailure::Kind::threw);
}

// Ending from inside.

/// What a program may hold in one object, which its last user destroys: a task, perhaps.
struct Service {
    Service(std::size_t threads, Clock& clock)
        : pool{{.threads = threads, .name = "ending-pool"}},
          timer{{.clock = clock, .executor = pool}} {}

    TaskPool pool;
    SystemTimer timer;
};

TEST(TaskPool, MayBeDestroyedByOneOfItsOwnTasks) {
    for (std::size_t threads : {1U, 3U}) {
        auto const ended = std::make_shared<Latch>();
        std::atomic<int> runs{0};
        SettableClock clock;
        auto service = std::make_unique<Service>(threads, clock);
        Service& running = *service;
        running.timer.newTimeout(
            [&service, ended] {
                service.reset();
                ended->open();
            },
            1ms);
        // Some of these are queued behind it, and returned by the timer's end.
        for (int i = 0; i < 20; ++i) running.timer.newTimeout([&] { ++runs; }, 1ms);
        clock.add(1ms);
        ended->wait();
        EXPECT_EQ(service, nullptr);
        EXPECT_LE(runs, 20);
        // The threads end by themselves.
        waitUntil([] { return findThread("ending-pool") == 0; });
    }
}

// Bug pattern: it waits for its other threads, and one of those waits for it.
TEST(TaskPool, MayBeDestroyedByATaskThatAnotherOneWaitsFor) {
    test::Watchdog const watchdog{"a pool that its own task destroys"};
    struct Both {
        Latch waits, ended, over;
    };
    auto const both = std::make_shared<Both>();
    SettableClock clock;
    struct Submitting {
        void execute(Claim claim) {
            pool->execute(std::move(claim));
            ++submitted;
        }
        std::unique_ptr<TaskPool> pool;
        std::atomic<int> submitted{0};
    };
    Submitting executor{
        .pool = std::make_unique<TaskPool>(TaskPoolOptions{.threads = 2, .name = "ending-pool"})};
    SystemTimer timer{{.clock = clock, .executor = executor}};
    timer.newTimeout(
        [both] {
            both->waits.open();
            both->ended.wait();
            both->over.open();
        },
        1ms);
    timer.newTimeout(
        [both, &executor] {
            both->waits.wait();
            waitUntil([&] { return executor.submitted == 2; });
            executor.pool.reset();
            both->ended.open();
        },
        1ms);
    clock.add(1ms);
    both->over.wait();
    waitUntil([] { return findThread("ending-pool") == 0; });
}

}  // namespace
}  // namespace timingwheel
