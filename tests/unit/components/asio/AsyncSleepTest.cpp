// A sleep on a timer, as one of Asio's operations.

#include <support/AsioHandClock.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/async_sleep.h>

#include <gtest/gtest.h>

#if defined(TIMINGWHEEL_ASIO_STANDALONE)
#    include <asio/co_spawn.hpp>
#    include <asio/detached.hpp>
#    include <asio/use_awaitable.hpp>
#    include <asio/use_future.hpp>
#else
#    include <boost/asio/co_spawn.hpp>
#    include <boost/asio/detached.hpp>
#    include <boost/asio/use_awaitable.hpp>
#    include <boost/asio/use_future.hpp>
#endif
#if TIMINGWHEEL_ASIO_VERSION >= 102200
#    if defined(TIMINGWHEEL_ASIO_STANDALONE)
#        include <asio/experimental/awaitable_operators.hpp>
#    else
#        include <boost/asio/experimental/awaitable_operators.hpp>
#    endif
#endif
#if TIMINGWHEEL_ASIO_VERSION >= 102400
#    if defined(TIMINGWHEEL_ASIO_STANDALONE)
#        include <asio/deferred.hpp>
#    else
#        include <boost/asio/deferred.hpp>
#    endif
#endif

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

// Shows G29, G30.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using timingwheel::asio::async_sleep;
using Error = timingwheel::asio::detail::ErrorCode;

class AsyncSleep : public testing::Test {
protected:
    /// A handler that runs in the context.
    auto handler() {
        return net::bind_executor(context.get_executor(), [this](Error error) {
            EXPECT_FALSE(result) << "it is called once";
            result = error;
        });
    }
    void elapse(std::chrono::milliseconds by) { clock.advance(by); }
    std::size_t poll() {
        context.restart();
        return context.poll();
    }

    net::io_context context;
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    std::optional<Error> result;
};

// G1
TEST_F(AsyncSleep, EndsAtItsTimeAndRunsOnItsExecutor) {
    async_sleep(timer, 10ms, handler());
    elapse(9ms);
    EXPECT_EQ(poll(), 0U);
    EXPECT_FALSE(context.stopped()) << "it is work there";
    elapse(1ms);
    EXPECT_FALSE(result) << "the context has not run yet";
    EXPECT_EQ(poll(), 1U);
    EXPECT_EQ(result, Error{});
    EXPECT_TRUE(context.stopped());
}

TEST_F(AsyncSleep, TakesATimePointAndAnyDelay) {
    int ended = 0;
    auto const count = [&](Error error) { ended += error ? 100 : 1; };
    async_sleep(timer, clock.now() + 10ms, count);
    async_sleep(timer, -1h, count);
    async_sleep(timer, 0ms, count);
    async_sleep(timer, (Duration::max)(), count);
    EXPECT_EQ(ended, 0) << "none ends inside the call";
    elapse(0ms);
    EXPECT_EQ(ended, 2);
    elapse(10ms);
    EXPECT_EQ(ended, 3) << "a handler without an executor runs as a task of the timer";
    elapse(1h);
    EXPECT_EQ(ended, 3);
    timer.stop();
    EXPECT_EQ(ended, 103) << "or inside stop()";
}

// Asio's own guard of work does not compile for such a strand.
TEST_F(AsyncSleep, TakesAHandlerOnAStrandOfAnyExecutor) {
    net::any_io_executor const any = context.get_executor();
    int ended = 0;
    async_sleep(timer, 10ms,
                net::bind_executor(net::make_strand(any), [&](Error) { return ++ended; }));
    elapse(10ms);
    poll();
    EXPECT_EQ(ended, 1);
}

/// Calls at once: it cannot post, as those of any_completion_handler cannot.
struct DispatchingExecutor {
    net::execution_context& query(net::execution::context_t) const noexcept { return *context; }
    template <class Function>
    void execute(Function&& function) const {
        std::forward<Function>(function)();
    }
    friend bool operator==(DispatchingExecutor, DispatchingExecutor) = default;
    friend bool operator!=(DispatchingExecutor, DispatchingExecutor) = default;

