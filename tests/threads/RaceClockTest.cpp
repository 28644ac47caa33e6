#include "CancelRaces.h"

#include <support/Effort.h>
#include <support/TestTimers.h>
#include <support/ThreadPool.h>
#include <support/Threads.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// Timeouts that several threads schedule while another one moves the clock.
class Producers {
public:
    explicit Producers(std::size_t poolThreads) {
        TimerOptions options{.clock = clock_};
        if (poolThreads > 0) options.executor = pool_.emplace(poolThreads);
        timer_.emplace(std::move(options));
    }

    void run(std::uint64_t timeouts) {
        constexpr std::size_t kThreads = 3;
        std::atomic<std::size_t> producing{kThreads};
        together(kThreads + 1, [&](std::size_t thread) {
            Random random{thread};
            if (thread < kThreads) {
                for (std::uint64_t i = 0; i < timeouts / kThreads; ++i) produce(random);
                --producing;
                return;
            }
            while (producing > 0) advance(random.below(std::chrono::nanoseconds{3ms}));
        });
        advance(1s);
        EXPECT_EQ(early_, 0U);
        EXPECT_EQ(unrun_, 0U);
        EXPECT_EQ(timer_->pendingTimeouts(), 0U);
    }

private:
    struct Entry {
        explicit Entry(Clock::TimePoint itsDeadline) : deadline{itsDeadline} {}
        Clock::TimePoint deadline;
        std::atomic<bool> hasRun{false};
    };

    void produce(Random& random) {
        auto const deadline = clock_.now() + random.below(std::chrono::nanoseconds{50ms});
        Entry* entry = nullptr;
        {
            std::lock_guard const lock{mutex_};
            entry = &entries_.emplace_back(deadline);
        }
        Timeout const timeout = timer_->newTimeout(
            [this, entry] {
                if (clock_.now() < entry->deadline) ++early_;
                entry->hasRun = true;
            },
            deadline);
        std::lock_guard const lock{mutex_};
        accepted_.push_back({entry, timeout.deadline()});
    }

    /// All that was accepted before must have run when advance returns, if it is due by then.
    void advance(std::chrono::nanoseconds time) {
        std::vector<std::pair<Entry*, Clock::TimePoint>> before;
        {
            std::lock_guard const lock{mutex_};
            before.swap(accepted_);
        }
        clock_.advance(time);
        std::lock_guard const lock{mutex_};
        for (auto const& [entry, due] : before) {
            if (due > clock_.now())
                accepted_.emplace_back(entry, due);
            else if (!entry->hasRun)
                ++unrun_;
        }
    }

    ManualClock clock_;
    std::mutex mutex_;
    std::deque<Entry> entries_;
    std::vector<std::pair<Entry*, Clock::TimePoint>> accepted_;
    std::atomic<std::uint64_t> early_{0};
    std::uint64_t unrun_ = 0;
    std::optional<boost::asio::thread_pool> pool_;
    std::optional<SystemTimer> timer_;  // the last: its tasks use the others
};

TEST(RaceClock, AdvanceReturnsWhenAllThatIsDueHasRun) {
    Watchdog const watchdog{"advance() beside producers"};
    Producers{0}.run(scaled(6'000));
    Producers{2}.run(scaled(6'000));
}

// G15
/// A wall clock is set forward and back while threads schedule, cancel and move.
TEST(RaceClock, AWallClockThatIsSetLosesNothing) {
    Watchdog const watchdog{"a wall clock that is set beside callers"};
    constexpr std::size_t kThreads = 3;
    constexpr std::size_t kEach = 64;
    std::uint64_t const turns = scaled(2'000);
    SettableClock clock{Clock::TimePoint{} + 24h * 365, Clock::Kind::wall};
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> cancelled{0};
    SystemTimer timer{{.clock = clock}};
    std::atomic<std::size_t> working{kThreads};
    together(kThreads + 1, [&](std::size_t thread) {
        Random random{thread};
        if (thread == kThreads) {
            while (working > 0) {
                auto const step = random.below(std::chrono::nanoseconds{2min}) - 1min;
                clock.set(clock.now() + step);
                if (random.below(20) == 0) cancelled += timer.cancelAll();
            }
            return;
        }
        std::vector<Timeout> mine(kEach);
        for (std::uint64_t i = 0; i < turns; ++i) {
            Timeout& timeout = mine[random.below(kEach)];
            auto const delay = random.below(std::chrono::nanoseconds{3min});
            if (timeout && random.below(2) == 0) {
                timer.reschedule(timeout, delay);
                continue;
            }
            if (timeout && timeout.cancel()) ++cancelled;
            timeout = timer.newTimeout([&ran] { ++ran; }, delay);
            ++accepted;
        }
        --working;
    });
    timer.checkInvariants();
    clock.set(Clock::TimePoint{} + 24h * 3'650);
    timer.drain();
    EXPECT_EQ(ran + cancelled, accepted);
}

TEST(RaceClock, AdvancesFromSeveralThreadsAreMadeOneAfterTheOther) {
    Watchdog const watchdog{"several threads that move a clock"};
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    std::atomic<int> runs{0};
    timer.scheduleAtFixedRate([&runs] { ++runs; }, 1ms, 1ms);
    auto const begin = clock.now();
    together(4, [&](std::size_t) {
        for (int i = 0; i < 50; ++i) clock.advance(1ms);
    });
    EXPECT_EQ(clock.now() - begin, 200ms);
    EXPECT_EQ(runs, 200);
}

// Bug pattern: the time that a duration counts from is read before the move under way ends.
TEST(RaceClock, ADurationCountsFromWhereTheMoveBeforeItEnds) {
    Watchdog const watchdog{"two threads that move a clock"};
    for (bool const jumps : {false, true}) {
        ManualClock clock;
        std::promise<void> begun;
        std::atomic<bool> isToEnd{false};
        SystemTimer timer{{.clock = clock}};
        timer.newTimeout(
            [&] {
                begun.set_value();
                waitUntil([&] { return isToEnd.load(); });
                std::this_thread::sleep_for(10ms);
            },
            30min);
        auto const start = clock.now();
        std::thread first{[&] { clock.advance(1h); }};
        begun.get_future().wait();
        isToEnd = true;
        jumps ? clock.jump(1s) : clock.advance(1s);
        first.join();
        EXPECT_EQ(clock.now() - start, 1h + 1s);
    }
}

TEST(RaceClock, ATimerMayBeDestroyedWhileItsClockMoves) {
    Watchdog const watchdog{"a clock and a timer that goes"};
    ManualClock clock;
    for (std::uint64_t round = 0; round < scaled(200, 50); ++round) {
        std::optional<SystemTimer> timer{std::in_place, TimerOptions{.clock = clock}};
        timer->scheduleAtFixedRate([] {}, 1ms, 1ms);
        together(2, [&](std::size_t thread) {
            if (thread == 0)
                clock.advance(20ms);
            else
                timer.reset();
        });
    }
}

}  // namespace
}  // namespace timingwheel::test
