// A deadline expires once for each time that it was set, where it was moved to last.

#include <support/AllocationCounter.h>
#include <support/AsioHandClock.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/asio/Deadline.h>

#include <gtest/gtest.h>

#if defined(TIMINGWHEEL_ASIO_STANDALONE)
#    include <asio/co_spawn.hpp>
#    include <asio/detached.hpp>
#    include <asio/use_awaitable.hpp>
#else
#    include <boost/asio/co_spawn.hpp>
#    include <boost/asio/detached.hpp>
#    include <boost/asio/use_awaitable.hpp>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Shows G30.

namespace timingwheel::test {
namespace {

/// A token that takes the executor of what it starts, as cancel_after(5s) and use_promise do.
struct TakesTheExecutor {};

}  // namespace
}  // namespace timingwheel::test

template <>
class timingwheel::asio::detail::net::async_result<timingwheel::test::TakesTheExecutor,
                                                   void(timingwheel::asio::detail::ErrorCode)> {
public:
    template <class Initiation>
    static auto initiate(Initiation&& initiation, timingwheel::test::TakesTheExecutor) {
        return timingwheel::asio::detail::net::get_associated_executor(initiation);
    }
};

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using HandDeadline = timingwheel::asio::basic_deadline<WheelsTimer<HandClock<true>>>;
using HandTime = HandClock<true>::time_point;

void elapse(net::io_context& context, std::chrono::milliseconds by) {
    HandClock<true>::time += by;
    context.restart();
    context.poll();
}

/// A deadline beside what is expected of it.
struct Watched {
    explicit Watched(net::io_context& context)
        : deadline{context.get_executor(), [this] {
                       ++runs;
                       due.reset();
                       if (again > 0ms) setTo(HandClock<true>::time + std::exchange(again, 0ms));
                   }} {}

    void setTo(HandTime time) {
        deadline.expires_at(time);
        due = time;
    }
    void wait() {
        ++waits;
        deadline.async_wait([this](auto error) {
            --waits;
            ++(error ? aborted : reached);
        });
    }

    int runs = 0;
    int reached = 0;
    int aborted = 0;
    int waits = 0;                      // which are under way
    std::chrono::milliseconds again{};  // after which the function sets it again, once
    std::optional<HandTime> due;        // when the function is to run
    HandDeadline deadline;
};

/// True if what is due by now runs once, and nothing else.
testing::AssertionResult settle(net::io_context& context,
                                std::array<std::unique_ptr<Watched>, 4> const& all) {
    struct {
        int runs;
        bool isDue;
    } before[4];
    for (std::size_t i = 0; i < all.size(); ++i)
        before[i] = {all[i]->runs, all[i]->due && *all[i]->due <= HandClock<true>::time};
    elapse(context, 0ms);
    for (std::size_t i = 0; i < all.size(); ++i) {
        Watched const& each = *all[i];
        int const expected = before[i].runs + (before[i].isDue ? 1 : 0);
        if (each.runs != expected)
            return testing::AssertionFailure() << each.runs << " runs, not " << expected;
        if (each.deadline.expiry() <= HandClock<true>::time && each.waits > 0)
            return testing::AssertionFailure() << each.waits << " are not told";
    }
    return testing::AssertionSuccess();
}

