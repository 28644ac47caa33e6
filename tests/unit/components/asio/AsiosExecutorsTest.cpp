// Each of Asio's executors and contexts is a timer's executor as it is, in any version of Asio: one
// of them shows nobody their execute().

#include <support/AsioHandClock.h>
#include <support/TestTimers.h>
#include <timingwheel/Executor.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#if defined(TIMINGWHEEL_ASIO_STANDALONE)
#    include <asio/any_io_executor.hpp>
#    include <asio/system_executor.hpp>
#    include <asio/thread_pool.hpp>
#else
#    include <boost/asio/any_io_executor.hpp>
#    include <boost/asio/system_executor.hpp>
#    include <boost/asio/thread_pool.hpp>
#endif

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <type_traits>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// Has a timer with that executor run tasks. All of them run on `expected`, if it is a thread's.
template <class E>
void expectThatTasksRunOn(E& executor, std::thread::id expected = {}) {
    constexpr int kTasks = 20;
    std::atomic<int> ran{0};
    std::atomic<int> astray{0};
    FailureLog failures;
    {
        SystemTimer timer{{.executor = executor, .errorHandler = failures.handler()}};
        for (int i = 0; i < kTasks; ++i) {
            timer.newTimeout(
                [&] {
                    ++ran;
                    if (expected != std::thread::id{} && std::this_thread::get_id() != expected)
                        ++astray;
                },
                std::chrono::milliseconds{i % 3});
        }
        timer.drain();
    }
    EXPECT_EQ(ran, kTasks);
    EXPECT_EQ(astray, 0);
    EXPECT_EQ(failures.count(), 0U);
}

/// A pool of one thread.
class AsiosExecutors : public testing::Test {
protected:
    void SetUp() override {
        std::promise<std::thread::id> id;
        net::post(pool_, [&] { id.set_value(std::this_thread::get_id()); });
        thread_ = id.get_future().get();
    }
    void TearDown() override { pool_.join(); }

    net::thread_pool pool_{1};
    std::thread::id thread_;
};

TEST_F(AsiosExecutors, APool) { expectThatTasksRunOn(pool_, thread_); }

TEST_F(AsiosExecutors, ThatOfAPool) {
    auto executor = pool_.get_executor();
    expectThatTasksRunOn(executor, thread_);
    auto const unchanging = executor;
    expectThatTasksRunOn(unchanging, thread_);
}

TEST_F(AsiosExecutors, AStrand) {
    net::strand<net::thread_pool::executor_type> strand{pool_.get_executor()};
    expectThatTasksRunOn(strand, thread_);
}

TEST_F(AsiosExecutors, OfAnyType) {
    net::any_io_executor any{pool_.get_executor()};
    expectThatTasksRunOn(any, thread_);
    net::strand<net::any_io_executor> strand{any};
    expectThatTasksRunOn(strand, thread_);
}

TEST_F(AsiosExecutors, AContext) {
    net::io_context context;
    auto work = net::make_work_guard(context);
    std::thread thread{[&] { context.run(); }};
    expectThatTasksRunOn(context, thread.get_id());
    auto executor = context.get_executor();
    expectThatTasksRunOn(executor, thread.get_id());
    net::strand<net::io_context::executor_type> strand{executor};
    expectThatTasksRunOn(strand, thread.get_id());
    work.reset();
    thread.join();
}

TEST_F(AsiosExecutors, TheSystems) {
    RecordProperty("keeps", "Asio's system context and its threads");
    net::system_executor executor;
    expectThatTasksRunOn(executor);
    net::strand<net::system_executor> strand{executor};
    expectThatTasksRunOn(strand);
}

// What get_executor() returned is gone after the statement: it needs a variable.
static_assert(std::is_constructible_v<Executor, net::thread_pool::executor_type&>);
static_assert(!std::is_constructible_v<Executor, net::thread_pool::executor_type>);
static_assert(!std::is_constructible_v<Executor, net::any_io_executor>);
static_assert(!std::is_constructible_v<Executor, net::system_executor>);

}  // namespace
}  // namespace timingwheel::test
