#include "CancelRaces.h"

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Threads.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stop_token>
#include <thread>

namespace timingwheel::test {
namespace {

/// A coroutine whose frame goes when it is over, on whatever thread.
struct Detached {
    struct promise_type {
        Detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// {sleep, stop the token, expire}, and now and then cancelAll(): each coroutine goes on once.
class SleepRace {
public:
    explicit SleepRace(std::size_t poolThreads)
        : runners_{poolThreads}, timer_{runners_.options()} {}

    void run(std::uint64_t races) {
        inBatches(
            races / kBatch + 1, 3, [this](std::uint64_t) { begin(); },
            [this](std::size_t worker, std::uint64_t batch) { compete(worker, batch); },
            [this](std::uint64_t) { judge(); });
        std::uint64_t const all = wakes_[0] + wakes_[1] + wakes_[2];
        std::printf("sleeps %s: %llu expired, %llu stopped, %llu cancelled\n",
                    runners_.name().c_str(), static_cast<unsigned long long>(wakes_[0]),
                    static_cast<unsigned long long>(wakes_[1]),
                    static_cast<unsigned long long>(wakes_[2]));
        figure("G29", "coroutines that did not go on exactly once, " + runners_.name(), wrong_,
               exactly(0), {all, races});
        figure("G1", "sleeps that were too short, " + runners_.name(), early_.load(), exactly(0),
               {all, races});
        EXPECT_EQ(timer_.pendingTimeouts(), 0U);
        timer_.checkInvariants();
    }

private:
    static constexpr std::size_t kBatch = 128;
    static constexpr std::chrono::microseconds kSpread{200};

    struct Bed {
        std::stop_source source;
        std::atomic<int> woken{0};
        Wake wake{};
    };

    Detached sleep(Bed& bed, std::chrono::nanoseconds delay) {
        auto const due = timer_.clock().now() + delay;
        bed.wake = co_await timer_.sleep(delay, bed.source.get_token());
        if (bed.wake == Wake::expired && timer_.clock().now() < due) ++early_;
        ++bed.woken;
    }

    void begin() {
        for (Bed& bed : beds_) {
            bed.source = std::stop_source{};
            bed.woken = 0;
        }
    }

    void compete(std::size_t worker, std::uint64_t batch) {
        Random& random = random_[worker];
        if (worker == 0) {
            for (Bed& bed : beds_) sleep(bed, random.below(kSpread));
        } else if (worker == 1) {
            spinFor(random.below(kSpread / 2));
            for (std::size_t i = 0; i < kBatch; i += 2) beds_[i].source.request_stop();
        } else if (batch % 4 == 0) {
            spinFor(random.below(kSpread));
            timer_.cancelAll();
        }
    }

    void judge() {
        for (Bed& bed : beds_) {
            waitUntil([&] { return bed.woken > 0; });
            wrong_ += bed.woken == 1 ? 0U : 1U;
            ++wakes_[static_cast<std::size_t>(bed.wake)];
        }
    }

    std::array<Random, 3> random_{Random{1}, Random{2}, Random{3}};
    std::array<Bed, kBatch> beds_;
    std::array<std::uint64_t, 3> wakes_{};
    std::uint64_t wrong_ = 0;
    std::atomic<std::uint64_t> early_{0};
    Runners runners_;
    SystemTimer timer_;  // the last: what it resumes uses the others
};

// G29
TEST(RaceSleep, AStopAnExpiryAndCancelAllHaveOneWinner) {
    Watchdog const watchdog{"sleeping coroutines"};
    SleepRace{0}.run(rounds(10'000, 300'000));
    SleepRace{2}.run(rounds(10'000, 300'000));
}

}  // namespace
}  // namespace timingwheel::test