void expectWhatIsDue(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    auto const below = [&](std::uint64_t n) { return random() % n; };
    auto const anyDelay = [&] {
        return std::chrono::milliseconds{below(std::uint64_t{1} << below(14))};
    };
    net::io_context context;
    std::array<std::unique_ptr<Watched>, 4> all;
    for (auto& each : all) each = std::make_unique<Watched>(context);
    for (int step = 0; step < 100; ++step) {
        Watched& one = *all[below(all.size())];
        switch (below(8)) {
            case 0:
            case 1:
            case 2:
                one.setTo(HandClock<true>::time + anyDelay() - 2ms);
                break;
            case 3:
                one.again = 1ms + anyDelay();
                break;
            case 4:
                one.wait();
                break;
            case 5: {
                int const waits = one.waits;
                int const aborted = one.aborted;
                ASSERT_EQ(one.deadline.cancel(),
                          static_cast<std::size_t>(waits) + (one.due ? 1 : 0));
                one.due.reset();
                ASSERT_TRUE(settle(context, all));
                ASSERT_EQ(one.aborted, aborted + waits);
                break;
            }
            case 6: {
                one.deadline = HandDeadline{context.get_executor()};  // the old one is destroyed
                one.due.reset();
                ASSERT_TRUE(settle(context, all));
                for (auto& each : all)
                    if (each.get() == &one) each = std::make_unique<Watched>(context);
                break;
            }
            default:
                HandClock<true>::time += anyDelay();
                ASSERT_TRUE(settle(context, all));
        }
    }
}

