// Asio's own timer and the one whose waits are in a wheel do the same, but for what the header
// says.

#include <support/AsioHandClock.h>
#include <support/AsioWorld.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/asio/steady_timer.h>

#if defined(TIMINGWHEEL_ASIO_STANDALONE)
#    include <asio/buffer.hpp>
#    include <asio/ip/tcp.hpp>
#    include <asio/write.hpp>
#else
#    include <boost/asio/buffer.hpp>
#    include <boost/asio/ip/tcp.hpp>
#    include <boost/asio/write.hpp>
#endif
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <type_traits>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

template <class IsSteady>
class SteadyTimer : public testing::Test {};
using Clocks = testing::Types<std::true_type, std::false_type>;
TYPED_TEST_SUITE(SteadyTimer, Clocks);

// G30
TYPED_TEST(SteadyTimer, DoWhatAsiosDo) {
    using Clock = HandClock<TypeParam::value>;
    std::uint64_t const first = seedOr(1);
    std::uint64_t const courses = rounds(400, 10'000);
    for (std::uint64_t seed = first; seed < first + courses; ++seed)
        ASSERT_EQ(course<WheelsTimer<Clock>>(seed), course<AsiosTimer<Clock>>(seed))
            << "seed " << seed;
}

// G1, G30
TEST(SteadyTimerTest, RoundsUpToTheTick) {
    using Clock = HandClock<true>;
    Clock::time = Clock::time_point{-1s};
    net::io_context context;
    for (auto const deadline : {-500ms + 1ns, -1ns, 0ns + 1ns, 2ms - 1ns, 410ms + 1ns}) {
        WheelsTimer<Clock> timer{context, Clock::time_point{deadline}};
        bool isDone = false;
        timer.async_wait([&](auto error) { isDone = !error; });
        auto const tick = std::chrono::ceil<std::chrono::milliseconds>(deadline);
        for (auto const early : {0ns + 1ms, 1ns}) {
            Clock::time = Clock::time_point{tick - early};
            context.restart();
            context.poll();
            EXPECT_FALSE(isDone) << deadline.count();
        }
        Clock::time = Clock::time_point{tick};
        context.restart();
        context.poll();
        EXPECT_TRUE(isDone) << deadline.count();
    }
}

/// Writes down how long the reactor means to sleep.
struct AskedSleep {
    template <class Duration>
    static Duration to_wait_duration(Duration duration) {
        last = duration;
        return duration;
    }
    inline static std::optional<std::chrono::nanoseconds> last;
};

TEST(SteadyTimerTest, SleepsUntilTheEarliestBucket) {
    using Clock = HandClock<true>;
    using Timer =
        timingwheel::asio::basic_waitable_timer<Clock, std::chrono::milliseconds, AskedSleep>;
    Clock::time = Clock::time_point{};
    net::io_context context;
    auto const work = net::make_work_guard(context);
    auto const asked = [&] {
        AskedSleep::last.reset();
        context.run_one_for(20ms);
        return AskedSleep::last;
    };
    Timer far{context, 30ms};
    EXPECT_EQ(asked(), std::nullopt) << "nobody waits";
    far.async_wait([](auto) {});
    EXPECT_EQ(asked(), 20ms) << "it comes down a level on the way";
    Timer near{context, 5ms};
    near.async_wait([](auto) {});
    EXPECT_EQ(asked(), 5ms);
    near.cancel();
    far.cancel();
    context.poll();
    EXPECT_EQ(asked(), std::nullopt) << "nobody waits any more";
    Timer over{context, -1ms};
    over.async_wait([](auto) {});
    EXPECT_EQ(context.poll(), 1U);
}

// Bug pattern: the reactor moves a crowded bucket in one go, or sleeps on the rest of it.
TEST(SteadyTimerTest, MovesACrowdedBucketInSeveralTurns) {
    using Clock = HandClock<true>;
    using Timer =
        timingwheel::asio::basic_waitable_timer<Clock, std::chrono::milliseconds, AskedSleep>;
    Clock::time = Clock::time_point{};
    net::io_context context;
    constexpr std::size_t kWaits = 10'000;
    std::size_t done = 0;
    std::deque<Timer> timers;
    for (std::size_t i = 0; i < kWaits; ++i)
        timers.emplace_back(context, 30ms).async_wait([&](auto error) { done += error ? 0U : 1U; });
    Timer near{context, 20ms};
    std::size_t doneBefore = kWaits;
    near.async_wait([&](auto) {
        doneBefore = done;
        timers.front().cancel();  // moved down by now, or still on its way
        timers.back().cancel();
    });

    Clock::time = Clock::time_point{20ms};
    AskedSleep::last.reset();
    context.run_one();
    EXPECT_EQ(doneBefore, 0U);
    context.run_for(20ms);
    EXPECT_EQ(AskedSleep::last, 10ms) << "nothing is left on its way";
    EXPECT_EQ(done, 0U);
    Clock::time = Clock::time_point{30ms};
    context.restart();
    while (done < kWaits - 2) ASSERT_GT(context.poll(), 0U);
    EXPECT_EQ(context.poll(), 0U);
    EXPECT_TRUE(context.stopped());
}

// Bug pattern: a socket waits until all that became due at one moment has been done.
TEST(SteadyTimerTest, LetsASocketHaveItsTurnWhileManyAreDue) {
    Watchdog const watchdog{"a byte on its way"};
    using Clock = HandClock<true>;
    Clock::time = Clock::time_point{};
    net::io_context context;
    constexpr std::size_t kWaits = 10'000;
    std::size_t done = 0;
    std::size_t doneBefore = kWaits;
    using net::ip::tcp;
    tcp::acceptor acceptor{context, {net::ip::address_v4::loopback(), 0}};
    tcp::socket there{context};
    there.connect(acceptor.local_endpoint());
    tcp::socket here = acceptor.accept();
    here.async_wait(net::socket_base::wait_read, [&](auto) { doneBefore = done; });
    std::deque<WheelsTimer<Clock>> timers;
    for (std::size_t i = 0; i < kWaits; ++i)
        timers.emplace_back(context, 5ms).async_wait([&](auto) {
            if (++done > 1) return;
            net::write(there, net::buffer("x", 1));
            while (here.available() == 0) std::this_thread::yield();  // a busy system delivers late
        });
    Clock::time += 6ms;
    context.run();
    EXPECT_EQ(done, kWaits);
    EXPECT_LE(doneBefore, 1'024U) << "the rest of this turn's, and the next turn's";
}

// G2, G30
// Bug pattern: the reactor has been told to sleep for long, since all was cancelled. The bucket
// is still armed, so that the next wait in it seems to be nothing new.
TEST(SteadyTimerTest, WakesAReactorThatSleepsAfterACancel) {
    using timingwheel::asio::steady_timer;
    Watchdog const watchdog{"a reactor that sleeps on"};  // for minutes
    net::io_context context;
    auto work = net::make_work_guard(context);
    std::thread reactor{[&] { context.run(); }};
    for (int i = 0; i < 20; ++i) {
        steady_timer first{context, 40ms};
        steady_timer second{context, first.expiry()};
        std::atomic<int> ended{0};
        first.async_wait([&](auto) { ++ended; });
        first.cancel();
        while (ended == 0) std::this_thread::yield();
        std::this_thread::sleep_for(1ms);  // the reactor sleeps again
        second.async_wait([&](auto) { ++ended; });
        while (ended < 2) std::this_thread::sleep_for(1ms);
    }
    work.reset();
    reactor.join();
}

}  // namespace
}  // namespace timingwheel::test
