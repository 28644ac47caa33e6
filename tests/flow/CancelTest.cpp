// Cancelling: the truth about it, what becomes of the captures, and what they may do when they die.

#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Cancel = OfWheelTimers<T>;
TYPED_TEST_SUITE(Cancel, WheelTimers, NamesOfTimers);

/// A capture that does something when it dies, unless it was moved from.
class DoesWhenItDies {
public:
    explicit DoesWhenItDies(std::function<void()> act) : act_{std::move(act)} {}
    DoesWhenItDies(DoesWhenItDies&& other) noexcept : act_{std::exchange(other.act_, {})} {}
    ~DoesWhenItDies() {
        if (act_) act_();
    }

private:
    std::function<void()> act_;
};

// G6. Bug pattern: a cancelled entry keeps its capture alive until its deadline.
TYPED_TEST(Cancel, DestroysTheCapturesBeforeItReturns) {
    TypeParam timer{this->options()};
    auto const witness = std::make_shared<int>();
    for (nanoseconds const delay : {1ms, 20ms, 1000ms, 3600000ms}) {
        Timeout const timeout = timer.newTimeout([witness] {}, delay);
        EXPECT_EQ(witness.use_count(), 2);
        EXPECT_TRUE(timeout.cancel());
        EXPECT_EQ(witness.use_count(), 1);
        EXPECT_FALSE(timeout.cancel());
    }
    Timeout const periodic = timer.scheduleAtFixedRate([witness] {}, 1ms, 1ms);
    this->clock.advance(3ms);
    EXPECT_TRUE(periodic.cancel());
    EXPECT_EQ(witness.use_count(), 1);
}