TEST(DeadlineTest, ExpiresWhereItWasMovedToLast) {
    std::uint64_t const first = seedOr(1);
    std::uint64_t const courses = rounds(400, 10'000);
    for (std::uint64_t seed = first; seed < first + courses; ++seed) {
        expectWhatIsDue(seed);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
}

TEST(DeadlineTest, IsPushedBackWithoutAHandlerOrAnAllocation) {
    net::io_context context;
    int runs = 0;
    HandDeadline idle{context.get_executor(), [&] { ++runs; }};
    idle.expires_after(60s);
    std::size_t handlers = 0;
    for (int packet = 0; packet < 6'000; ++packet) {
        {
            AllocationCounter counter;
            idle.expires_after(60s);
            ASSERT_EQ(counter.allocations(), 0U);
        }
        HandClock<true>::time += 100ms;
        context.restart();
        handlers += context.poll();
    }
    EXPECT_EQ(runs, 0);
    EXPECT_LE(handlers, 10U) << "it waits again once for each 60 s, of which there were ten";
    elapse(context, 60s);
    EXPECT_EQ(runs, 1);
}

TEST(DeadlineTest, MayBeDestroyedByItsFunction) {
    net::io_context context;
    auto const capture = std::make_shared<int>();
    auto owner = std::make_shared<std::optional<HandDeadline>>();
    owner->emplace(context.get_executor(), [capture, &owner] { owner.reset(); });
    (*owner)->expires_after(5ms);
    elapse(context, 5ms);
    EXPECT_EQ(owner, nullptr);
    EXPECT_EQ(capture.use_count(), 1);
}

TEST(DeadlineTest, OfAnEndedContextGivesItsCapturesBack) {
    auto const capture = std::make_shared<int>();
    {
        net::io_context context;
        HandDeadline deadline{context.get_executor(), [capture] {}};
        deadline.expires_after(5ms);
        deadline.async_wait([capture](auto) {});
    }
    EXPECT_EQ(capture.use_count(), 1);
}

// Bug pattern: of two that wait on, each thinks that the other's wait is still under way.
TEST(DeadlineTest, LetsSeveralWaitOnWithoutTurningInCircles) {
    net::io_context context;
    HandDeadline deadline{context.get_executor()};
    int reached = 0;
    for (int i = 0; i < 3; ++i) deadline.async_wait([&](auto error) { reached += error ? 0 : 1; });
    deadline.expires_after(10ms);
    context.poll();
    HandClock<true>::time += 5ms;
    deadline.expires_after(10ms);
    HandClock<true>::time += 5ms;
    context.restart();
    int handlers = 0;
    while (handlers < 100 && context.poll_one() > 0) ++handlers;
    EXPECT_LT(handlers, 10) << "each waits on once";
    EXPECT_EQ(reached, 0);
    elapse(context, 5ms);
    EXPECT_EQ(reached, 3);
}

// Bug pattern: the first handler sets the deadline anew, and the other waits go on.
TEST(DeadlineTest, IsReachedForAllWaitsThoughTheirHandlersSetItAnew) {
    net::io_context context;
    int runs = 0;
    int reached = 0;
    std::optional<HandDeadline> deadline;
    deadline.emplace(context.get_executor(), [&] {
        ++runs;
        deadline->expires_after(10ms);
    });
    deadline->expires_after(10ms);
    for (int i = 0; i < 3; ++i) {
        deadline->async_wait([&](auto error) {
            reached += error ? 0 : 1;
            deadline->expires_after(10ms);
        });
    }
    elapse(context, 10ms);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(reached, 3);
    elapse(context, 10ms);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(reached, 3);
}

// Asio's own guard of work does not compile for such a strand.
TEST(DeadlineTest, TakesAHandlerOnAStrandOfAnyExecutor) {
    net::io_context context;
    net::any_io_executor const any = context.get_executor();
    HandDeadline deadline{any};
    int reached = 0;
    deadline.async_wait(net::bind_executor(net::make_strand(any), [&](auto error) {
        reached += error ? 0 : 1;
        return reached;
    }));
    deadline.expires_after(10ms);
    elapse(context, 9ms);
    EXPECT_FALSE(context.stopped());
    elapse(context, 1ms);
    EXPECT_EQ(reached, 1);
}

TEST(DeadlineTest, SaturatesAndTakesWhatIsOver) {
    net::io_context context;
    int runs = 0;
    HandDeadline deadline{context.get_executor(), [&] { ++runs; }};
    EXPECT_EQ(deadline.expiry(), HandTime::max());
    deadline.expires_after(HandClock<true>::duration::max());
    EXPECT_EQ(deadline.expiry(), HandTime::max());
    elapse(context, 1h);
    EXPECT_EQ(runs, 0);
    deadline.expires_after(-1s);
    elapse(context, 0ms);
    EXPECT_EQ(runs, 1);
    deadline.expires_at(HandTime::min());
    elapse(context, 0ms);
    EXPECT_EQ(runs, 2);
}

// Bug pattern: the time that is left until the end of a clock, of one that counts up to its epoch.
TEST(DeadlineTest, TakesAnyDelayBeforeTheEpoch) {
    net::io_context context;
    int runs = 0;
    HandDeadline deadline{context.get_executor(), [&] { ++runs; }};
    HandTime const before = std::exchange(HandClock<true>::time, HandTime{-24h * 365 * 200});
    deadline.expires_after(5ms);
    EXPECT_EQ(deadline.expiry(), HandClock<true>::time + 5ms);
    elapse(context, 5ms);
    EXPECT_EQ(runs, 1);
    deadline.expires_after(HandClock<true>::duration::min());
    EXPECT_EQ(deadline.expiry(), HandTime::min());
    elapse(context, 0ms);
    EXPECT_EQ(runs, 2);
    HandClock<true>::time = before;
}

// Bug pattern: what a wait does on the way, on the executor of its handler.
TEST(DeadlineTest, UsesAHandlersExecutorForTheHandlerAlone) {
    net::io_context context;
    net::io_context others;
    HandDeadline deadline{context.get_executor()};
    int reached = 0;
    deadline.async_wait(
        net::bind_executor(others.get_executor(), [&](auto error) { reached += error ? 0 : 1; }));
    deadline.expires_after(10ms);
    context.poll();
    HandClock<true>::time += 5ms;
    deadline.expires_after(10ms);
    elapse(context, 5ms);
    EXPECT_EQ(others.poll(), 0U) << "it waits on";
    EXPECT_FALSE(others.stopped()) << "the wait is work there too";
    elapse(context, 5ms);
    EXPECT_EQ(reached, 0);
    EXPECT_EQ(others.poll(), 1U);
    EXPECT_EQ(reached, 1);
    EXPECT_TRUE(others.stopped());
}

// Bug pattern: an operation that is a lambda has none, so some tokens do not compile.
TEST(DeadlineTest, TellsATokenTheExecutorOfItsWait) {
    net::io_context context;
    HandDeadline deadline{context.get_executor()};
    using Executor = HandDeadline::executor_type;
    auto const found = deadline.async_wait(TakesTheExecutor{});
    static_assert(std::is_same_v<decltype(found), Executor const>);
    EXPECT_EQ(Executor{found}, deadline.get_executor());
}

#if TIMINGWHEEL_ASIO_VERSION >= 102000
TEST(DeadlineTest, EndsOneWaitByItsSlot) {
    net::io_context context;
    HandDeadline deadline{context.get_executor()};
    net::cancellation_signal signal;
    int first = 0;
    int second = 0;
    deadline.async_wait(net::bind_cancellation_slot(signal.slot(), [&](auto error) {
        first = error == net::error::operation_aborted ? 1 : 2;
    }));
    deadline.async_wait([&](auto error) { second = error ? 1 : 2; });
    deadline.expires_after(10ms);
    signal.emit(net::cancellation_type::all);
    elapse(context, 1ms);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 0);
    elapse(context, 9ms);
    EXPECT_EQ(second, 2);
}
#endif

#if defined(BOOST_ASIO_HAS_CO_AWAIT) || defined(ASIO_HAS_CO_AWAIT)
TEST(DeadlineTest, CanBeAwaited) {
    net::io_context context;
    HandDeadline deadline{context.get_executor()};
    bool isReached = false;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            co_await deadline.async_wait(net::use_awaitable);
            isReached = true;
        },
        net::detached);
    deadline.expires_after(10ms);
    context.poll();
    deadline.expires_after(20ms);
    elapse(context, 10ms);
    EXPECT_FALSE(isReached);
    elapse(context, 10ms);
    EXPECT_TRUE(isReached);
}
#endif