    net::execution_context* context;
};

TEST_F(AsyncSleep, TakesAnExecutorThatCannotPost) {
    RecordProperty("keeps", "Asio's system context and its threads");
    int ended = 0;
    async_sleep(timer, 10ms, net::bind_executor(DispatchingExecutor{&context}, [&](Error error) {
                    ended += error ? 100 : 1;
                }));
    elapse(10ms);
    EXPECT_EQ(ended, 1);
    std::promise<Error> given;
    async_sleep(timer, 10ms, net::bind_executor(DispatchingExecutor{&context}, [&](Error error) {
                    given.set_value(error);
                }));
    timer.stop();
    EXPECT_EQ(given.get_future().get(), Error{net::error::operation_aborted});
}

TEST_F(AsyncSleep, EndsWithItsTimer) {
    async_sleep(timer, 10ms, handler());
    EXPECT_EQ(timer.cancelAll(), 1U);
    EXPECT_FALSE(result) << "it does not run inside the call";
    poll();
    EXPECT_EQ(std::exchange(result, {}), Error{net::error::operation_aborted});

    {
        SystemTimer other;
        async_sleep(other, kLong, handler());
    }
    poll();
    EXPECT_EQ(std::exchange(result, {}), Error{net::error::operation_aborted});

    async_sleep(timer, 10ms, handler());
    EXPECT_EQ(timer.stop().hooks(), 1U);
    poll();
    EXPECT_EQ(std::exchange(result, {}), Error{net::error::operation_aborted});
    async_sleep(timer, 10ms, handler());
    EXPECT_FALSE(result);
    poll();
    EXPECT_EQ(result, Error{net::error::operation_aborted}) << "it was stopped before";
}

TEST_F(AsyncSleep, SaysThatTheTimerIsAtItsLimit) {
    ManualTimer full{{.maxPendingTimeouts = 1}};
    Timeout const pending = full.newTimeout([] {}, kLong);
    async_sleep(full, 10ms, handler());
    poll();
    EXPECT_EQ(result, Error{net::error::try_again});
}

// G17. Bug pattern: what a factory throws is taken for what a stopped timer throws.
TEST_F(AsyncSleep, SaysThatTheThreadCannotBeStarted) {
    SystemTimer threadless{{.threadFactory = [](std::function<void()>) { return std::thread{}; }}};
    async_sleep(threadless, 10ms, handler());
    poll();
    EXPECT_EQ(std::exchange(result, {}), Error{net::error::try_again});

    threadless.stop();
    async_sleep(threadless, 10ms, handler());
    poll();
    EXPECT_EQ(result, Error{net::error::operation_aborted}) << "the start is refused";
}

// G6. Bug pattern: the operation holds the handler until its slot is destroyed.
TEST_F(AsyncSleep, DestroysItsHandlerWithTheContext) {
    auto const living = std::make_shared<int>();
    std::optional<net::io_context> first{std::in_place};
    std::optional<ManualTimer> last{std::in_place};
    async_sleep(*last, kLong, net::bind_executor(first->get_executor(), [living](Error) {}));
    EXPECT_EQ(living.use_count(), 2);
    last.reset();
    first.reset();
    EXPECT_EQ(living.use_count(), 1);
}

/// Counts what is allocated with it.
template <class T>
struct BlockAllocator {
    using value_type = T;
    explicit BlockAllocator(int& count) : living{&count} {}
    template <class Other>
    BlockAllocator(BlockAllocator<Other> const& other) : living{other.living} {}
    T* allocate(std::size_t n) {
        ++*living;
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* p, std::size_t n) {
        --*living;
        std::allocator<T>{}.deallocate(p, n);
    }
    friend bool operator==(BlockAllocator const&, BlockAllocator const&) = default;

