#include "CancelRaces.h"

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Receiver.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimedScheduler.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stop_token>
#include <thread>

namespace timingwheel::test {
namespace {

/// {start, stop the token, expire}, and now and then cancelAll(): each operation completes once.
/// Half of them are destroyed by their completion.
class TimedSchedulerRace {
public:
    explicit TimedSchedulerRace(std::size_t poolThreads)
        : runners_{poolThreads}, timer_{runners_.options()} {}

    void run(std::uint64_t races) {
        inBatches(
            races / kBatch + 1, 3, [this](std::uint64_t) { begin(); },
            [this](std::size_t worker, std::uint64_t batch) { compete(worker, batch); },
            [this](std::uint64_t) { judge(); });
        std::printf("operations %s: %llu expired, %llu stopped or given up\n",
                    runners_.name().c_str(), static_cast<unsigned long long>(values_),
                    static_cast<unsigned long long>(stops_));
        figure("G29", "operations that did not complete exactly once, " + runners_.name(), wrong_,
               exactly(0), {values_ + stops_, races});
        figure("G29", "values on the thread that started, " + runners_.name(), misplaced_,
               exactly(0), {values_, 1});
        figure("G1", "operations that completed early, " + runners_.name(), early_.load(),
               exactly(0), {values_, 1});
        EXPECT_EQ(timer_.pendingTimeouts(), 0U);
        timer_.checkInvariants();
    }

private:
    static constexpr std::size_t kBatch = 128;
    static constexpr std::chrono::microseconds kSpread{200};

    struct Race {
        std::optional<std::stop_source> source;
        std::optional<Completion> completion;
        std::optional<TimedOperation<StoppableReceiver<std::stop_token>>> operation;
    };

    void begin() {
        for (Race& race : races_) {
            race.operation.reset();
            race.source.emplace();
            race.completion.emplace();
        }
    }

    void start(std::size_t i, std::chrono::nanoseconds delay) {
        Race& race = races_[i];
        auto const due = timer_.clock().now() + delay;
        race.completion->then = [this, i, due] {
            if (!races_[i].source->stop_requested() && timer_.clock().now() < due)
                isEarly_[i] = true;
            if (i % 2 == 0) races_[i].operation.reset();
        };
        race.operation.emplace(Elided{[&] {
            return TimedScheduler{timer_}.schedule_after(delay).connect(
                StoppableReceiver{*race.completion, race.source->get_token()});
        }});
        race.operation->start();
    }

    void compete(std::size_t worker, std::uint64_t batch) {
        Random& random = random_[worker];
        if (worker == 0) {
            starter_ = std::this_thread::get_id();
            for (std::size_t i = 0; i < kBatch; ++i)
                start(i, i % 4 == 3 ? std::chrono::nanoseconds{} : random.below(kSpread));
        } else if (worker == 1) {
            spinFor(random.below(kSpread / 2));
            for (std::size_t i = 0; i < kBatch; i += 2) races_[i].source->request_stop();
        } else if (batch % 4 == 0) {
            spinFor(random.below(kSpread));
            timer_.cancelAll();
        }
    }

    void judge() {
        for (std::size_t i = 0; i < kBatch; ++i) {
            Completion const& completion = *races_[i].completion;
            waitUntil([&] { return completion.count() > 0; });
            wrong_ += completion.count() == 1 && completion.errors == 0 ? 0U : 1U;
            if (completion.values == 1 && completion.thread == starter_) ++misplaced_;
            if (completion.values == 1 && isEarly_[i]) ++early_;
            isEarly_[i] = false;
            values_ += completion.values == 1 ? 1U : 0U;
            stops_ += completion.stops == 1 ? 1U : 0U;
        }
    }

    std::array<Random, 3> random_{Random{1}, Random{2}, Random{3}};
    std::array<Race, kBatch> races_;
    std::array<std::atomic<bool>, kBatch> isEarly_{};
    std::thread::id starter_;
    std::uint64_t wrong_ = 0;
    std::uint64_t misplaced_ = 0;
    std::uint64_t values_ = 0;
    std::uint64_t stops_ = 0;
    std::atomic<std::uint64_t> early_{0};
    Runners runners_;
    SystemTimer timer_;  // the last: what it completes uses the others
};

// G29
TEST(RaceTimedScheduler, AStopAnExpiryAndCancelAllHaveOneWinner) {
    Watchdog const watchdog{"operations of senders"};
    TimedSchedulerRace{0}.run(rounds(10'000, 300'000));
    TimedSchedulerRace{2}.run(rounds(10'000, 300'000));
}

}  // namespace
}  // namespace timingwheel::test
