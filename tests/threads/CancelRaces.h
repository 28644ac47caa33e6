#pragma once

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
#include <string>

/// Races of cancel(), reschedule() and cancelAndWait() against each other and against expiry, with
/// counts that the caller chooses.
namespace timingwheel::test {

/// Inline on the driver thread, or on a pool.
class Runners {
public:
    /// 0 threads: inline.
    explicit Runners(std::size_t threads) {
        if (threads > 0) pool_.emplace(threads);
    }

    TimerOptions options(Duration tick = std::chrono::microseconds{10}) {
        TimerOptions options;
        options.tick = tick;
        if (pool_) options.executor = *pool_;
        return options;
    }
    std::string name() const { return pool_ ? "on a pool" : "inline"; }

private:
    std::optional<boost::asio::thread_pool> pool_;
};

enum class Rival { cancel, rescheduleLater, rescheduleEarlier };

/// What came of the races.
struct RaceTally {
    std::uint64_t races = 0;
    std::uint64_t ran = 0;
    std::uint64_t firstCancelled = 0;
    std::uint64_t secondCancelled = 0;
    std::uint64_t rescheduled = 0;
    std::uint64_t broken = 0;  ///< not exactly one winner
    std::uint64_t early = 0;   ///< ran before the deadline of a reschedule that had won
};

/// {cancel, rival, expire} over and over. Prints and checks the tally.
class CancelRace {
public:
    CancelRace(std::size_t poolThreads, Rival rival)
        : runners_{poolThreads}, rival_{rival}, timer_{runners_.options()} {}

    RaceTally run(std::uint64_t races) {
        inBatches(
            races / kBatch + 1, 2, [this](std::uint64_t) { schedule(); },
            [this](std::size_t worker, std::uint64_t) { compete(worker); },
            [this](std::uint64_t) { judge(); });
        tell();
        EXPECT_EQ(tally_.ran + tally_.firstCancelled + tally_.secondCancelled, tally_.races);
        return tally_;
    }

private:
    static constexpr std::size_t kBatch = 256;
    static constexpr std::chrono::microseconds kSpread{150};

    struct Contest {
        Timeout timeout;
        std::atomic<int> runs{0};
        std::atomic<std::int64_t> ranAt{0};
        bool firstWon = false;
        bool secondWon = false;
        bool moved = false;
        Clock::TimePoint deadline{};
    };

    void schedule() {
        for (Contest& contest : contests_) {
            contest.runs.store(0, std::memory_order_relaxed);
            contest.firstWon = contest.secondWon = contest.moved = false;
            auto const longer = rival_ == Rival::rescheduleEarlier ? 4 * kSpread : kSpread;
            contest.timeout = timer_.newTimeout(
                [&contest, this] {
                    contest.ranAt.store(timer_.clock().now().time_since_epoch().count(),
                                        std::memory_order_relaxed);
                    contest.runs.fetch_add(1, std::memory_order_release);
                },
                kSpread / 3 + random_[2].below(longer));
        }
    }

    void compete(std::size_t worker) {
        Random& random = random_[worker];
        spinFor(random.below(kSpread));
        for (Contest& contest : contests_) {
            if (worker == 0) {
                contest.firstWon = contest.timeout.cancel();
            } else if (rival_ == Rival::cancel) {
                contest.secondWon = contest.timeout.cancel();
            } else {
                auto const delay = rival_ == Rival::rescheduleLater
                                       ? kSpread + random.below(kSpread)
                                       : random.below(kSpread / 10);
                contest.deadline = timer_.clock().now() + delay;
                contest.moved = timer_.reschedule(contest.timeout, contest.deadline);
            }
        }
    }