    int* living;
};
struct AllocatingHandler {
    using allocator_type = BlockAllocator<void>;
    allocator_type get_allocator() const noexcept { return allocator_type{*blocks}; }
    void operator()(Error) const { *blocksWhenCalled = *blocks; }

    int* blocks;
    int* blocksWhenCalled;
};

TEST_F(AsyncSleep, TakesItsMemoryFromTheHandlersAllocator) {
    int blocks = 0;
    int blocksWhenCalled = -1;
    async_sleep(
        timer, 10ms,
        net::bind_executor(context.get_executor(), AllocatingHandler{&blocks, &blocksWhenCalled}));
    EXPECT_EQ(blocks, 1);
    elapse(10ms);
    poll();
    EXPECT_EQ(blocksWhenCalled, 0) << "the handler may use it again";
    EXPECT_EQ(blocks, 0);
}

TEST_F(AsyncSleep, MayBeAFuture) {
    auto sleep = async_sleep(timer, 10ms, net::use_future);
    elapse(10ms);
    EXPECT_NO_THROW(sleep.get());
}

#if TIMINGWHEEL_ASIO_VERSION >= 102400
TEST_F(AsyncSleep, MayBeDeferred) {
    auto const sleep = async_sleep(timer, 10ms, net::deferred);
    elapse(10ms);
    sleep(handler());
    elapse(9ms);
    EXPECT_EQ(poll(), 0U) << "its delay counts from its start";
    elapse(1ms);
    poll();
    EXPECT_EQ(result, Error{});
}
#endif

#if TIMINGWHEEL_ASIO_VERSION >= 102000
TEST_F(AsyncSleep, EndsByItsSlotBeforeItsTime) {
    for (auto const type : {net::cancellation_type::terminal, net::cancellation_type::partial,
                            net::cancellation_type::total}) {
        net::cancellation_signal signal;
        async_sleep(timer, 10ms, net::bind_cancellation_slot(signal.slot(), handler()));
        signal.emit(net::cancellation_type::none);
        EXPECT_EQ(timer.pendingTimeouts(), 1U);
        signal.emit(type);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
        EXPECT_FALSE(result) << "it does not run inside the emission";
        signal.emit(type);
        EXPECT_EQ(poll(), 1U);
        EXPECT_EQ(std::exchange(result, {}), Error{net::error::operation_aborted});
        signal.emit(type);
        EXPECT_EQ(poll(), 0U);
    }
}

TEST_F(AsyncSleep, KeepsItsResultIfItsSlotIsEmittedLater) {
    net::cancellation_signal signal;
    async_sleep(timer, 10ms, net::bind_cancellation_slot(signal.slot(), handler()));
    elapse(10ms);
    signal.emit(net::cancellation_type::all);
    poll();
    EXPECT_EQ(result, Error{});
}

// Bug pattern: what the slot refers to is gone.
TEST_F(AsyncSleep, LeavesASlotThatOutlivesTimerAndContext) {
    net::cancellation_signal signal;
    {
        net::io_context other;
        ManualTimer brief;
        async_sleep(brief, 10ms,
                    net::bind_cancellation_slot(
                        signal.slot(), net::bind_executor(other.get_executor(), [](Error) {})));
    }
    signal.emit(net::cancellation_type::all);
}
#endif

#if defined(BOOST_ASIO_HAS_CO_AWAIT) || defined(ASIO_HAS_CO_AWAIT)
TEST_F(AsyncSleep, CanBeAwaited) {
    int steps = 0;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            co_await async_sleep(timer, 10ms, net::use_awaitable);
            ++steps;
            try {
                co_await async_sleep(timer, kLong, net::use_awaitable);
            } catch (std::exception const&) {
                ++steps;
            }
        },
        net::detached);
    poll();
    elapse(9ms);
    poll();
    EXPECT_EQ(steps, 0);
    elapse(1ms);
    poll();
    EXPECT_EQ(steps, 1);
    timer.stop();
    poll();
    EXPECT_EQ(steps, 2);
    EXPECT_TRUE(context.stopped());
}

