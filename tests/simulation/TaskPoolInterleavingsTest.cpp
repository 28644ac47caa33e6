// A pool of one or two threads that fall asleep, and whoever brings them tasks or ends them.

#include "Trial.h"

#include <support/Executors.h>
#include <timingwheel/TaskPool.h>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

// Shows G3.

namespace timingwheel::test::simulation {
namespace {

/// Waits until so many are here.
class Meeting {
public:
    explicit Meeting(int guests) noexcept : missing_{guests} {}
    void come() {
        std::unique_lock lock{mutex_};
        if (--missing_ == 0) met_.notify_all();
        met_.wait(lock, [this] { return missing_ <= 0; });
    }

private:
    std::mutex mutex_;
    std::condition_variable met_;
    int missing_;
};

/// Claims on the runs of one task, which a timer has given away and waits for.
class Claims {
public:
    Claims(std::size_t count, std::function<void()> const& task) {
        TimerOptions options = smallOptions<SystemTimer>();
        options.executor = held_;
        timer_ = std::make_unique<SystemTimer>(options);
        for (std::size_t i = 0; i < count; ++i) timer_->newTimeout(task, milliseconds{0});
        held_.waitFor(count);
    }
    Claim take() { return held_.take(); }

private:
    HoldingExecutor held_;
    std::unique_ptr<SystemTimer> timer_;
};

TEST(TaskPoolInterleavings, AThreadThatFallsAsleepSeesATask) {
    expectAll("G3", "interleavings of a pool's thread that falls asleep with a task lost", [] {
        Meeting run{2};
        Claims claims{1, [&run] { run.come(); }};
        TaskPool pool{{.threads = 1}};
        pool.execute(claims.take());
        run.come();
    });
}

// Each waits for the other: one wake-up too few, and they wait for ever.
TEST(TaskPoolInterleavings, TwoTasksWakeTwoThreads) {
    expectAll("G3", "interleavings of two tasks and two threads of a pool with one not woken", [] {
        Meeting run{3};
        Claims claims{2, [&run] { run.come(); }};
        TaskPool pool{{.threads = 2}};
        std::this_thread::sleep_for(milliseconds{1});  // both have fallen asleep
        pool.execute(claims.take());
        pool.execute(claims.take());
        run.come();
    });
}

TEST(TaskPoolInterleavings, TheSecondOfTwoCallersFindsRoomOrRunsItsTask) {
    expectAll("G3", "interleavings of two callers and a full pool with a task lost", [] {
        std::atomic<int> runs{0};
        Claims claims{2, [&runs] { ++runs; }};
        {
            TaskPool pool{{.threads = 1, .queueCapacity = 1}};
            std::thread other{[&, claim = claims.take()]() mutable { pool.execute(claim); }};
            pool.execute(claims.take());
            require(pool.queued() <= 1, "more tasks wait than there is room for");
            other.join();
        }
        require(runs == 2, "a task was lost");
    });
}

TEST(TaskPoolInterleavings, TheDestructorWaitsForWhatIsQueued) {
    expectAll("G3", "interleavings of a pool's end and its tasks with one lost", [] {
        std::atomic<int> runs{0};
        Claims claims{2, [&runs] { ++runs; }};
        {
            TaskPool pool{{.threads = 2}};
            pool.execute(claims.take());
            pool.execute(claims.take());
        }
        require(runs == 2, "the pool has gone before its task ran");
    });
}

// G8
TEST(TaskPoolInterleavings, APoolMayEndInOneOfItsOwnTasks) {
    expectAll("G8", "interleavings of a task that destroys its pool and another one", [] {
        Meeting queued{2};
        Meeting over{3};
        std::unique_ptr<TaskPool> pool;
        std::atomic<bool> isFirst{true};
        Claims claims{2, [&] {
                          if (isFirst.exchange(false)) {
                              queued.come();
                              pool.reset();
                          }
                          over.come();
                      }};
        pool = std::make_unique<TaskPool>(TaskPoolOptions{.threads = 2});
        pool->execute(claims.take());
        pool->execute(claims.take());
        queued.come();
        over.come();
        require(pool == nullptr, "the pool is still there");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