    void judge() {
        for (Contest& contest : contests_) {
            bool const cancelled = contest.firstWon || contest.secondWon;
            waitUntil(
                [&] { return cancelled || contest.runs.load(std::memory_order_acquire) > 0; });
            int const runs = contest.runs.load(std::memory_order_acquire);
            int const winners = runs + (contest.firstWon ? 1 : 0) + (contest.secondWon ? 1 : 0);
            ++tally_.races;
            tally_.broken += winners == 1 ? 0U : 1U;
            tally_.broken += contest.timeout.isCancelled() == cancelled ? 0U : 1U;
            tally_.ran += static_cast<std::uint64_t>(runs);
            tally_.firstCancelled += contest.firstWon ? 1U : 0U;
            tally_.secondCancelled += contest.secondWon ? 1U : 0U;
            tally_.rescheduled += contest.moved ? 1U : 0U;
            std::int64_t const ranAt = contest.ranAt.load(std::memory_order_relaxed);
            if (runs > 0 && contest.moved && ranAt < contest.deadline.time_since_epoch().count())
                ++tally_.early;
        }
    }

    void tell() const {
        std::string const who = rivalName() + ", " + runners_.name();
        Of const all{tally_.races, 1'000'000};
        figure("G4", "not exactly one winner of cancel, " + who, tally_.broken, exactly(0), all);
        figure("G4", "won by the expiry of cancel, " + who, tally_.ran, noBound(), all);
        if (rival_ == Rival::cancel) return;
        figure("G4", "early after a reschedule that won of cancel, " + who, tally_.early,
               exactly(0), {tally_.rescheduled, 0});
    }
    std::string rivalName() const {
        if (rival_ == Rival::cancel) return "cancel, expire";
        return rival_ == Rival::rescheduleLater ? "reschedule later, expire"
                                                : "reschedule earlier, expire";
    }

    std::array<Random, 3> random_{Random{1}, Random{2}, Random{3}};
    std::array<Contest, kBatch> contests_;
    RaceTally tally_;
    Runners runners_;
    Rival const rival_;
    SystemTimer timer_;  // the last: its tasks use the others
};

/// What a task uses and what dies when nobody runs it any more.
struct Prey {
    static constexpr std::uint64_t kAlive = 0x600d600d600d600d;
    static constexpr std::uint64_t kPoison = 0xdeaddeaddeaddead;

    ~Prey() { state = kPoison; }
    bool isAlive() const noexcept { return state == kAlive; }

    volatile std::uint64_t state = kAlive;  // volatile: nobody reads what dies
    std::uint64_t touched = 0;
};

/// {schedule 0 to 2 ticks, cancelAndWait, poison what the task uses}, on two threads. Returns how
/// many ran.
inline std::uint64_t raceCancelAndWait(std::size_t poolThreads, std::uint64_t rounds) {
    constexpr std::size_t kBatch = 32;
    constexpr std::size_t kThreads = 2;
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> sawPoison{0};
    std::atomic<std::uint64_t> disagreed{0};
    Runners runners{poolThreads};
    SystemTimer timer{runners.options()};
    together(kThreads, [&](std::size_t thread) {
        Random random{thread + 7};
        for (std::uint64_t round = 0; round < rounds / kThreads; round += kBatch) {
            std::array<std::unique_ptr<Prey>, kBatch> prey;
            std::array<Timeout, kBatch> timeouts;
            for (std::size_t i = 0; i < kBatch; ++i) {
                prey[i] = std::make_unique<Prey>();
                timeouts[i] = timer.newTimeout(
                    [mine = prey[i].get(), &ran, &sawPoison] {
                        if (!mine->isAlive()) ++sawPoison;
                        ++mine->touched;
                        ++ran;
                    },
                    static_cast<int>(random.below(3)) * timer.tick());
            }
            spinFor(random.below(std::chrono::microseconds{100}));
            for (std::size_t i = 0; i < kBatch; ++i) {
                bool const cancelled = timeouts[i].cancelAndWait();
                if (prey[i]->touched != (cancelled ? 0U : 1U)) ++disagreed;
                prey[i].reset();
            }
        }
    });
    Of const all{rounds, 1'000'000};
    figure("G5", "tasks that saw poison after cancelAndWait, " + runners.name(), sawPoison.load(),
           exactly(0), all);
    figure("G5", "answers of cancelAndWait that were wrong, " + runners.name(), disagreed.load(),
           exactly(0), all);
    return ran;
}

}  // namespace timingwheel::test