// G6. Bug pattern: a handle's last reference dropped inside the lock, whose destructor re-enters.
TYPED_TEST(Cancel, CapturesMayUseTheTimerWhenTheyDie) {
    std::size_t const rounds = scaled(10'000);
    TypeParam timer{this->options()};
    std::size_t deaths = 0;
    Timeout other;
    auto const reenter = [&] {
        ++deaths;
        static_cast<void>(timer.pendingTimeouts());
        static_cast<void>(timer.statistics());
        EXPECT_TRUE(other.cancel());
        other = timer.newTimeout([] {}, 1h);
        EXPECT_TRUE(timer.reschedule(other, 2h));
        timer.checkInvariants();
    };
    other = timer.newTimeout([] {}, 1h);
    for (std::size_t round = 0; round < rounds; ++round) {
        Timeout timeout = timer.newTimeout([bye = DoesWhenItDies{reenter}] {}, 1ms);
        if (round % 10 == 0)
            this->clock.advance(1ms);
        else
            EXPECT_TRUE(timeout.cancel());
    }
    EXPECT_LE(deaths, rounds);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    figure("G6", "captures that did not use the timer when they died", rounds - deaths, exactly(0),
           {rounds, 10'000});
}

// G6
TYPED_TEST(Cancel, ACaptureMayStopTheTimerWhenItDies) {
    TypeParam timer{this->options()};
    std::size_t returned = 0;
    Timeout const timeout =
        timer.newTimeout([bye = DoesWhenItDies{[&] { returned = timer.stop().size(); }}] {}, 1h);
    timer.newTimeout([] {}, 1h);
    EXPECT_TRUE(timeout.cancel());
    EXPECT_EQ(returned, 1U);
    EXPECT_THROW(timer.newTimeout([] {}, 1h), std::logic_error);
}

// G6: what stop() returned, and what the destructor drops.
TYPED_TEST(Cancel, CapturesOfStoppedTimeoutsMayUseTheTimerWhenTheyDie) {
    int deaths = 0;
    {
        TypeParam timer{this->options()};
        for (int i = 0; i < 10; ++i) {
            timer.newTimeout([bye = DoesWhenItDies{[&] {
                                  ++deaths;
                                  EXPECT_EQ(timer.pendingTimeouts(), 0U);
                                  EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::logic_error);
                                  EXPECT_TRUE(timer.stop().empty());
                              }}] {},
                             1h);
        }
        if constexpr (std::is_same_v<TypeParam, SystemTimer>) static_cast<void>(timer.stop());
    }
    EXPECT_EQ(deaths, 10);
}

// Bug pattern: a captured handle of the task itself keeps it alive for ever.
TYPED_TEST(Cancel, ACaptureMayHoldTheHandleOfItsOwnTask) {
    TypeParam timer{this->options()};
    auto const witness = std::make_shared<int>();
    auto self = std::make_shared<Timeout>();
    *self = timer.newTimeout([self, witness] {}, 1h);
    Timeout const copy = *self;
    self.reset();
    EXPECT_TRUE(copy.cancel());
    EXPECT_EQ(witness.use_count(), 1);

    auto again = std::make_shared<Timeout>();
    *again = timer.newTimeout([again, witness] { *again = {}; }, 1ms);
    again.reset();
    this->clock.advance(1ms);
    EXPECT_EQ(witness.use_count(), 1);
}

// Bug pattern: the next pointer is read after the entry was freed by the task it ran.
TYPED_TEST(Cancel, ATaskMayCancelEverythingBehindIt) {
    TypeParam timer{this->options()};
    std::vector<Timeout> timeouts;
    int runs = 0;
    int cancelled = 0;
    for (int i = 0; i < 1000; ++i) {
        timeouts.push_back(timer.newTimeout(
            [&] {
                ++runs;
                for (Timeout& timeout : timeouts) {
                    cancelled += timeout.cancel() ? 1 : 0;
                    timeout = {};
                }
            },
            5ms));
    }
    this->clock.advance(5ms);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cancelled, 999);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// Bug pattern: recursive destruction of a long chain of entries.
TYPED_TEST(Cancel, AChainOfHandlesIsDestroyedWithoutRecursion) {
    auto const count = static_cast<int>(scaled(100'000));
    for (bool const isStopped : {false, true}) {
        TypeParam timer{this->options()};
        Timeout last;
        for (int i = 0; i < count; ++i)
            last = timer.newTimeout([next = std::move(last)] {}, i % 3 == 0 ? 1ms : 1h);
        last = {};
        this->clock.advance(1ms);
        if (!isStopped) continue;
        std::size_t const pending = timer.pendingTimeouts();
        EXPECT_EQ(timer.stop().size(), pending);
    }
}

// Bug pattern: the count is not reset.
TYPED_TEST(Cancel, CountsAddUpAfterRandomOperations) {
    std::uint64_t const seed = seedOr(4);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    TypeParam timer{this->options({.wheelSize = 4})};
    std::vector<Timeout> timeouts;
    std::size_t runs = 0;
    std::size_t cancelled = 0;
    std::size_t const count = scaled(20'000);
    auto const anyOf = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>{0, limit - 1}(random);
    };
    for (std::size_t i = 0; i < count; ++i) {
        timeouts.push_back(timer.newTimeout([&runs] { ++runs; }, (1 + anyOf(3000)) * 1ms));
        if (anyOf(2) == 0) cancelled += timeouts[anyOf(timeouts.size())].cancel() ? 1U : 0U;
        if (anyOf(2) == 0)
            timer.reschedule(timeouts[anyOf(timeouts.size())], (1 + anyOf(5000)) * 1ms);
        if (anyOf(20) == 0) this->clock.advance(anyOf(50) * 1ms);
    }
    EXPECT_EQ(timer.pendingTimeouts(), count - runs - cancelled);
    timer.checkInvariants();
    std::size_t const returned = timer.stop().size();
    EXPECT_EQ(runs + cancelled + returned, count);
    for (Timeout const& timeout : timeouts)
        EXPECT_EQ(timeout.isExpired() + timeout.isCancelled(), 1);
}

// G4: what is due on arrival waits for its turn as others do.
TYPED_TEST(Cancel, WinsOverWhatWasDueOnArrival) {
    TypeParam timer{this->options()};
    bool hasWon = false;
    timer.newTimeout(
        [&] {
            Timeout const due = timer.newTimeout([] { FAIL(); }, 0ms);
            EXPECT_TRUE(due.isPending());
            hasWon = due.cancel();
        },
        1ms);
    this->clock.advance(2ms);
    EXPECT_TRUE(hasWon);
}

}  // namespace
}  // namespace timingwheel::test
