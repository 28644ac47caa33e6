// What suspension means for timeouts. A test cannot suspend its machine: it is played, with two
// clocks of the test's own.

#include <support/TestTimers.h>
#include <support/Waiters.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// A machine that a test suspends. It has two clocks: one stands still meanwhile.
class Machine {
public:
    class ItsClock final : public Clock {
    public:
        ItsClock(Machine& machine, bool counts) : machine_{machine}, counts_{counts} {}
        TimePoint now() const noexcept override {
            return TimePoint{} + machine_.awake_.load() +
                   (counts_ ? machine_.suspended_.load() : 0h);
        }
        Kind kind() const noexcept override { return counts_ ? Kind::continuous : Kind::steady; }
        /// The system ends the sleep of those whose time has come, and no other.
        std::unique_ptr<Waiter> makeWaiter() override {
            return waiterThat([this](Waiter& inner, TimePoint until) {
                Sleepers::Registration const registration{sleepers_, inner};
                if (now() < until) inner.waitUntil(TimePoint::max());
            });
        }
        void lookAgain() { sleepers_.wake(); }

    private:
        Machine& machine_;
        bool const counts_;
        Sleepers sleepers_;
    };

    ItsClock continuous{*this, true};
    ItsClock steady{*this, false};

    void suspendFor(std::chrono::hours time) {
        suspended_ = suspended_.load() + time;
        continuous.lookAgain();
        steady.lookAgain();
    }
    void runFor(std::chrono::nanoseconds time) {
        awake_ = awake_.load() + time;
        continuous.lookAgain();
        steady.lookAgain();
    }

private:
    std::atomic<std::chrono::nanoseconds> awake_{0ns};
    std::atomic<std::chrono::hours> suspended_{0h};
};

template <class T>
class Suspension : public testing::Test {
protected:
    Watchdog const watchdog{"a suspended machine"};
    Machine machine;  // outlives the timers
};
using TimersWithAThread = testing::Types<SystemTimer, HashedWheelTimer>;
TYPED_TEST_SUITE(Suspension, TimersWithAThread);

TYPED_TEST(Suspension, CountsForTimeoutsOfAClockThatCountsIt) {
    TypeParam counting{{.clock = this->machine.continuous}};
    TypeParam other{{.clock = this->machine.steady}};
    Latch ran;
    counting.newTimeout([&] { ran.open(); }, 30min);
    Timeout const later = counting.newTimeout([] {}, 9h);
    Timeout const waiting = other.newTimeout([] {}, 30min);
    this->machine.suspendFor(8h);
    ran.wait();
    constexpr auto kTick = 100ms;  // by which a flat timer is later
    EXPECT_TRUE(later.isPending());
    EXPECT_GE(later.remaining(), 1h);
    EXPECT_LE(later.remaining(), 1h + kTick);
    EXPECT_TRUE(waiting.isPending());
    EXPECT_GE(waiting.remaining(), 30min);
    this->machine.runFor(31min);
    while (!waiting.isDone()) std::this_thread::yield();
    EXPECT_TRUE(later.isPending());
    static_cast<void>(counting.stop());
    static_cast<void>(other.stop());
}

}  // namespace
}  // namespace timingwheel::test