// G1, G4: on strands, by several threads, and the real clock. Those who wait are on other strands.
class StrandedSession {
public:
    using Time = timingwheel::asio::steady_timer::time_point;

    StrandedSession(net::io_context& context, int packets)
        : strand_{context.get_executor()}, others_{context.get_executor()}, left_{packets} {
        net::post(strand_, [this] { begin(); });
    }

    int expired = 0;
    bool isEarly = false;
    int waits = 0;
    std::atomic<int> ended{0};

private:
    static Time now() { return timingwheel::asio::steady_timer::clock_type::now(); }

    void begin() {
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        ++waits;
        idle_.async_wait(net::bind_cancellation_slot(
            signal_.slot(), net::bind_executor(others_, [this](auto) { ++ended; })));
        net::post(others_, [this] { signal_.emit(net::cancellation_type::all); });
#endif
        packet();
    }
    void packet() {
        due_ = now() + 3ms;
        idle_.expires_at(due_);
        ++waits;
        idle_.async_wait(net::bind_executor(others_, [this](auto) { ++ended; }));
        if (--left_ > 0) net::post(strand_, [this] { packet(); });
    }

    net::strand<net::io_context::executor_type> strand_;
    net::strand<net::io_context::executor_type> others_;
    int left_;
    Time due_;
#if TIMINGWHEEL_ASIO_VERSION >= 102000
    net::cancellation_signal signal_;
#endif
    timingwheel::asio::Deadline idle_{strand_, [this] {
                                          ++expired;
                                          isEarly |= now() < due_;
                                      }};
};

TEST(DeadlineTest, ExpiresOnceOnItsStrand) {
    net::io_context context;
    std::vector<std::unique_ptr<StrandedSession>> sessions;
    for (int i = 0; i < 50; ++i)
        sessions.push_back(std::make_unique<StrandedSession>(context, 200));
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { context.run(); });
    for (std::thread& thread : threads) thread.join();
    for (auto const& session : sessions) {
        EXPECT_GE(session->expired, 1) << "at least after the last packet";
        EXPECT_FALSE(session->isEarly);
        EXPECT_EQ(session->ended, session->waits);
    }
}

}  // namespace
}  // namespace timingwheel::test
