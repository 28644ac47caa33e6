// What holds for each of the timers for Asio, wherever their waits are kept.

#include <support/AllocationCounter.h>
#include <support/AsioHandClock.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/Deadline.h>
#include <timingwheel/asio/shared_timer.h>
#include <timingwheel/asio/steady_timer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

// Shows G30.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using timingwheel::asio::shared_timer;
using timingwheel::asio::steady_timer;

template <class T>
class AnyAsioTimer : public testing::Test {
protected:
    using Deadline = timingwheel::asio::basic_deadline<T>;

    AnyAsioTimer() { makeContext(); }

    void makeContext() {
        context.emplace();
        if constexpr (std::is_same_v<T, shared_timer>)
            timingwheel::asio::use_timer(*context, timer);
    }
    void run() {
        context->restart();
        context->run();
    }
    auto handler() {
        return [this](auto error) { ++(error ? aborted : reached); };
    }

    SystemTimer timer;
    std::optional<net::io_context> context;
    int reached = 0;
    int aborted = 0;
};
using Types = testing::Types<steady_timer, shared_timer>;
TYPED_TEST_SUITE(AnyAsioTimer, Types);

// G30
TYPED_TEST(AnyAsioTimer, DestroysTheHandlersOfAContextThatEnds) {
    constexpr std::uint64_t kAsked = 1'000'000;
    std::uint64_t const waits = rounds(100'000, kAsked);
    auto const living = std::make_shared<int>();
    for (std::uint64_t i = 0; i < waits; ++i) {
        auto const one = std::make_shared<TypeParam>(*this->context, kLong + i * 1ms);
        one->async_wait([this, one, living](auto) { ++this->reached; });
    }
    this->context.reset();
    EXPECT_EQ(this->reached, 0) << "none is called";
    EXPECT_EQ(this->timer.pendingTimeouts(), 0U);
    figure("G30", "handlers that outlived their context", living.use_count() - 1, exactly(0),
           {waits, kAsked});
}

// G30
TYPED_TEST(AnyAsioTimer, EndsADeadlineThatItsWaitOwnsWithTheContext) {
    auto const living = std::make_shared<int>();
    auto owned = std::make_shared<typename TestFixture::Deadline>(this->context->get_executor(),
                                                                  [living] {});
    std::weak_ptr const isThere{owned};
    owned->expires_after(kLong);
    owned->async_wait([owned](auto) {});
    owned.reset();
    this->context.reset();
    EXPECT_TRUE(isThere.expired());
    EXPECT_EQ(living.use_count(), 1);
}

// G13, G30
TYPED_TEST(AnyAsioTimer, HasAResultForAnyDelay) {
    using Duration = typename TypeParam::duration;
    for (Duration const over : {Duration{0}, Duration{-1}, Duration{-1h}}) {
        TypeParam one{*this->context, over};
        one.async_wait(this->handler());
        this->run();
    }
    TypeParam past{*this->context, (TypeParam::time_point::min)()};
    past.async_wait(this->handler());
    this->run();
    EXPECT_EQ(this->reached, 4) << "due at once";

    TypeParam endless{*this->context, (Duration::max)()};
    TypeParam last{*this->context, (TypeParam::time_point::max)()};
    endless.async_wait(this->handler());
    last.async_wait(this->handler());
    this->context->restart();
    EXPECT_EQ(this->context->poll(), 0U) << "never due";
    EXPECT_EQ(endless.cancel() + last.cancel(), 2U);
    this->run();
    EXPECT_EQ(this->aborted, 2);
}

// G13, G30. A fraction has to be cast to the timer's duration, as with Asio's own: a NaN is none.
template <class T>
concept TakesFractions =
    requires(T& timer) { timer.expires_after(std::chrono::duration<double>{1}); };
static_assert(!TakesFractions<steady_timer> && !TakesFractions<shared_timer>);
static_assert(!TakesFractions<timingwheel::asio::Deadline>);

// G30
TYPED_TEST(AnyAsioTimer, MayBeMovedFrom) {
    TypeParam from{*this->context, kLong};
    from.async_wait(this->handler());
    TypeParam to{std::move(from)};
    EXPECT_EQ(from.cancel(), 0U) << "nobody waits for it";
    EXPECT_EQ(from.expiry(), typename TypeParam::time_point{});
    from = TypeParam{*this->context, 1ms};
    from.async_wait(this->handler());
    EXPECT_EQ(to.cancel(), 1U);
    this->run();
    EXPECT_EQ(this->aborted, 1);
    EXPECT_EQ(this->reached, 1);
}

// G30
TYPED_TEST(AnyAsioTimer, GivesADeadlineThatWasMovedFromANewOne) {
    using Idle = typename TestFixture::Deadline;
    int runs = 0;
    Idle from{this->context->get_executor(), [&] { ++runs; }};
    from.expires_after(1ms);
    {
        Idle const to{std::move(from)};
        from = Idle{this->context->get_executor(), [&] { runs += 10; }};
        from.expires_after(1ms);
    }  // ends the first
    this->run();
    EXPECT_EQ(runs, 10);
}

// G16, G30
TYPED_TEST(AnyAsioTimer, BeginsAWaitOrChangesNothing) {
    TypeParam one{*this->context, kLong};
    std::size_t failed = 0;
    for (bool isTried = false; !isTried;) {
        AllocationFailure const failure{failed + 1};
        try {
            one.async_wait(this->handler());
            isTried = true;
        } catch (std::bad_alloc const&) {
            ++failed;
            ASSERT_TRUE(failure.happened());
        }
    }
    EXPECT_GE(failed, 2U) << "the wait, and a level of the wheel";
    EXPECT_EQ(one.cancel(), 1U);
    EXPECT_EQ(this->context->run(), 1U);
}

// G6, G30
TYPED_TEST(AnyAsioTimer, KeepsCapturesUntilTheHandlerWasCalled) {
    auto const living = std::make_shared<int>();
    TypeParam one{*this->context, kLong};
    one.async_wait([living](auto) {});
    one.cancel();
    EXPECT_EQ(living.use_count(), 2);
    this->context->run();
    EXPECT_EQ(living.use_count(), 1);
}

// G7, G30
TYPED_TEST(AnyAsioTimer, LetsWhatIsThrownLeaveRun) {
    struct Thrown {};
    TypeParam one{*this->context, -1ms};
    one.async_wait([](auto) { throw Thrown{}; });
    EXPECT_THROW(this->run(), Thrown);
    typename TestFixture::Deadline deadline{this->context->get_executor(), [] { throw Thrown{}; }};
    for (int i = 0; i < 2; ++i) {
        deadline.expires_after(-1ms);
        EXPECT_THROW(this->run(), Thrown);
    }
}

// G30. Bug pattern: what was handed to the context is counted as pending by a cancel.
TYPED_TEST(AnyAsioTimer, CountsWhatACancelAborts) {
    TypeParam one{*this->context, kLong};
    for (int i = 0; i < 3; ++i) one.async_wait(this->handler());
    EXPECT_EQ(one.cancel_one(), 1U);
    EXPECT_EQ(one.expires_after(-1ms), 2U);
    one.async_wait(this->handler());
    one.async_wait([&](auto) { EXPECT_EQ(one.cancel(), 0U) << "both are in the context"; });
    this->run();
    EXPECT_EQ(this->aborted, 3);
    EXPECT_EQ(this->reached, 1);
    EXPECT_EQ(one.cancel_one(), 0U);
}

// G30
TYPED_TEST(AnyAsioTimer, IsWorkWhileSomebodyWaits) {
    TypeParam one{*this->context, kLong};
    EXPECT_EQ(this->context->run(), 0U) << "a timer is none";
    this->context->restart();
    one.async_wait(this->handler());
    EXPECT_EQ(this->context->poll(), 0U);
    EXPECT_FALSE(this->context->stopped());
    one.cancel();
    EXPECT_EQ(this->context->run(), 1U);
    EXPECT_TRUE(this->context->stopped());
}

}  // namespace
}  // namespace timingwheel::test
