#include "LedgerRaces.h"

#include <support/Effort.h>
#include <support/LoopInThread.h>
#include <support/Threads.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

// Shows G31.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// G31.
TEST(RaceLoop, EachTimeoutHasOneOutcome) {
    Watchdog const watchdog{"the ledger, in a loop"};
    keepTheLedger<LoopInThread>(RunsOn::driver, rounds(100'000, 10'000'000),
                                rounds(25'000, 100'000));
}

// G31. The loop's thread passes without the mutex, until the other one comes.
TEST(RaceLoop, TheLoopAndAnotherThreadCancelTheSameTimeoutsAsTheyExpire) {
    Watchdog const watchdog{"cancel on the loop and elsewhere"};
    LoopInThread timer;
    constexpr std::size_t kTimeouts = 64;
    std::uint64_t onLoop = 0;
    std::uint64_t elsewhere = 0;
    std::uint64_t expired = 0;
    std::uint64_t const turns = rounds(1'000, 100'000);
    // On a busy machine, one of the two may be too late for many turns.
    for (std::uint64_t turn = 0; turn < turns || onLoop == 0 || elsewhere == 0; ++turn) {
        std::vector<Timeout> timeouts;
        std::atomic<std::size_t> ran{0};
        std::atomic<bool> areThere{false};
        std::promise<std::size_t> cancelledOnLoop;
        timer.newTimeout(
            [&] {
                for (std::size_t i = 0; i < kTimeouts; ++i)
                    timeouts.push_back(timer.newTimeout([&ran] { ++ran; }, i % 2 * 1h));
                areThere = true;
                std::size_t won = 0;
                for (std::size_t i = 0; i < kTimeouts; ++i)
                    if (i % 4 != 0) won += timeouts[i].cancel() ? 1U : 0U;
                cancelledOnLoop.set_value(won);
            },
            0ms);
        waitUntil([&] { return areThere.load(); });
        std::size_t won = 0;
        for (std::size_t i = kTimeouts; i-- > 0;) won += timeouts[i].cancel() ? 1U : 0U;
        std::size_t const wonOnLoop = cancelledOnLoop.get_future().get();
        waitUntil([&] { return timer.pendingTimeouts() == 0; });
        for (Timeout const& timeout : timeouts) timeout.cancelAndWait();
        EXPECT_EQ(won + wonOnLoop + ran, kTimeouts);
        onLoop += wonOnLoop;
        elsewhere += won;
        expired += ran;
    }
    printFigure("cancelled on the loop ", onLoop, ", elsewhere ", elsewhere, ", expired ", expired);
}

// G31. Bug pattern: another thread's schedule comes between the loop's last look and its sleep.
TEST(RaceLoop, NoWakeUpIsLost) {
    Watchdog const watchdog{"a wake-up of a loop"};
    LoopInThread timer;
    Timeout const far = timer.newTimeout([] {}, 1h);
    std::atomic<std::uint64_t> ran{0};
    std::uint64_t const turns = rounds(2'000, 200'000);
    for (std::uint64_t turn = 1; turn <= turns; ++turn) {
        if (turn % 3 == 0) spinFor(std::chrono::microseconds{turn % 50});
        timer.newTimeout([&ran] { ++ran; }, 0ms);
        if (turn % 2 == 0) waitUntil([&] { return ran == turn; });
    }
    waitUntil([&] { return ran == turns; });
    EXPECT_TRUE(far.isPending());
}

// G31.
TEST(RaceLoop, AHookMayDieOnAnotherThreadThanTheLoops) {
    Watchdog const watchdog{"a hook that dies elsewhere"};
    struct Session {
        ~Session() {
            hook.cancelAndWait();
            isAlive = false;
        }
        void onIdle() { EXPECT_TRUE(isAlive); }
        bool isAlive = true;
        TimerHook<&Session::onIdle> hook{*this};
    };
    LoopInThread timer;
    Random random{1};
    for (std::uint64_t left = rounds(5'000, 500'000); left > 0; --left) {
        auto session = std::make_unique<Session>();
        timer.schedule(session->hook, timer.clock().now());
        spinFor(random.below(2us));
        if (left % 2 == 0) session->hook.reschedule(1ms);
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// Bug pattern: the clock's thread comes to count shares after all of them were settled.
TEST(RaceLoop, MayDieWhileAnotherThreadMovesItsClock) {
    Watchdog const watchdog{"a loop's timer that dies while its clock moves"};
    auto const witness = std::make_shared<int>();
    {
        ManualClock clock;
        std::mutex mutex;
        std::vector<Timeout> handles;  // the last ones go on the clock's thread
        std::atomic<bool> isOver{false};
        std::thread moving{[&] {
            while (!isOver) {
                clock.advance(1ms);
                std::lock_guard const lock{mutex};
                handles.clear();
            }
        }};
        for (std::uint64_t i = rounds(10'000, 1'000'000); i > 0; --i) {
            LoopTimer timer{{.clock = clock, .errorHandler = [witness](TaskFailure const&) {}}};
            Timeout const timeout = timer.newTimeout([] {}, 1ms);
            std::lock_guard const lock{mutex};
            handles.push_back(timeout);
        }
        isOver = true;
        moving.join();
    }
    EXPECT_EQ(witness.use_count(), 1) << "a timer's memory was not freed";
}

// G31. Whoever stops it waits for the pass, after which clock and descriptor may go.
TEST(RaceLoop, MayBeStoppedOnAnotherThreadWhileItRuns) {
    Watchdog const watchdog{"stop beside a loop"};
    for (std::uint64_t left = rounds(200, 20'000); left > 0; --left) {
        LoopInThread timer;
        std::atomic<std::uint64_t> ran{0};
        for (int i = 0; i < 100; ++i)
            timer.newTimeout([&ran] { ++ran; }, std::chrono::microseconds{i * 20});
        spinFor(std::chrono::microseconds{left % 100 * 20});
        StoppedTimeouts const stopped = timer.stop();
        std::uint64_t const before = ran;
        EXPECT_EQ(stopped.size() + before, 100U);
        EXPECT_FALSE(timer->runDue());
        EXPECT_EQ(ran, before);
    }
}

}  // namespace
}  // namespace timingwheel::test
