// Processes that end, or have too many timers, with too little memory.

#include <support/OutOfMemory.h>
#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

// Shows G16.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Repeat = AllocationFailure::Repeat;

class OutOfMemoryExitDeathTest : public testing::Test {
protected:
    OutOfMemoryExitDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Makes the 65th timer of the process, which is told of, while its `kth` allocation fails. Exits
/// with 0 if it was made or there is none, and with 1 if something else came of it.
[[noreturn]] void makeOneTooMany(std::size_t kth, Repeat repeat) {
    std::vector<std::unique_ptr<HashedWheelTimer>> timers;
    HashedWheelTimerOptions const options{.leakDetection = false, .logger = [](TimerLog const&) {}};
    for (int i = 0; i < 64; ++i) timers.push_back(std::make_unique<HashedWheelTimer>(options));
    HashedWheelTimerOptions copy = options;
    try {
        AllocationFailure const failure{kth, repeat};
        HashedWheelTimer timer{std::move(copy)};
        static_cast<void>(timer.stop());
    } catch (std::bad_alloc const&) {
    }
    HashedWheelTimer one{options};
    Timeout const timeout = one.newTimeout([] {}, 1h);
    std::exit(one.stop().size() == 1 && timeout.isReturned() ? 0 : 1);
}

/// How many allocations it takes to make a timer.
std::size_t allocationsOfATimer() {
    HashedWheelTimerOptions options{.leakDetection = false};
    AllocationCounter const counter;
    HashedWheelTimer const timer{std::move(options)};
    return counter.allocations();
}

TEST_F(OutOfMemoryExitDeathTest, OneTimerTooManyIsMadeOrNothingIsLeft) {
    // Around where it is told, which is the last that allocates.
    std::size_t const usual = allocationsOfATimer();
    for (Repeat const repeat : {Repeat::once, Repeat::forEver}) {
        for (std::size_t const kth : {usual - 1, usual, usual + 1}) {
            EXPECT_EXIT(makeOneTooMany(kth, repeat), testing::ExitedWithCode(0), "");
        }
    }
}

/// Kept by static pointers, so that they are no leaks of memory; volatile, so that those are kept.
HashedWheelTimer* volatile forgotten = nullptr;
AllocationFailure* volatile forGood = nullptr;

[[noreturn]] void exitWithoutMemory(std::size_t kth) {
    auto const logger = [room = Large{}](TimerLog const& told) {
        static_cast<void>(room);
        std::fprintf(stderr, "%s\n", told.timerName.data());
    };
    forgotten = new HashedWheelTimer{{.name = "forgotten", .logger = logger}};
    forGood = new AllocationFailure{kth, Repeat::forEver};
    std::exit(3);
}

// A process that has no memory left ends as it should, even if it cannot say all.
TEST_F(OutOfMemoryExitDeathTest, AProcessExitsWithATimerThatNobodyStopped) {
    for (std::size_t const kth : {1U, 2U}) {
        EXPECT_EXIT(exitWithoutMemory(kth), testing::ExitedWithCode(3), "forgotten") << kth;
    }
}

}  // namespace
}  // namespace timingwheel::test
