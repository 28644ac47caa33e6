// Asio's own timer and the one whose waits are in a SystemTimer do the same, but for what the
// header says; and several contexts share that, each with threads of its own.

#include <support/AsioHandClock.h>
#include <support/AsioWorld.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/Deadline.h>
#include <timingwheel/asio/shared_timer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

// Shows G30.

namespace timingwheel::test {

using timingwheel::asio::shared_timer;
using timingwheel::asio::use_timer;

template <class Clock>
using HandTimer = timingwheel::asio::basic_shared_timer<Clock, NoSleep>;

/// A SystemTimer whose clock follows the hand clock.
template <>
struct KeptBy<HandTimer<HandClock<true>>> {
    static Clock::TimePoint now() {
        return Clock::TimePoint{HandClock<true>::time.time_since_epoch()};
    }

    explicit KeptBy(net::io_context& context) {
        use_timer<HandTimer<HandClock<true>>>(context, timer);
    }
    void settle() { clock.advanceTo(now()); }

    ManualClock clock{now()};
    SystemTimer timer{{.clock = clock, .shards = 2}};
};

namespace {

/// What the waits of a test end with.
struct Ends {
    auto handler() {
        return [this](auto error) { ++(error ? aborted : reached); };
    }
    int reached = 0;
    int aborted = 0;
};

TEST(SharedTimer, DoesWhatAsiosDoes) {
    using HandClock = HandClock<true>;
    std::uint64_t const first = seedOr(1);
    std::uint64_t const courses = rounds(400, 10'000);
    for (std::uint64_t seed = first; seed < first + courses; ++seed)
        ASSERT_EQ(course<HandTimer<HandClock>>(seed, false),
                  course<AsiosTimer<HandClock>>(seed, false))
            << "seed " << seed;
}

/// Timers that begin a new wait whenever one ends, on one context with some threads.
class Busy {
public:
    Busy(SystemTimer& timer, int timers, int waits) {
        use_timer(context_, timer);
        for (int i = 0; i < timers; ++i) {
            each_.push_back(std::make_unique<Each>(context_, waits));
            again(*each_.back());
        }
    }
    void run(int threads) {
        for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { context_.run(); });
    }
    void join() {
        for (std::thread& thread : threads_) thread.join();
    }
    int left() const {
        int sum = 0;
        for (auto const& each : each_) sum += each->left;
        return sum;
    }
    std::atomic<int> early{0};
    std::atomic<int> elsewhere{0};

private:
    struct Each {
        Each(net::io_context& context, int waits) : timer{context}, left{waits} {}
        shared_timer timer;
        int left;
    };

    void again(Each& each) {
        if (each.left == 0) return;
        each.timer.expires_after(std::chrono::microseconds{(each.left * 7) % 2'000});
        each.timer.async_wait([&](auto error) {
            if (error || std::chrono::steady_clock::now() < each.timer.expiry()) ++early;
            if (!context_.get_executor().running_in_this_thread()) ++elsewhere;
            --each.left;
            again(each);
        });
    }

    net::io_context context_;
    std::vector<std::unique_ptr<Each>> each_;
    std::vector<std::thread> threads_;
};

// G1, G30
TEST(SharedTimer, KeepsTheWaitsOfSeveralContextsWithThreadsOfTheirOwn) {
    SystemTimer timer;
    int const waits = static_cast<int>(rounds(100, 2'000));
    Busy first{timer, 20, waits};
    Busy second{timer, 20, waits};
    first.run(1);
    second.run(2);
    first.join();
    second.join();
    EXPECT_EQ(first.left() + second.left(), 0);
    EXPECT_EQ(first.early + second.early, 0);
    EXPECT_EQ(first.elsewhere + second.elsewhere, 0);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    figure("G30", "waits in a shared timer that were early, or not in their context",
           first.early + second.early + first.elsewhere + second.elsewhere, exactly(0));
}

// G4, G30
TEST(SharedTimer, CancelTellsTheTruthWhileTheDriverComes) {
    SystemTimer timer{{.tick = 50us}};
    net::io_context context;
    use_timer(context, timer);
    shared_timer one{context};
    std::uint64_t const races = rounds(2'000, 50'000);
    std::uint64_t cancelled = 0;
    for (std::uint64_t race = 0; race < races; ++race) {
        Ends ends;
        one.expires_after(std::chrono::microseconds{race % 150});
        one.async_wait(ends.handler());
        one.async_wait(ends.handler());
        auto const until = std::chrono::steady_clock::now() + std::chrono::microseconds{race % 170};
        while (std::chrono::steady_clock::now() < until) {
        }
        int const count = static_cast<int>(race % 2 == 0 ? one.cancel() : one.cancel_one());
        context.restart();
        context.run();
        ASSERT_EQ(ends.aborted, count);
        ASSERT_EQ(ends.reached, 2 - count);
        cancelled += count > 0 ? 1 : 0;
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    printFigure(cancelled, " of ", races, " were cancelled in time");
}

// G30. Bug pattern: the driver hands a wait to a context that is gone.
TEST(SharedTimer, LeavesAContextThatEndsWhileTheDriverComes) {
    SystemTimer timer{{.tick = 50us}};
    std::uint64_t const races = rounds(300, 5'000);
    auto const living = std::make_shared<int>();
    for (std::uint64_t race = 0; race < races; ++race) {
        net::io_context context;
        use_timer(context, timer);
        for (int i = 0; i < 50; ++i) {
            auto const one =
                std::make_shared<shared_timer>(context, std::chrono::microseconds{10 * i});
            one->async_wait([one, living](auto) {});
        }
        std::thread thread{[&] { context.run_for(std::chrono::microseconds{race % 500}); }};
        thread.join();
    }
    EXPECT_EQ(living.use_count(), 1) << "every handler was called or destroyed";
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G10, G28, G30
TEST(SharedTimer, AbortsWhatItsSystemTimerGivesUp) {
    std::optional<SystemTimer> timer{std::in_place};
    net::io_context context;
    use_timer(context, *timer);
    shared_timer one{context, kLong};
    Ends ends;
    one.async_wait(ends.handler());
    one.async_wait(ends.handler());
    EXPECT_EQ(timer->pendingTimeouts(), 1U) << "one for each timer that is waited for";
    EXPECT_EQ(timer->cancelAll(), 1U);
    EXPECT_EQ(one.cancel(), 0U);
    context.run();
    EXPECT_EQ(ends.aborted, 2);

    one.async_wait(ends.handler());
    static_cast<void>(timer->stop());
    context.restart();
    context.run();
    EXPECT_EQ(ends.aborted, 3);
    EXPECT_THROW(one.async_wait(ends.handler()), std::logic_error);
    context.restart();
    EXPECT_EQ(context.run(), 0U) << "nobody waits";

    timer.reset();
    one.cancel();
    EXPECT_EQ(ends.reached, 0);
}

// G30
TEST(SharedTimer, AbortsWhatASystemTimerThatIsDestroyedHad) {
    std::optional<SystemTimer> timer{std::in_place};
    net::io_context context;
    use_timer(context, *timer);
    shared_timer one{context, kLong};
    Ends ends;
    one.async_wait(ends.handler());
    std::thread thread{[&] { context.run(); }};
    timer.reset();
    thread.join();
    EXPECT_EQ(ends.aborted, 1);
}

TEST(SharedTimer, NeedsATimerForItsContext) {
    SystemTimer timer;
    net::io_context context;
    EXPECT_THROW(shared_timer{context}, std::logic_error);
    use_timer(context, timer);
    EXPECT_THROW(use_timer(context, timer), std::logic_error);
    Ends ends;
    shared_timer one{context, -1ms};
    one.async_wait(ends.handler());
    context.run();
    EXPECT_EQ(ends.reached, 1);
}

TEST(SharedTimer, IsRefusedAtTheLimit) {
    SystemTimer timer{{.maxPendingTimeouts = 1}};
    net::io_context context;
    use_timer(context, timer);
    Ends ends;
    shared_timer first{context, kLong};
    shared_timer second{context, kLong};
    first.async_wait(ends.handler());
    first.async_wait(ends.handler());
    EXPECT_THROW(second.async_wait(ends.handler()), RejectedExecution);
    EXPECT_EQ(second.cancel(), 0U);
    EXPECT_EQ(first.cancel(), 2U);
    second.async_wait(ends.handler());
    EXPECT_EQ(second.cancel(), 1U);
    context.run();
    EXPECT_EQ(ends.aborted, 3);
}

// Bug pattern: the target's hook belongs to another context, and its expiry is on its way.
TEST(SharedTimer, MovesItsWaitsToATimerOfAnotherContext) {
    SystemTimer timer;
    SystemTimer other;
    net::io_context contexts[2];
    use_timer(contexts[0], timer);
    use_timer(contexts[1], other);
    for (std::uint64_t i = rounds(200, 5'000); i > 0; --i) {
        Ends targets;
        Ends sources;
        shared_timer target{contexts[0], std::chrono::microseconds{i % 3'000}};
        shared_timer source{contexts[1], std::chrono::microseconds{i % 2'000}};
        target.async_wait(targets.handler());
        source.async_wait(sources.handler());
        target = std::move(source);
        for (net::io_context& each : contexts) {
            each.restart();
            each.run();
        }
        ASSERT_EQ(targets.reached + targets.aborted, 1);
        ASSERT_EQ(sources.reached, 1);
        target.async_wait(sources.handler());
        contexts[1].restart();
        contexts[1].run();
        ASSERT_EQ(sources.reached, 2) << "its time is over";
    }
}

TEST(SharedTimer, RunsHandlersInTheContextWhateverTheTimersExecutor) {
    ThreadExecutor pool;
    SystemTimer timer{{.executor = pool}};
    net::io_context context;
    use_timer(context, timer);
    shared_timer one{context, 1ms};
    std::thread::id ranOn;
    one.async_wait([&](auto error) {
        EXPECT_FALSE(error);
        ranOn = std::this_thread::get_id();
    });
    context.run();
    EXPECT_EQ(ranOn, std::this_thread::get_id());
}

// G30
TEST(SharedTimer, MayHaveADeadlineThatHearsOfTheTimersEnd) {
    using Deadline = timingwheel::asio::basic_deadline<shared_timer>;
    SystemTimer timer;
    net::io_context context;
    use_timer(context, timer);
    Ends ends;
    int runs = 0;
    Deadline deadline{context.get_executor(), [&] { ++runs; }};
    deadline.expires_after(kLong);
    deadline.async_wait(ends.handler());
    timer.cancelAll();
    context.run();
    EXPECT_EQ(ends.aborted, 1);
    EXPECT_EQ(runs, 0);

    deadline.expires_after(kLong);
    deadline.expires_after(1ms);
    context.restart();
    context.run();
    EXPECT_EQ(runs, 1);

    deadline.expires_after(kLong);
    static_cast<void>(timer.stop());
    context.restart();
    context.run();
    EXPECT_EQ(runs, 1);
    EXPECT_THROW(deadline.expires_after(kLong), std::logic_error);
}

// G30. Bug pattern: a handler sets it anew, and the next that was given up goes on, or ends that.
TEST(SharedTimer, MayHaveADeadlineThatTheFirstHandlerGivenUpSetsAnew) {
    using Deadline = timingwheel::asio::basic_deadline<shared_timer>;
    for (bool const functionIsLast : {false, true}) {
        SystemTimer timer;
        net::io_context context;
        use_timer(context, timer);
        Ends ends;
        int runs = 0;
        Deadline deadline{context.get_executor(), [&] { ++runs; }};
        if (!functionIsLast) deadline.expires_after(kLong);
        deadline.async_wait([&](auto error) {
            EXPECT_TRUE(error);
            deadline.expires_after(kLong);
            deadline.expires_after(1ms);
        });
        deadline.async_wait(ends.handler());
        if (functionIsLast) deadline.expires_at((shared_timer::time_point::max)());
        timer.cancelAll();
        context.run();
        EXPECT_EQ(ends.aborted, 1);
        EXPECT_EQ(ends.reached, 0);
        EXPECT_EQ(runs, 1);
    }
}

// G30. Bug pattern: a wait that could not go on is gone, and the deadline believes that it waits.
TEST(SharedTimer, MayHaveADeadlineThatIsSetAnewAfterAWaitWasRefused) {
    using Deadline = timingwheel::asio::basic_deadline<shared_timer>;
    for (bool const anotherWaits : {false, true}) {
        SystemTimer timer{{.maxPendingTimeouts = 1}};
        net::io_context context;
        use_timer(context, timer);
        Ends ends;
        int runs = 0;
        Deadline deadline{context.get_executor(), [&] { ++runs; }};
        deadline.expires_after(1ms);
        if (anotherWaits) deadline.async_wait(ends.handler());
        deadline.expires_after(kLong);
        Timeout other;
        while (!other) {  // until the wait is on its way to the context
            try {
                other = timer.newTimeout([] {}, kLong);
            } catch (RejectedExecution const&) {
                std::this_thread::yield();
            }
        }
        EXPECT_THROW(context.run(), RejectedExecution) << "it cannot go on";
        EXPECT_TRUE(other.cancel());
        if (anotherWaits) {
            EXPECT_EQ(context.run_one(), 1U) << "that one goes on";
        }

        deadline.expires_after(1ms);
        context.restart();
        context.run();
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(ends.reached, anotherWaits ? 1 : 0);
        deadline.expires_after(1ms);
        context.restart();
        context.run();
        EXPECT_EQ(runs, 2) << "and again";
    }
}

}  // namespace
}  // namespace timingwheel::test
