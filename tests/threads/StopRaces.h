#pragma once

#include <support/CountOfEach.h>
#include <support/Figure.h>
#include <support/ThreadPool.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Races of stop(), drain() and the destructor against everything else.
namespace timingwheel::test {

/// In each round a new timer, which some threads stop while others schedule: guarantee G10.
class StopRace {
public:
    StopRace(std::size_t stoppers, std::size_t schedulers, std::size_t poolThreads)
        : stoppers_{stoppers},
          schedulers_{schedulers},
          handles_(schedulers),
          runs_{schedulers * kPerThread} {
        if (poolThreads > 0) pool_.emplace(poolThreads);
        for (auto& ofThread : handles_) ofThread.reserve(kPerThread);
    }

    void run(std::uint64_t rounds) {
        inBatches(
            rounds, stoppers_ + schedulers_, [this](std::uint64_t round) { makeTimer(round); },
            [this](std::size_t worker, std::uint64_t) {
                worker < stoppers_ ? stop() : schedule(worker - stoppers_);
            },
            [this](std::uint64_t) { judge(); });
        std::string const where = pool_ ? ", on a pool" : ", inline";
        Of const all{rounds, 100'000};
        figure("G10", "rounds that did not balance where many stop and schedule" + where, wrong_,
               exactly(0), all);
        figure("G10", "runs seen after stop() had returned" + where, late_.load(), exactly(0), all);
        figure("G10", "the same, by the number of threads that stop it" + where, late_.load(),
               exactly(0), {stoppers_, 16});
        EXPECT_EQ(sums_.accepted, sums_.ran + sums_.returned);
    }

private:
    static constexpr std::size_t kPerThread = 2;

    struct Sums {
        std::uint64_t accepted = 0;
        std::uint64_t ran = 0;
        std::uint64_t returned = 0;
        std::uint64_t refused = 0;
    };

    void makeTimer(std::uint64_t round) {
        TimerOptions options;
        // With a day's tick the driver sleeps for long: stop() has to wake it.
        isSlow_ = round % 2 == 1;
        options.tick = isSlow_ ? Duration{std::chrono::hours{24}} : std::chrono::microseconds{10};
        options.shards = 2;
        if (pool_) options.executor = *pool_;
        timer_.emplace(std::move(options));
        inside_ = 0;
        runs_.reset();
        returned_ = 0;
        receivers_ = 0;
        isStopped_ = false;
        for (auto& ofThread : handles_) ofThread.clear();
    }

    void stop() {
        std::this_thread::yield();
        StoppedTimeouts const stopped = timer_->stop();
        // From here on nothing runs, whoever got the tasks.
        if (inside_.load() != 0) ++late_;
        isStopped_.store(true);
        if (stopped.empty()) return;
        ++receivers_;
        returned_ += stopped.size();
        for (auto const& one : stopped) late_ += one.timeout().isCancelled() ? 0U : 1U;
    }

    void schedule(std::size_t scheduler) {
        try {
            for (std::size_t i = 0; i < kPerThread; ++i) {
                auto const delay = static_cast<int>(i % 3) * std::chrono::microseconds{10};
                handles_[scheduler].push_back(timer_->newTimeout(
                    [this, number = scheduler * kPerThread + i] {
                        ++inside_;
                        if (isStopped_.load()) ++late_;
                        runs_.count(number);
                        --inside_;
                    },
                    isSlow_ ? Duration{std::chrono::hours{1}} : delay));
            }
        } catch (std::logic_error const&) {
            ++refused_;
        }
    }

    void judge() {
        std::uint64_t expired = 0;
        std::uint64_t cancelled = 0;
        std::uint64_t accepted = 0;
        bool eachIsRight = true;
        for (std::size_t scheduler = 0; scheduler < schedulers_; ++scheduler) {
            for (std::size_t i = 0; i < kPerThread; ++i) {
                int const runs = runs_.of(scheduler * kPerThread + i);
                bool const isAccepted = i < handles_[scheduler].size();
                Timeout const timeout = isAccepted ? handles_[scheduler][i] : Timeout{};
                accepted += isAccepted ? 1U : 0U;
                expired += timeout.isExpired() ? 1U : 0U;
                cancelled += timeout.isCancelled() ? 1U : 0U;
                eachIsRight = eachIsRight && runs == (timeout.isExpired() ? 1 : 0) &&
                              timeout.isCancelled() == (isAccepted && runs == 0);
            }
        }
        bool const isRight = eachIsRight && cancelled == returned_.load() &&
                             receivers_.load() <= 1 && timer_->pendingTimeouts() == 0;
        wrong_ += isRight ? 0U : 1U;
        timer_.reset();
        sums_.accepted += accepted;
        sums_.ran += expired;
        sums_.returned += returned_.load();
        sums_.refused += refused_.exchange(0);
    }

    std::size_t const stoppers_;
    std::size_t const schedulers_;
    std::vector<std::vector<Timeout>> handles_;
    std::atomic<int> inside_{0};
    std::atomic<bool> isStopped_{false};
    CountOfEach runs_;
    std::atomic<std::uint64_t> returned_{0};
    std::atomic<std::uint64_t> receivers_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> late_{0};
    std::uint64_t wrong_ = 0;
    bool isSlow_ = false;
    Sums sums_;
    std::optional<boost::asio::thread_pool> pool_;
    std::optional<SystemTimer> timer_;  // the last: its tasks use the others
};

/// Handles that are cancelled, asked and dropped by two threads while a third destroys the timer:
/// guarantee G11.
/// Timeouts have a random delay of less than `longest`; in every second round there is some time
/// for them to run first.
template <class TimerType, class Options>
void raceHandlesAgainstDestructor(std::string const& who, Options const& options,
                                  std::chrono::nanoseconds longest, Of of) {
    constexpr std::size_t kHandles = 8;
    std::optional<TimerType> timer;
    std::array<std::array<Timeout, kHandles>, 2> handles;
    CountOfEach runs{kHandles};
    CountOfEach wins{kHandles};  // of cancel()
    std::atomic<std::uint64_t> wrong{0};
    std::uint64_t ended = 0;  // in one way, and all answers say so
    Random random{5};
    inBatches(
        of.count, 3,
        [&](std::uint64_t round) {
            timer.emplace(options);
            runs.reset();
            wins.reset();
            for (std::size_t i = 0; i < kHandles; ++i) {
                handles[0][i] = handles[1][i] =
                    timer->newTimeout([&runs, i] { runs.count(i); }, random.below(longest));
            }
            if (round % 2 == 0) spinFor(longest / 2);
        },
        [&](std::size_t worker, std::uint64_t) {
            if (worker == 2) return timer.reset();
            for (std::size_t i = 0; i < kHandles; ++i) {
                Timeout& timeout = handles[worker][i];
                if (timeout.cancel()) wins.count(i);
                if (timeout.isPending() || timeout.isRejected()) ++wrong;
                static_cast<void>(timeout.remaining());
                static_cast<void>(timeout.task());
                if (timeout.cancelAndWait()) ++wrong;
                // One of the two drops its handles; the other asks again when the timer is gone.
                if (worker == 0) timeout = {};
            }
        },
        [&](std::uint64_t) {
            for (std::size_t i = 0; i < kHandles; ++i) {
                Timeout& timeout = handles[1][i];
                bool const hasRun = runs.of(i) == 1;
                bool const isRight = hasRun ? timeout.isExpired() && wins.of(i) == 0
                                            : timeout.isCancelled() && runs.of(i) == 0;
                ended += isRight && wins.of(i) <= 1 ? 1U : 0U;
                if (timeout.timer() != nullptr || timeout.cancel()) ++wrong;
                timeout = {};
            }
        });
    EXPECT_EQ(ended, of.count * kHandles);
    figure("G11", "wrong answers of handles that outlive a " + who, wrong.load(), exactly(0), of);
}

/// In each of so many rounds one thread stops a timer, another starts it, and a third schedules.
template <class TimerType, class Options>
void raceStopAgainstTheFirstStart(Options const& options, std::uint64_t rounds) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
        TimerType timer{options};
        std::atomic<std::size_t> accepted{0};
        std::atomic<std::size_t> returned{0};
        together(3, [&](std::size_t thread) {
            try {
                if (thread == 0) {
                    returned += timer.stop().size();
                } else if (thread == 1) {
                    timer.start();
                } else {
                    timer.newTimeout([] {}, std::chrono::hours{1});
                    ++accepted;
                }
            } catch (std::logic_error const&) {
                // It was stopped before.
            }
        });
        returned += timer.stop().size();
        EXPECT_EQ(accepted, returned);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
        EXPECT_THROW(timer.start(), std::logic_error);
    }
}

/// In each of so many rounds a task calls its timer until that refuses, while it is destroyed.
template <class TimerType, class Options>
void callWhileItIsDestroyed(Options const& options, std::uint64_t rounds) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
        auto timer = std::make_unique<TimerType>(options);
        Timer& base = *timer;
        std::atomic<bool> isEntered{false};
        timer->newTimeout(
            [&] {
                isEntered = true;
                for (int refused = 0; refused < 3;) {
                    static_cast<void>(base.pendingTimeouts());
                    try {
                        base.newTimeout([] {}, std::chrono::hours{1}).cancel();
                    } catch (std::logic_error const&) {
                        ++refused;  // the destructor has begun
                    }
                }
            },
            std::chrono::nanoseconds{0});
        waitUntil([&] { return isEntered.load(); });
        timer.reset();
    }
}

}  // namespace timingwheel::test