#    if TIMINGWHEEL_ASIO_VERSION >= 102200
TEST_F(AsyncSleep, EndsWhenAnotherCoroutineWasFirst) {
    using namespace net::experimental::awaitable_operators;
    std::size_t first = 9;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            auto const which = co_await (async_sleep(timer, kLong, net::use_awaitable) ||
                                         async_sleep(timer, 10ms, net::use_awaitable));
            first = which.index();
        },
        net::detached);
    poll();
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    elapse(10ms);
    poll();
    EXPECT_EQ(first, 1U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_TRUE(context.stopped());
}
#    endif
#endif

// G1, G29. By real threads: expiry, slot and the timer's end race for each of the sleeps.
class RacingSleep {
public:
    RacingSleep(net::io_context& context, SystemTimer& timer, int times)
        : strand_{context.get_executor()}, timer_{timer}, left_{times} {
        net::post(strand_, [this] { sleep(); });
    }
    int ended = 0;
    bool isEarly = false;

private:
    void sleep() {
        auto const due = std::chrono::steady_clock::now() + 2ms;
        auto end = net::bind_executor(strand_, [this, due](Error error) {
            ++ended;
            isEarly |= !error && std::chrono::steady_clock::now() < due;
            if (--left_ > 0) sleep();
        });
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        async_sleep(timer_, due, net::bind_cancellation_slot(signal_.slot(), std::move(end)));
        auto* const stopper = &stoppers_.emplace_back(strand_);
        stopper->expires_at(due + 500us);
        stopper->async_wait([this](Error) { signal_.emit(net::cancellation_type::all); });
#else
        async_sleep(timer_, due, std::move(end));
#endif
    }

    net::strand<net::io_context::executor_type> strand_;
    SystemTimer& timer_;
    int left_;
#if TIMINGWHEEL_ASIO_VERSION >= 102000
    net::cancellation_signal signal_;
    std::deque<net::basic_waitable_timer<std::chrono::steady_clock>> stoppers_;
#endif
};

TEST(AsyncSleepRace, EndsEachOnce) {
    net::io_context context;
    SystemTimer timer{{.tick = 1ms}};
    std::deque<RacingSleep> sleeps;
    int const times = static_cast<int>(rounds(20, 200));
    for (int i = 0; i < 50; ++i) sleeps.emplace_back(context, timer, times);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { context.run(); });
    std::this_thread::sleep_for(20ms);
    timer.cancelAll();
    std::this_thread::sleep_for(10ms);
    timer.stop();
    for (std::thread& thread : threads) thread.join();
    for (RacingSleep const& sleep : sleeps) {
        EXPECT_EQ(sleep.ended, times);
        EXPECT_FALSE(sleep.isEarly);
    }
}

#if TIMINGWHEEL_ASIO_VERSION >= 102000
// As in a parallel group, whose operations have slots but no executor.
TEST(AsyncSleepRace, EndsOnceOnTheTimersThreadWhileItsSlotIsEmitted) {
    testing::Test::RecordProperty("keeps", "Asio's system context and its threads");
    SystemTimer timer{{.tick = 1ms}};
    for (std::uint64_t i = rounds(50, 1'000); i > 0; --i) {
        net::cancellation_signal signal;
        std::atomic<int> ended{0};
        auto const due = std::chrono::steady_clock::now() + 2ms;
        async_sleep(timer, due,
                    net::bind_cancellation_slot(signal.slot(), [&](Error) { ++ended; }));
        std::this_thread::sleep_until(due + i % 10 * 100us);
        signal.emit(net::cancellation_type::all);
        while (ended == 0) std::this_thread::yield();
        EXPECT_EQ(ended, 1);
    }
}
#endif

}  // namespace
}  // namespace timingwheel::test
