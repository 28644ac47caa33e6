// Timeouts that survive the process, on a disk in memory and in files.

#include "Deliveries.h"
#include "PowerCut.h"

#include <support/AllocationCounter.h>
#include <support/Effort.h>
#include <support/Platform.h>
#include <support/TemporaryFile.h>
#include <support/Threads.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/store/DurableTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::store {
namespace {

using namespace std::chrono_literals;
using test::Deliveries;
using test::PowerCut;
using test::waitUntil;
using test::Watchdog;
using Time = DurableTimer::TimePoint;

/// A timer on a disk in memory, at noon of some day.
class DurableTimerTest : public testing::Test {
protected:
    Time now() const { return Clock::systemTime(clock.now()); }
    DurableTimerOptions options() {
        return {.errorHandler = [this](DurableFailure const&) { ++errors; },
                .clock = clock,
                .retryClock = steady,
                .fileSystem = PowerCut::kName};
    }
    void start() { timer.emplace("timeouts.db", deliveries.handler(), options()); }

    /// The time for which a timer calls a handler of the test's own. It is declared after what
    /// the handler uses, so that the timer stops first, however the test ends.
    class [[nodiscard]] Run {
    public:
        explicit Run(std::optional<DurableTimer>& timer) : timer_{timer} {}
        ~Run() { timer_.reset(); }
        Run(Run const&) = delete;
        Run& operator=(Run const&) = delete;

    private:
        std::optional<DurableTimer>& timer_;
    };
    Run start(DurableTimer::Handler handler, DurableTimerOptions const& with) {
        timer.emplace("timeouts.db", std::move(handler), with);
        return Run{timer};
    }
    void restart() {
        timer.reset();
        start();
    }
    /// All that is due has been delivered, and removed from the file.
    void waitForPending(std::uint64_t count) {
        waitUntil([&] { return timer->pendingTimeouts() == count || disk.isCut(); });
    }

    Watchdog watchdog{"a durable timer"};
    PowerCut disk{1};
    ManualClock clock{Clock::wallTime(Time{20'000 * 24h + 12h}), Clock::Kind::wall};
    ManualClock steady;
    Deliveries deliveries{clock};
    std::atomic<int> errors{0};
    std::optional<DurableTimer> timer;
};

TEST_F(DurableTimerTest, DeliversWhatIsDueWithItsPayload) {
    start();
    EXPECT_FALSE(timer->schedule("order 1", now() + 30min, "two books").get());
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
    clock.advance(30min - 1ms);
    EXPECT_TRUE(deliveries.ids().empty());
    clock.advance(1ms);
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].id, "order 1");
    EXPECT_EQ(all[0].payload, "two books");
    EXPECT_EQ(all[0].deadline, now());
}

TEST_F(DurableTimerTest, RoundsADeadlineUpToTheMillisecond) {
    start();
    Time const begin = now();
    timer->schedule("a", begin + 1ms + Time::duration{1}).get();
    clock.advance(1ms);
    EXPECT_TRUE(timer->reschedule("a", begin + 1ms + Time::duration{1}).get());
    EXPECT_TRUE(deliveries.ids().empty());
    clock.advance(1ms);
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].deadline, begin + 2ms);
}

TEST_F(DurableTimerTest, KeepsWhatIsPendingAcrossARestart) {
    start();
    timer->schedule("near", now() + 1min).get();
    timer->schedule("far", now() + 24h).get();
    restart();
    EXPECT_EQ(timer->pendingTimeouts(), 2U);
    clock.advance(1min);
    waitForPending(1);
    restart();
    clock.advance(24h);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"near", "far"}));
}

TEST_F(DurableTimerTest, DeliversWhatWasDueWhileItDidNotRun) {
    start();
    timer->schedule("b", now() + 2h).get();
    timer->schedule("a", now() + 1h).get();
    timer.reset();
    clock.advance(72h);
    start();
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(DurableTimerTest, AnswersWhetherATimeoutWasPending) {
    start();
    for (std::chrono::minutes const delay : {1min, 1'440min}) {
        Time const deadline = now() + delay;
        EXPECT_FALSE(timer->cancel("a").get());
        EXPECT_FALSE(timer->reschedule("a", deadline).get());
        EXPECT_FALSE(timer->schedule("a", deadline).get());
        EXPECT_TRUE(timer->schedule("a", deadline + 1min).get());
        EXPECT_TRUE(timer->reschedule("a", deadline).get());
        EXPECT_TRUE(timer->reschedule("a", deadline + 2min).get());
        EXPECT_EQ(timer->pendingTimeouts(), 1U);
        EXPECT_TRUE(timer->cancel("a").get());
        EXPECT_FALSE(timer->cancel("a").get());
        EXPECT_EQ(timer->pendingTimeouts(), 0U);
    }
    clock.advance(48h);
    restart();
    EXPECT_TRUE(deliveries.ids().empty());
}

TEST_F(DurableTimerTest, MovesATimeoutFromFarToNearAndBack) {
    start();
    timer->schedule("nearer", now() + 24h, "1").get();
    timer->schedule("farther", now() + 1min, "2").get();
    EXPECT_TRUE(timer->reschedule("nearer", now() + 1min).get());
    EXPECT_TRUE(timer->reschedule("farther", now() + 24h).get());
    clock.advance(1min);
    waitForPending(1);
    clock.advance(24h);
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].id + all[0].payload, "nearer1");
    EXPECT_EQ(all[1].id + all[1].payload, "farther2");
}

TEST_F(DurableTimerTest, CommitsChangesOfOneIdInTheirOrder) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 100; ++i) {
        answers.push_back(timer->schedule("a", now() + 1min));
        answers.push_back(timer->reschedule("a", now() + 2min));
        answers.push_back(timer->reschedule("a", now() + 24h));
        answers.push_back(timer->reschedule("a", now() + 3min));
        answers.push_back(timer->cancel("a"));
    }
    answers.push_back(timer->schedule("a", now() + 4min));
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get(), i % 5 != 0) << i;
    clock.advance(3min);
    clock.advance(1min);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), std::vector<std::string>{"a"});
}

TEST_F(DurableTimerTest, ReadsAheadInPortions) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 1'000; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1h + i / 10 * 1min));
    for (auto& answer : answers) answer.get();
    timer.reset();
    DurableTimerOptions few = options();
    few.maxRead = 7;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    clock.advance(1h);
    waitForPending(990);
    clock.advance(1h);
    waitForPending(390);
    clock.advance(48h);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids().size(), 1'000U);
}

// The last one that was read is where what was not read begins.
TEST_F(DurableTimerTest, DeliversTheLastThatWasReadThoughItWasMovedToWhereItIs) {
    start();
    timer->schedule("a", now() + 1min).get();
    timer->schedule("b", now() + 2min).get();
    timer.reset();
    DurableTimerOptions few = options();
    few.maxRead = 1;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    EXPECT_TRUE(timer->reschedule("a", now() + 1min).get());
    clock.advance(2min);
    waitUntil([&] { return timer->pendingTimeouts() < 2; });
    ASSERT_EQ(deliveries.ids().front(), "a");
    waitForPending(0);
}

TEST_F(DurableTimerTest, CallsAHandlerThatThrowsAgain) {
    int calls = 0;
    Run const run = start(
        [&](DurableTimeout const&) {
            if (++calls < 3) throw std::runtime_error{"not yet"};
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    waitUntil([&] {
        steady.advance(1s);
        return timer->pendingTimeouts() == 0;
    });
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(errors, 2);
}

TEST_F(DurableTimerTest, PrintsWhichTimeoutsHandlerThrew) {
    DurableTimerOptions silent = options();
    silent.errorHandler = {};
    testing::internal::CaptureStderr();
    {
        std::atomic<int> calls{0};
        Run const run = start(
            [&](DurableTimeout const&) {
                if (calls++ == 0) throw std::runtime_error{"no paper"};
            },
            silent);
        timer->schedule("4711", now()).get();
        waitUntil([&] {
            steady.advance(1s);
            return timer->pendingTimeouts() == 0;
        });
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "timingwheel: the handler of \"4711\" threw: no paper\n");
}

// The time of day may be set meanwhile.
TEST_F(DurableTimerTest, CallsAHandlerThatThrowsLessAndLessOftenByTheSteadyClock) {
    std::atomic<int> calls{0};
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            if (timeout.id != "poison") return;
            ++calls;
            throw std::runtime_error{"never"};
        },
        options());
    timer->schedule("poison", now() - 3h).get();
    for (int i = 0, seconds = 1; i < 9; ++i, seconds = std::min(seconds * 2, 64)) {
        waitUntil([&] { return calls == i + 1; });
        // The writer has been told of it when what its thread handles next is gone.
        timer->schedule("next", now()).get();
        waitForPending(1);
        timer->cancel("none").get();
        clock.jump(-1min);
        clock.advance(30s);
        steady.advance(std::chrono::seconds{seconds} - 1ms);
        timer->schedule("next", now()).get();
        waitForPending(1);
        EXPECT_EQ(calls, i + 1);
        steady.advance(1ms);
    }
}

TEST_F(DurableTimerTest, ReadsNoMoreWhenAllHandlersThrow) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 200; ++i) answers.push_back(timer->schedule(std::to_string(i), now() + 1h));
    for (auto& answer : answers) answer.get();
    timer.reset();
    clock.advance(1h);
    DurableTimerOptions few = options();
    few.maxRead = 10;
    std::atomic<bool> throws{true};
    std::mutex mutex;
    std::map<std::string, int> calls;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            std::lock_guard const lock{mutex};
            ++calls[timeout.id];
            if (throws) throw std::runtime_error{"not yet"};
        },
        few);
    waitUntil([&] {
        steady.advance(64s);
        return errors > 300;
    });
    {
        std::lock_guard const lock{mutex};
        EXPECT_LE(calls.size(), 2 * few.maxRead);
    }
    throws = false;
    waitUntil([&] {
        steady.advance(64s);
        return timer->pendingTimeouts() == 0;
    });
    EXPECT_EQ(calls.size(), 200U);
}

// What is not in memory is pending still, though it is overdue.
TEST_F(DurableTimerTest, ReadsNoMoreBytesThanItMay) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 100; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1h, std::string(1'000, 'x')));
    for (auto& answer : answers) answer.get();
    timer.reset();
    clock.advance(1h);
    DurableTimerOptions few = options();
    few.maxBytes = 3'500;
    std::promise<void> mayEnd;
    std::shared_future<void> const end = mayEnd.get_future().share();
    std::atomic<int> calls{0};
    Run const run = start(
        [&](DurableTimeout const&) {
            if (++calls > 1) end.wait();
        },
        few);
    // It reads on when half of the room is free.
    waitUntil([&] { return calls == 2; });
    // One after the other: it might read on after each.
    std::vector<bool> found;
    for (int i = 0; i < 100; i += 2) found.push_back(timer->cancel(std::to_string(i)).get());
    EXPECT_EQ(std::count(found.begin(), found.end(), false), 2);
    EXPECT_EQ(timer->pendingTimeouts(), 51U);
    mayEnd.set_value();
    waitForPending(0);
}

TEST_F(DurableTimerTest, ReadsOneAfterTheOtherIfNoneFits) {
    start();
    for (int i = 0; i < 3; ++i) timer->schedule(std::to_string(i), now() + 1h).get();
    timer.reset();
    clock.advance(1h);
    DurableTimerOptions few = options();
    few.maxBytes = 1;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(DurableTimerTest, ReadsNoMoreTimeoutsThanItMay) {
    start();
    for (int i = 0; i < 20; ++i) timer->schedule(std::to_string(i), now() + 1h).get();
    timer.reset();
    clock.advance(1h);
    DurableTimerOptions few = options();
    few.maxRead = 4;
    std::promise<void> mayEnd;
    std::shared_future<void> const end = mayEnd.get_future().share();
    std::atomic<int> calls{0};
    Run const run = start(
        [&](DurableTimeout const&) {
            if (++calls > 1) end.wait();
        },
        few);
    // It reads on when half of the room is free.
    waitUntil([&] { return calls == 2; });
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(timer->cancel(std::to_string(i)).get(), i >= 4) << "of what is due: " << i;
    mayEnd.set_value();
    waitForPending(0);
}

TEST_F(DurableTimerTest, HoldsUpCallersWhoseBytesDoNotFit) {
    DurableTimerOptions few = options();
    few.maxBytes = 2'500;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    std::atomic<int> accepted{0};
    std::unique_lock slow{disk.mutex()};
    std::thread caller{[&] {
        for (int i = 0; i < 100; ++i) {
            static_cast<void>(
                timer->schedule(std::to_string(i), now() + 1h, std::string(1'000, 'x')));
            ++accepted;
        }
    }};
    waitUntil([&] { return accepted >= 3; });
    std::this_thread::sleep_for(20ms);  // it would go on
    EXPECT_LE(accepted, 6);             // three in a commit, and three that wait
    slow.unlock();
    caller.join();
    waitForPending(100);
}

// As when the disk refuses it: the time of day does not move.
TEST_F(DurableTimerTest, TriesAgainToRemoveWhatTheDiskHasRefused) {
    DurableTimerOptions few = options();
    few.maxGroup = 1;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    timer->schedule("first", now() + 1s).get();
    for (char const* const id : {"a", "b", "c"}) timer->schedule(id, now() + 1min).get();
    std::uint64_t const before = disk.calls();
    timer->schedule("d", now() + 1min).get();
    clock.advance(1s);
    waitForPending(4);
    // As much once more, and the disk is full, while it removes one after another.
    disk.fillAfter(disk.calls() - before + 1);
    {
        std::lock_guard const slow{disk.mutex()};
        static_cast<void>(timer->schedule("far", now() + 1h));  // it waits for the disk
        clock.advance(59s);
        waitUntil([&] { return deliveries.ids().size() == 5; });
    }
    waitUntil([&] { return errors > 0; });
    EXPECT_LT(timer->pendingTimeouts(), 5U) << "it has removed none";
    for (int i = 0; i < 100; ++i) EXPECT_THROW(timer->schedule("e", now() + 1h).get(), StoreError);
    // A handler that returns later has it tried once more: a, b, c, d.
    EXPECT_LE(errors, 4) << "it has not waited before it tried again";
    disk.restore();
    waitUntil([&] {
        steady.advance(1s);
        return timer->pendingTimeouts() == 1;
    });
    restart();
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"first", "a", "b", "c", "d"}));
}

TEST_F(DurableTimerTest, CommitsNoMoreChangesAtOnceThanItMay) {
    constexpr std::uint64_t kCount = 40;
    DurableTimerOptions few = options();
    few.maxGroup = 4;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    std::uint64_t syncs = 0;
    std::vector<std::future<bool>> answers;
    {
        std::lock_guard const slow{disk.mutex()};
        syncs = disk.syncs();
        for (std::uint64_t i = 0; i < kCount; ++i)
            answers.push_back(timer->schedule(std::to_string(i), now() + 1h));
    }
    for (auto& answer : answers) answer.get();
    std::lock_guard const lock{disk.mutex()};
    EXPECT_GE(disk.syncs() - syncs, kCount / 4);
}

TEST_F(DurableTimerTest, RemovesWhatHasBeenDeliveredInGroups) {
    constexpr std::uint64_t kCount = 40;
    DurableTimerOptions few = options();
    few.maxGroup = 4;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    for (std::uint64_t i = 0; i < kCount; ++i)
        timer->schedule(std::to_string(i), now() + 1min).get();
    std::uint64_t syncs = 0;
    std::vector<std::future<bool>> answers;
    {
        std::lock_guard const slow{disk.mutex()};
        syncs = disk.syncs();
        answers.push_back(timer->cancel("none"));  // has the writer wait for the disk
        clock.advance(1min);
        waitUntil([&] { return deliveries.ids().size() == kCount; });
        for (std::uint64_t i = 0; i < kCount; ++i)
            answers.push_back(timer->reschedule(std::to_string(i), now() + 1h));
    }
    // One that is delivered is not pending, though it is in the file still.
    for (auto& answer : answers) EXPECT_FALSE(answer.get());
    waitForPending(0);
    std::lock_guard const lock{disk.mutex()};
    EXPECT_GE(disk.syncs() - syncs, kCount / 4);
}

TEST_F(DurableTimerTest, RemovesWhatHasBeenDeliveredBitByBitWhereTheDiskHasLittleRoom) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 2'000; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1min, std::string(300, 'x')));
    for (auto& answer : answers) answer.get();
    restart();  // and its log is gone
    disk.leave(100'000);
    clock.advance(1min);
    waitUntil([&] {
        steady.advance(1s);
        return timer->pendingTimeouts() == 0 || errors > 50;
    });
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    EXPECT_GT(errors, 0);
}

// What did not fit would stay in the log, and the next larger one add to it.
TEST_F(DurableTimerTest, GivesBackTheRoomOfWhatTheDiskRefused) {
    DurableTimerOptions large = options();
    large.maxPayload = 10'000'000;
    timer.emplace("timeouts.db", deliveries.handler(), large);
    timer->schedule("a", now() + 1h).get();
    timer.emplace("timeouts.db", deliveries.handler(), large);  // what is in the file has its room
    timer->schedule("a", now() + 2h).get();
    disk.leave(1'000'000);
    EXPECT_THROW(timer->schedule("b", now() + 1h, std::string(5'000'000, 'x')).get(), StoreError);
    std::lock_guard const lock{disk.mutex()};
    EXPECT_EQ(disk.files()["timeouts.db-wal"].content.size(), 0U);
}

TEST_F(DurableTimerTest, GivesBackTheRoomOfALargeCommit) {
    DurableTimerOptions large = options();
    large.maxPayload = 20'000'000;
    timer.emplace("timeouts.db", deliveries.handler(), large);
    timer->schedule("a", now() + 1h, std::string(20'000'000, 'x')).get();
    timer->schedule("b", now() + 1h).get();
    std::lock_guard const lock{disk.mutex()};
    EXPECT_LE(disk.files()["timeouts.db-wal"].content.size(), 8'000'000U);
}

// Nothing is read twice, nor left out, where one look ahead ends and the next begins.
TEST_F(DurableTimerTest, DeliversWhatIsDueAtTheHorizonOnce) {
    start();
    for (int const beyond : {-1, 0, 1})
        timer->schedule(std::to_string(beyond), now() + 1h + beyond * 1ms).get();
    timer.reset();
    clock.advance(50min);  // the horizon
    start();
    clock.advance(5min);
    timer->cancel("none").get();
    clock.advance(5min + 1ms);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"-1", "0", "1"}));
}

TEST_F(DurableTimerTest, CancelsWhatItMovedFarAwayInTheSameCommit) {
    start();
    timer->schedule("a", now() + 1min).get();
    std::vector<std::future<bool>> answers;
    {
        std::lock_guard const slow{disk.mutex()};
        answers.push_back(timer->schedule("b", now() + 1min));  // has the writer wait for the disk
        answers.push_back(timer->reschedule("a", now() + 24h));
        answers.push_back(timer->cancel("a"));
        answers.push_back(timer->reschedule("a", now() + 1min));
    }
    std::vector<bool> found;
    for (auto& answer : answers) found.push_back(answer.get());
    EXPECT_EQ(found, (std::vector<bool>{false, true, true, false}));
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
}

// Its handler has thrown.
TEST_F(DurableTimerTest, CancelsAndMovesWhatWaitsForTheNextCallOfItsHandler) {
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            deliveries.handler()(timeout);
            if (timeout.id != "last") throw std::runtime_error{"not yet"};
        },
        options());
    timer->schedule("a", now()).get();
    timer->schedule("b", now()).get();
    waitUntil([&] { return errors == 2; });
    timer->schedule("last", now()).get();
    waitForPending(2);
    timer->cancel("none").get();
    disk.fill(true);
    EXPECT_THROW(timer->cancel("a").get(), StoreError);  // it goes on waiting
    disk.fill(false);
    EXPECT_TRUE(timer->cancel("a").get());
    EXPECT_TRUE(timer->reschedule("b", now() + 24h).get());
    steady.advance(2s);
    timer->schedule("last", now()).get();
    waitForPending(1);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"a", "b", "last", "last"}));
}

TEST_F(DurableTimerTest, IsTooLateForACancelWhileTheHandlerRuns) {
    std::promise<void> mayEnd;
    std::promise<void> runs;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            if (timeout.payload == "new") return;
            runs.set_value();
            mayEnd.get_future().wait();
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    runs.get_future().wait();
    EXPECT_FALSE(timer->cancel("a").get());
    EXPECT_FALSE(timer->reschedule("a", now() + 1h).get());
    EXPECT_FALSE(timer->schedule("a", now() + 1h, "new").get());
    mayEnd.set_value();
    waitForPending(1);
    EXPECT_TRUE(timer->cancel("a").get());
}

// Signals are for the program's own threads.
TEST_F(DurableTimerTest, CallsItsHandlerWhereSignalsAreBlocked) {
    std::atomic<bool> areBlocked{false};
    Run const run =
        start([&](DurableTimeout const&) { areBlocked = test::areSignalsBlocked(); }, options());
    timer->schedule("a", now()).get();
    waitForPending(0);
    EXPECT_EQ(areBlocked, test::kHasSignals);
    EXPECT_FALSE(test::areSignalsBlocked());
}

TEST_F(DurableTimerTest, MayBeUsedFromItsHandler) {
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            if (timeout.id == "a") timer->schedule("b", now() + 1s).get();
            deliveries.handler()(timeout);
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    waitUntil([&] { return deliveries.ids().size() == 1; });
    clock.advance(1s);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(DurableTimerTest, TellsOfADiskThatIsFullAndChangesNothing) {
    start();
    timer->schedule("a", now() + 1min, "before").get();
    disk.fill(true);
    EXPECT_THROW(timer->schedule("a", now() + 2min, "refused").get(), StoreError);
    EXPECT_THROW(timer->cancel("a").get(), StoreError);
    EXPECT_THROW(timer->schedule("b", now() + 1min).get(), StoreError);
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
    clock.advance(1min);  // is delivered, but cannot be removed
    waitUntil([&] { return !deliveries.ids().empty() && errors > 0; });
    disk.fill(false);
    waitUntil([&] {
        steady.advance(1s);
        return timer->pendingTimeouts() == 0;
    });
    timer->schedule("last", now()).get();  // behind what was refused, if that is in the wheel
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].payload, "before");
    EXPECT_EQ(all[1].id, "last");
}

// A commit is written, and then synced: whichever fails, the next commit is written over it.
TEST_F(DurableTimerTest, ForgetsWhatTheDiskRefusedWithTheNextCommit) {
    Time const deadline = now() + 1h;
    for (std::string const change : {"schedule", "cancel"}) {
        std::uint64_t refusals = 0;
        for (bool isRefused = true; isRefused;) {
            SCOPED_TRACE(change + ' ' + std::to_string(refusals));
            disk.files().clear();
            start();
            timer->schedule("a", deadline, "before").get();
            disk.fillAfter(refusals + 1);
            try {
                if (change == "cancel")
                    timer->cancel("a").get();
                else
                    timer->schedule("a", deadline + 1h, "refused").get();
                isRefused = false;
            } catch (StoreError const&) {
                ++refusals;
            }
            disk.restore();
            timer->schedule("b", deadline).get();
            auto const whenKilled = [&] {
                std::lock_guard const lock{disk.mutex()};
                return disk.files();
            }();
            timer.reset();
            if (!isRefused) continue;
            disk.files() = whenKilled;
            start();
            EXPECT_EQ(timer->pendingTimeouts(), 2U);
            clock.advance(1h);
            waitForPending(0);
            timer.reset();
            clock.jump(-1h);
            std::map<std::string, std::string> payloads;
            for (DurableTimeout const& one : deliveries.take()) payloads[one.id] = one.payload;
            EXPECT_EQ(payloads, (std::map<std::string, std::string>{{"a", "before"}, {"b", ""}}));
        }
        EXPECT_GE(refusals, 2U);
    }
}

TEST_F(DurableTimerTest, CommitsWhatWasAcceptedBeforeItStops) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 100; ++i) answers.push_back(timer->schedule(std::to_string(i), now() + 1h));
    timer->stop();
    for (auto& answer : answers) EXPECT_FALSE(answer.get());
    EXPECT_THROW(static_cast<void>(timer->schedule("late", now())), std::logic_error);
    timer->stop();
    restart();
    EXPECT_EQ(timer->pendingTimeouts(), 100U);
}

// On the real clock: a ManualClock wakes everybody. If nothing woke the driver, it would sleep for
// minutes.
TEST_F(DurableTimerTest, WakesForATimeoutThatIsEarlierThanWhatItWaitsFor) {
    DurableTimerOptions real = options();
    real.clock = Clock::wall();
    std::promise<void> delivered;
    Run const run = start([&](DurableTimeout const&) { delivered.set_value(); }, real);
    timer->schedule("late", std::chrono::system_clock::now() + 9min).get();
    std::this_thread::sleep_for(20ms);  // it may fall asleep
    timer->schedule("soon", std::chrono::system_clock::now() + 20ms).get();
    delivered.get_future().wait();
    waitForPending(1);
}

// It looks into the file after each delivery, and arms its next look anew.
TEST_F(DurableTimerTest, KeepsOneWakeUpHoweverOftenItReads) {
    start();
    std::uint64_t const count = test::scaled(10'000, 1'000);
    std::vector<std::future<bool>> answers;
    for (std::uint64_t i = 0; i < count; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1s));
    for (auto& answer : answers) answer.get();
    timer.reset();
    clock.advance(1s);
    std::uint64_t calls = 0;
    long long atFirst = 0, atLast = 0;
    DurableTimerOptions few = options();
    few.maxRead = 1;
    Run const run = start(
        [&](DurableTimeout const&) {
            if (++calls == count / 10) atFirst = test::livingBlocks();
            if (calls == count) atLast = test::livingBlocks();
        },
        few);
    waitForPending(0);
    EXPECT_LT(atLast - atFirst, static_cast<long long>(count / 10));
}

TEST_F(DurableTimerTest, FollowsAClockThatIsSetForward) {
    start();
    timer->schedule("a", now() + 48h).get();
    clock.jump(48h);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), std::vector<std::string>{"a"});
}

// Each thread that it starts may call the handler at once.
TEST_F(DurableTimerTest, MayBeUsedFromItsHandlerWhileItIsBeingMade) {
    start();
    for (int i = 0; i < 64; ++i) timer->schedule(std::to_string(i), now() + 1s).get();
    timer.reset();
    clock.advance(1s);
    DurableTimerOptions many = options();
    many.threads = 64;
    alignas(DurableTimer) std::array<std::byte, sizeof(DurableTimer)> place{};
    auto* const made = reinterpret_cast<DurableTimer*>(place.data());
    std::atomic<int> calls{0};
    auto const handler = [&](DurableTimeout const&) {
        EXPECT_LE(made->pendingTimeouts(), 64U);
        ++calls;
    };
    new (place.data()) DurableTimer{"timeouts.db", handler, many};
    waitUntil([&] { return made->pendingTimeouts() == 0; });
    std::destroy_at(made);
    EXPECT_EQ(calls, 64);
}

// The wheel outlives the writer, which asks it whether a timeout was pending.
TEST_F(DurableTimerTest, CancelsAndMovesWhatWasAcceptedBeforeItStops) {
    DurableTimerOptions single = options();
    single.maxGroup = 1;
    timer.emplace("timeouts.db", deliveries.handler(), single);
    std::uint64_t const count = test::scaled(1'000);
    std::vector<std::future<bool>> answers;
    for (std::uint64_t i = 0; i < count; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1min));
    for (auto& answer : answers) answer.get();
    answers.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
        std::string const id = std::to_string(i);
        answers.push_back(i % 2 == 0 ? timer->cancel(id) : timer->reschedule(id, now() + 2min));
    }
    timer->stop();
    for (auto& answer : answers) EXPECT_TRUE(answer.get());
    restart();
    EXPECT_EQ(timer->pendingTimeouts(), count / 2);
    clock.advance(1min);
    EXPECT_TRUE(timer->cancel("1").get());
    EXPECT_TRUE(deliveries.ids().empty());
}

// It was due, but its time is ahead again.
TEST_F(DurableTimerTest, DoesNotDeliverWhatWaitsForAThreadWhenTheClockIsSetBack) {
    std::promise<void> mayEnd;
    std::promise<void> runs;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            deliveries.handler()(timeout);
            if (timeout.id != "first") return;
            runs.set_value();
            mayEnd.get_future().wait();
        },
        options());
    timer->schedule("first", now()).get();
    runs.get_future().wait();
    Time const deadline = now() + 1min;
    timer->schedule("a", deadline).get();
    clock.jump(1min);
    EXPECT_FALSE(timer->reschedule("a", deadline).get());  // it is due
    clock.jump(-1min);
    mayEnd.set_value();
    waitUntil(
        [&] { return deliveries.ids().size() == 2 || timer->reschedule("a", deadline).get(); });
    EXPECT_EQ(deliveries.ids(), std::vector<std::string>{"first"});
    clock.advance(1min);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"first", "a"}));
}

// A row of its id that is due is not replaced: it goes when its handler has run.
TEST_F(DurableTimerTest, LosesNothingThatWasDueWhenItsIdWasScheduledAgain) {
    std::promise<void> mayEnd;
    std::promise<void> runs;
    Run const run = start(
        [&](DurableTimeout const&) {
            runs.set_value();
            mayEnd.get_future().wait();
        },
        options());
    timer->schedule("a", now() + 1s, "old").get();
    clock.advance(1s);
    runs.get_future().wait();
    EXPECT_FALSE(timer->schedule("a", now() + 1h, "new").get());
    auto const whenKilled = [&] {
        std::lock_guard const lock{disk.mutex()};
        return disk.files();
    }();
    mayEnd.set_value();
    waitForPending(1);
    timer.reset();
    disk.files() = whenKilled;
    start();
    waitUntil([&] { return !deliveries.ids().empty(); });
    waitForPending(1);
    clock.advance(1h);
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].payload, "old");
    EXPECT_EQ(all[1].payload, "new");
}

TEST_F(DurableTimerTest, CallsNoHandlerAgainWhoseIdWasCancelled) {
    std::promise<void> mayEnd;
    std::promise<void> runs;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            deliveries.handler()(timeout);
            if (timeout.id != "a") return;
            if (deliveries.ids().size() > 1) return;
            runs.set_value();
            mayEnd.get_future().wait();
            throw std::runtime_error{"not yet"};
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    runs.get_future().wait();
    EXPECT_FALSE(timer->schedule("a", now() + 1h).get());
    EXPECT_TRUE(timer->cancel("a").get());
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    mayEnd.set_value();
    waitUntil([&] { return errors == 1; });
    // The writer has heard of it when what its thread handles next is gone.
    for (std::string const id : {"b", "c"}) {
        timer->schedule(id, now()).get();
        waitForPending(0);
        timer->cancel("none").get();
        steady.advance(2s);
    }
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"a", "b", "c"}));
}

// The report lasts until the cancel is answered: the writer must have known before.
TEST_F(DurableTimerTest, CancelsWhatIsReportedToHaveThrown) {
    std::promise<void> isReported;
    std::promise<void> mayEnd;
    DurableTimerOptions slow = options();
    slow.errorHandler = [&](DurableFailure const& failure) {
        EXPECT_EQ(failure.id, "a");
        EXPECT_THROW(std::rethrow_exception(failure.exception), std::runtime_error);
        isReported.set_value();
        mayEnd.get_future().wait();
    };
    Run const run = start([](DurableTimeout const&) { throw std::runtime_error{"never"}; }, slow);
    timer->schedule("a", now()).get();
    isReported.get_future().wait();
    EXPECT_TRUE(timer->cancel("a").get());
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    mayEnd.set_value();
}

TEST_F(DurableTimerTest, CallsNoHandlerOfAnIdThatWasCancelledWhileItWaitsForAThread) {
    std::promise<void> mayEnd;
    std::promise<void> runs;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            deliveries.handler()(timeout);
            if (timeout.id != "first") return;
            runs.set_value();
            mayEnd.get_future().wait();
        },
        options());
    timer->schedule("first", now()).get();
    runs.get_future().wait();
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    EXPECT_FALSE(timer->schedule("a", now() + 1h).get());
    EXPECT_TRUE(timer->cancel("a").get());
    mayEnd.set_value();
    waitForPending(0);
    timer->schedule("last", now()).get();
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"first", "last"}));
}

// Of those whose handlers are called again memory has room for two, whatever they hold.
TEST_F(DurableTimerTest, CallsNoHandlerAgainThatWaitsForRoomAndWasCancelled) {
    std::promise<void> mayEnd;
    std::shared_future<void> const end = mayEnd.get_future().share();
    std::mutex mutex;
    std::map<std::string, int> calls;
    auto const calledTwice = [&] {
        std::lock_guard const lock{mutex};
        return std::count_if(calls.begin(), calls.end(),
                             [](auto& each) { return each.second > 1; });
    };
    DurableTimerOptions few = options();
    few.maxRead = 2;
    few.threads = 3;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            {
                std::lock_guard const lock{mutex};
                if (++calls[timeout.id] == 1) throw std::runtime_error{"not yet"};
            }
            end.wait();
        },
        few);
    for (char const* const id : {"a", "b", "c"})
        timer->schedule(id, now() + 1s, std::string(100, 'x')).get();
    clock.advance(1s);
    waitUntil([&] { return errors == 3; });
    waitUntil([&] {
        steady.advance(1s);
        return calledTwice() == 2;
    });
    // The writer has heard of the third when it has answered twice.
    for (int i = 0; i < 2; ++i) timer->cancel("none").get();
    steady.advance(1min);
    timer->cancel("none").get();
    EXPECT_EQ(calledTwice(), 2);
    std::string third;
    {
        std::lock_guard const lock{mutex};
        for (auto const& [id, count] : calls)
            if (count == 1) third = id;
    }
    EXPECT_FALSE(timer->schedule(third, now() + 1h).get());
    EXPECT_TRUE(timer->cancel(third).get());
    mayEnd.set_value();
    waitForPending(0);
    EXPECT_EQ(calledTwice(), 2);
}

TEST_F(DurableTimerTest, ReadsOnBehindATimeoutWhoseHandlerAlwaysThrows) {
    start();
    timer->schedule("poison", now() + 1s).get();
    timer->schedule("b", now() + 2s).get();
    timer->schedule("c", now() + 3s).get();
    timer.reset();
    clock.advance(3s);
    DurableTimerOptions few = options();
    few.maxRead = 2;
    Run const run = start(
        [&](DurableTimeout const& timeout) {
            if (timeout.id == "poison") throw std::runtime_error{"never"};
            deliveries.handler()(timeout);
        },
        few);
    waitUntil([&] {
        steady.advance(1s);
        return timer->pendingTimeouts() == 1 || errors > 20;
    });
    std::vector<std::string> ids = deliveries.ids();
    std::sort(ids.begin(), ids.end());  // both were overdue
    EXPECT_EQ(ids, (std::vector<std::string>{"b", "c"}));
    EXPECT_TRUE(errors > 0);
}

// Where it cannot make its next look into the file, the far timeouts would wait for ever.
TEST_F(DurableTimerTest, StartsOrTellsWhereMemoryEnds) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    test::TemporaryFile const file;
    timer.emplace(file.path, deliveries.handler(), real);
    timer->schedule("near", now() + 1min).get();
    timer->schedule("far", now() + 24h).get();
    for (std::size_t kth = 1;; ++kth) {
        timer.reset();
        errors = 0;
        bool isThrown = false, isOver = false;
        {
            test::AllocationFailure const failure{kth};
            try {
                timer.emplace(file.path, deliveries.handler(), real);
            } catch (std::bad_alloc const&) {
                isThrown = true;
            }
            isOver = !failure.happened();
        }
        if (isOver) break;
        EXPECT_TRUE(isThrown || errors > 0) << "allocation " << kth;
    }
    EXPECT_EQ(timer->pendingTimeouts(), 2U);
}

// On the real clock. Each timeout is delivered, cancelled or pending, whoever calls when.
TEST_F(DurableTimerTest, KeepsAnAccountOfWhatManyThreadsAskFor) {
    constexpr std::size_t kCallers = 4;
    std::size_t const each = test::scaled(1'000);
    std::mutex mutex;
    std::map<std::string, int> deliveredNow, deliveredLater;
    auto const handler = [&](std::map<std::string, int>& delivered) {
        return [&](DurableTimeout const& timeout) {
            EXPECT_LE(timeout.deadline, std::chrono::system_clock::now());
            std::lock_guard const lock{mutex};
            ++delivered[timeout.id];
        };
    };
    DurableTimerOptions real = options();
    real.clock = Clock::wall();
    real.threads = 4;
    real.maxWaiting = 8;
    real.maxGroup = 3;
    Run const run = start(handler(deliveredNow), real);
    std::vector<std::map<std::string, std::vector<std::future<bool>>>> cancels(kCallers);
    test::together(kCallers, [&](std::size_t caller) {
        test::Random random{caller + 1};
        std::vector<std::future<bool>> others;
        for (std::size_t i = 0; i < each; ++i) {
            auto const soon = [&] {
                return std::chrono::system_clock::now() + static_cast<int>(random.below(20)) * 1ms;
            };
            std::string const id = std::to_string(caller) + '-' + std::to_string(i);
            others.push_back(timer->schedule(
                id, random.below(10) == 0 ? std::chrono::system_clock::now() + 1h : soon()));
            std::string const earlier =
                std::to_string(caller) + '-' + std::to_string(random.below(i + 1));
            if (random.below(3) == 0) others.push_back(timer->reschedule(earlier, soon()));
            if (random.below(3) == 0) cancels[caller][earlier].push_back(timer->cancel(earlier));
        }
        for (auto& answer : others) answer.get();
    });
    timer.reset();
    timer.emplace("timeouts.db", handler(deliveredLater), real);
    std::uint64_t cancelled = 0;
    for (std::size_t caller = 0; caller < kCallers; ++caller) {
        for (std::size_t i = 0; i < each; ++i) {
            std::string const id = std::to_string(caller) + '-' + std::to_string(i);
            int outcomes = timer->cancel(id).get() ? 1 : 0;
            for (auto& answer : cancels[caller][id]) outcomes += answer.get() ? 1 : 0;
            cancelled += outcomes > 0 ? 1U : 0U;
            std::lock_guard const lock{mutex};
            outcomes += deliveredNow[id];
            // If it is due now, it is delivered soon.
            EXPECT_LE(outcomes + deliveredLater[id], 1) << id;
        }
    }
    waitForPending(0);
    timer.reset();
    std::uint64_t delivered = 0;
    for (auto const& all : {deliveredNow, deliveredLater})
        for (auto const& [id, times] : all) delivered += static_cast<std::uint64_t>(times);
    EXPECT_EQ(cancelled + delivered, kCallers * each);
}

// ---- what is refused ---------------------------------------------------------------------------

void expectError(std::function<void()> const& call, std::string const& words) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown: " << words;
    } catch (std::exception const& error) {
        EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
}

TEST_F(DurableTimerTest, RefusesOptionsWithTheirBounds) {
    auto const refused = [&](auto change, std::string const& words) {
        DurableTimerOptions wrong = options();
        change(wrong);
        expectError([&] { DurableTimer{"timeouts.db", deliveries.handler(), wrong}; }, words);
    };
    refused([](auto& one) { one.horizon = 999ms; },
            "horizon in ms is 999: it must be 1000 to 31622400000");
    refused([](auto& one) { one.threads = 0; }, "threads is 0: it must be 1 to 1000");
    refused([](auto& one) { one.maxGroup = 0; }, "maxGroup is 0: it must be 1 to");
    refused([](auto& one) { one.maxRead = 0; }, "maxRead is 0: it must be 1 to");
    refused([](auto& one) { one.maxBytes = 0; }, "maxBytes is 0: it must be 1 to");
    refused([](auto& one) { one.lockTimeout = 2h; },
            "lockTimeout in ms is 7200000: it must be 0 to 3600000");
    refused([](auto& one) { one.retryClock = Clock::wall(); },
            "retryClock is a wall clock: it must be of another kind");
    refused([](auto& one) { one.maxWaiting = 0; }, "maxWaiting is 0: it must be 1 to");
    refused([](auto& one) { one.maxId = 1'000'001; }, "maxId is 1000001: it must be 1 to 1000000");
    refused([](auto& one) { one.maxPayload = 990'000'001; },
            "maxPayload is 990000001: it must be 1 to 990000000");
    refused([](auto& one) { one.retryDelay = 0s; }, "retryDelay in ms is 0: it must be 1 to");
    refused([](auto& one) { one.clock = Clock::steady(); },
            "clock is not a wall clock: it must be of Clock::Kind::wall");
    refused([](auto& one) { one.fileSystem = "none"; }, "no such vfs: none");
    refused(
        [](auto& one) {
            one.fileSystem += std::string{"\0x", 2};
        },
        "fileSystem is a string with a NUL byte: it must be without one");
    expectError([&] { DurableTimer{"timeouts.db", nullptr, options()}; }, "handler is empty");
}

TEST_F(DurableTimerTest, RefusesIdsAndPayloadsWithTheirBounds) {
    start();
    expectError([&] { static_cast<void>(timer->cancel("")); },
                "the length of an id is 0 bytes: it must be 1 to 1000 bytes");
    expectError([&] { static_cast<void>(timer->schedule(std::string(1'001, 'x'), now())); },
                "the length of an id is 1001 bytes: it must be 1 to 1000 bytes");
    expectError(
        [&] { static_cast<void>(timer->schedule("a", now(), std::string(1'000'001, 'x'))); },
        "the length of a payload is 1000001 bytes: it must be 0 to 1000000 bytes");
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

/// A real file, as another program leaves it.
class ForeignFile {
public:
    explicit ForeignFile(char const* sql) {
        std::filesystem::remove(path);
        sqlite3* connection = nullptr;
        sqlite3_open(path.string().c_str(), &connection);
        EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(connection);
        content_ = read();
    }
    ForeignFile(ForeignFile const&) = delete;
    ForeignFile& operator=(ForeignFile const&) = delete;
    /// Nobody has changed it.
    ~ForeignFile() {
        EXPECT_TRUE(read() == content_);
        std::filesystem::remove(path);
    }

    std::filesystem::path const path =
        std::filesystem::temp_directory_path() /
        ("timingwheel-store-" + std::to_string(std::random_device{}()) + ".db");

private:
    std::string read() const {
        std::ifstream file{path, std::ios::binary};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

    std::string content_;
};

TEST_F(DurableTimerTest, RefusesTheDatabaseOfSomethingElse) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    {
        ForeignFile const foreign{"CREATE TABLE address (name TEXT)"};
        expectError(
            [&] {
                DurableTimer{foreign.path, deliveries.handler(), real};
            },
            "is a database of something else: its application_id is 0, it must be");
    }
    for (std::string const version : {"1", "7"}) {
        std::string const sql =
            "PRAGMA application_id = 1415017332; PRAGMA user_version = " + version;
        ForeignFile const other{sql.c_str()};
        expectError(
            [&] {
                DurableTimer{other.path, deliveries.handler(), real};
            },
            "its schema is of version " + version + ": it must be 2");
    }
    expectError(
        [&] {
            DurableTimer{"/nowhere/timeouts.db", deliveries.handler(), real};
        },
        "/nowhere/timeouts.db: cannot be opened: unable to open database file");
}

TEST_F(DurableTimerTest, RefusesTheDatabaseOfSomethingThatWasKilledAndLeavesItsLog) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    ForeignFile const foreign{"PRAGMA journal_mode = WAL"};
    std::filesystem::path const log = foreign.path.string() + "-wal";
    sqlite3* connection = nullptr;
    sqlite3_open(foreign.path.string().c_str(), &connection);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_exec(connection, "CREATE TABLE address (name TEXT)", nullptr, nullptr, nullptr);
    sqlite3_close(connection);
    auto const size = std::filesystem::file_size(log);
    expectError(
        [&] {
            DurableTimer{foreign.path, deliveries.handler(), real};
        },
        "is a database of something else");
    ASSERT_TRUE(std::filesystem::exists(log));
    EXPECT_EQ(std::filesystem::file_size(log), size);
    std::filesystem::remove(log);
}

// Bug pattern: SQLite rolls back what was begun, before anybody can see whose it is.
TEST_F(DurableTimerTest, RefusesWhatSomethingElseWasWritingWhenItWasKilledAndLeavesItsJournal) {
    start();
    for (std::string const application : {"0", "7"}) {
        std::string const sql =
            "PRAGMA application_id = " + application +
            "; CREATE TABLE address (name TEXT); BEGIN; CREATE TABLE other (name TEXT)";
        sqlite3* connection = nullptr;
        sqlite3_open_v2("other.db", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        PowerCut::kName);
        EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        EXPECT_EQ(sqlite3_db_cacheflush(connection), SQLITE_OK);
        std::string const killed = "killed-" + application + ".db";
        std::string const file = disk.files()["other.db"].content;
        std::string const journal = disk.files()["other.db-journal"].content;
        disk.files()[killed].content = file;
        disk.files()[killed + "-journal"].content = journal;
        sqlite3_close(connection);
        disk.files().erase("other.db");
        expectError(
            [&] {
                DurableTimer{killed, deliveries.handler(), options()};
            },
            "is a database of something else: its application_id is " + application);
        EXPECT_TRUE(disk.files()[killed].content == file);
        EXPECT_TRUE(disk.files()[killed + "-journal"].content == journal);
    }
}

TEST_F(DurableTimerTest, RefusesAFileOfItsOwnWithoutItsTable) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    ForeignFile const other{
        "PRAGMA application_id = 1415017332; PRAGMA user_version = 2;"
        "CREATE TABLE address (name TEXT)"};
    expectError(
        [&] {
            DurableTimer{other.path, deliveries.handler(), real};
        },
        "no such table: timeout");
}

TEST_F(DurableTimerTest, RefusesToStartOnADiskThatIsFull) {
    disk.fill(true);
    expectError([&] { start(); }, "timeouts.db: ");
    disk.fill(false);
    start();
    EXPECT_FALSE(timer->schedule("a", now() + 1s).get());
}

TEST_F(DurableTimerTest, RefusesAFileThatItMayOnlyRead) {
    start();
    timer->schedule("a", now() + 1s).get();
    timer.reset();
    disk.protect(true);
    expectError([&] { start(); }, "timeouts.db: cannot be opened: it may only be read");
    disk.protect(false);
    start();
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
}

TEST_F(DurableTimerTest, RefusesAFolderThatItMayNotWriteTo) {
    start();
    timer->schedule("a", now() + 1s).get();
    timer.reset();
    disk.protectFolder(true);
    expectError([&] { start(); }, "its folder may not be written to");
    disk.protectFolder(false);
    start();
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
}

TEST_F(DurableTimerTest, RefusesAFileThatIsNoDatabase) {
    std::string const letter = "Dear Sir or Madam, " + std::string(10'000, '.');
    disk.files()["timeouts.db"].content = letter;
    expectError([&] { start(); }, "file is not a database");
    EXPECT_EQ(disk.files()["timeouts.db"].content, letter);
}

// Wherever a file is damaged: what SQLite finds is told, at the start or by what was asked for, and
// nothing else happens. What it does not come across is delivered.
TEST_F(DurableTimerTest, TellsOfADamagedFile) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 300; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1h, std::string(100, 'x')));
    for (auto& answer : answers) answer.get();
    timer.reset();
    std::string const whole = disk.files()["timeouts.db"].content;
    constexpr std::size_t kPage = 4096;
    ASSERT_GT(whole.size(), 10 * kPage);
    std::mt19937_64 random{1};
    int refused = 0, told = 0;
    for (std::size_t page = 0; page < whole.size() / kPage; ++page) {
        disk.files().clear();
        std::string& content = disk.files()["timeouts.db"].content = whole;
        for (std::size_t i = 0; i < kPage; ++i)
            content[page * kPage + i] = static_cast<char>(random());
        try {
            start();
        } catch (StoreError const& error) {
            ++refused;
            continue;
        }
        for (int i = 0; i < 300; ++i) {
            try {
                timer->reschedule(std::to_string(i), now() + 2h).get();
            } catch (StoreError const& error) {
                ++told;
                EXPECT_EQ(error.code() & 0xff, SQLITE_CORRUPT) << error.what();
            }
        }
        timer.reset();
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(told, 0);
}

// SQLite does not find this. To move what is near ended the process; what is far was "moved".
TEST_F(DurableTimerTest, TellsOfAnIndexThatNamesARowThatIsNotThere) {
    start();
    timer->schedule("damaged", now() + 1h).get();
    timer->schedule("whole", now() + 1h).get();
    timer.reset();
    std::string& content = disk.files()["timeouts.db"].content;
    // How the index by id begins an entry: a length, the kind of the id, and that of the key.
    constexpr char kOne = 9, kNought = 8;
    std::string const kind{'\3', '\x1a', kOne};
    std::size_t const entry = content.find(kind + "damaged");
    ASSERT_NE(entry, std::string::npos);
    content[entry + 2] = kNought;
    start();
    for (auto const delay : {1ms, 7'200'000ms}) {
        try {
            timer->reschedule("damaged", now() + delay).get();
            FAIL() << "nothing was told";
        } catch (StoreError const& error) {
            EXPECT_EQ(error.code(), SQLITE_CORRUPT) << error.what();
        }
    }
    EXPECT_TRUE(timer->reschedule("whole", now()).get());
    waitForPending(1);
}

// SQLite takes them, and keeps nothing. The last is a URI, or a file in a folder that is not there.
TEST_F(DurableTimerTest, RefusesAFileThatKeepsNothing) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    expectError(
        [&] {
            DurableTimer{":memory:", deliveries.handler(), real};
        },
        ":memory:: its journal_mode is ");
    EXPECT_THROW((DurableTimer{"file:/none/timeouts.db?mode=memory", deliveries.handler(), real}),
                 StoreError);
}

// Bug pattern: SQLite takes what is before the NUL byte, and an empty name for a file that goes.
TEST_F(DurableTimerTest, RefusesANameThatIsNone) {
    start();
    for (std::string const& name : {std::string{}, std::string{"a.db\0b", 6}}) {
        std::string const words = "store: file is \"" + name.substr(0, 4) + "\"";
        expectError([&] { timer->backup(name).get(); }, words);
        expectError([&] { DurableTimer{name, deliveries.handler(), options()}; }, words);
    }
    EXPECT_EQ(disk.files().count("a.db"), 0U);
}

TEST_F(DurableTimerTest, DeliversWhatComesBeforeADamagedRow) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 300; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1h + i * 1ms,
                                          "content " + std::to_string(i) + std::string(100, 'x')));
    for (auto& answer : answers) answer.get();
    timer.reset();
    constexpr std::size_t kPage = 4096;
    std::string& content = disk.files()["timeouts.db"].content;
    // Where a page was split, also one above the leaves may have the bytes of a row.
    constexpr char kLeaf = 13;
    std::size_t row = content.find("content 250");
    while (row != std::string::npos && content[row / kPage * kPage] != kLeaf)
        row = content.find("content 250", row + 1);
    ASSERT_NE(row, std::string::npos);
    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(row / kPage * kPage), kPage, '\xff');
    start();
    clock.advance(1h + 1s);
    // A page has some thirty rows.
    waitUntil([&] {
        steady.advance(1s);
        return errors > 0 && deliveries.ids().size() >= 200;
    });
    EXPECT_LE(deliveries.ids().size(), 250U);
    timer.reset();
    std::vector<std::string> ids = deliveries.ids();
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

/// Another program that has a file.
class Connection {
public:
    explicit Connection(std::filesystem::path const& file, char const* fileSystem = nullptr) {
        EXPECT_EQ(
            sqlite3_open_v2(file.string().c_str(), &connection_, SQLITE_OPEN_READWRITE, fileSystem),
            SQLITE_OK);
    }
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection() { sqlite3_close(connection_); }

    /// The first column, line by line.
    std::string run(char const* sql) {
        std::string result;
        auto const add = [](void* text, int, char** values, char**) {
            *static_cast<std::string*>(text) += std::string{values[0]} + '\n';
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(connection_, sql, add, &result, nullptr), SQLITE_OK)
            << sqlite3_errmsg(connection_);
        return result;
    }

private:
    sqlite3* connection_ = nullptr;
};

TEST_F(DurableTimerTest, RefusesAFileThatIsInUse) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    real.lockTimeout = 0s;
    real.retryDelay = 1h;
    test::TemporaryFile const file;
    DurableTimer const first{file.path, deliveries.handler(), real};
    expectError(
        [&] {
            DurableTimer{file.path, deliveries.handler(), real};
        },
        "database is locked: a timer or program uses the file");
}

// One looks into it, others have it for a moment.
TEST_F(DurableTimerTest, WaitsForAFileThatOthersUse) {
    constexpr std::size_t kStarts = 4;
    DurableTimerOptions real = options();
    real.fileSystem = "";
    real.lockTimeout = 0s;
    test::TemporaryFile const file;
    { DurableTimer const first{file.path, deliveries.handler(), real}; }
    std::optional<Connection> other{std::in_place, file.path};
    other->run("BEGIN; SELECT count(*) FROM timeout");
    expectError(
        [&] {
            DurableTimer{file.path, deliveries.handler(), real};
        },
        "a timer or program uses the file");
    real.lockTimeout = 1h;
    real.retryDelay = 1ms;
    test::together(kStarts + 1, [&](std::size_t i) {
        if (i == kStarts) return other.reset();
        DurableTimer one{file.path, deliveries.handler(), real};
        EXPECT_FALSE(one.schedule(std::to_string(i), now() + 1h).get());
    });
    DurableTimer const last{file.path, deliveries.handler(), real};
    EXPECT_EQ(last.pendingTimeouts(), kStarts);
}

// ---- copies ------------------------------------------------------------------------------------

// Of some megabytes, so that there are changes in between.
TEST_F(DurableTimerTest, CopiesTheFileWhileItGoesOn) {
    constexpr std::uint64_t kCount = 4'000;
    start();
    std::vector<std::future<bool>> answers;
    for (std::uint64_t i = 0; i < kCount; ++i)
        answers.push_back(
            timer->schedule(std::to_string(i), now() + 1h + i * 1ms, std::string(1'000, 'x')));
    for (auto& answer : answers) answer.get();
    std::future<void> copied = timer->backup("copy.db");
    std::uint64_t changes = 0;
    while (copied.wait_for(0s) != std::future_status::ready) {
        timer->schedule("new " + std::to_string(changes), now() + 2h).get();
        EXPECT_TRUE(timer->cancel(std::to_string(changes)).get());
        ++changes;
    }
    copied.get();
    EXPECT_GT(changes, 0U);
    disk.cutAfter(1);  // it is on the disk
    EXPECT_THROW(timer->schedule("last", now() + 3h).get(), StoreError);
    timer.reset();
    disk.restore();
    {
        Connection copy{"copy.db", PowerCut::kName};
        copy.run("PRAGMA locking_mode = EXCLUSIVE");
        EXPECT_EQ(copy.run("PRAGMA integrity_check"), "ok\n");
        // As store.md has it.
        EXPECT_EQ(copy.run("SELECT CAST(id AS TEXT), datetime(deadline / 1000, 'unixepoch')"
                           " FROM timeout ORDER BY deadline DESC, key LIMIT 1"),
                  "new 0\n");
    }
    timer.emplace("copy.db", deliveries.handler(), options());
    // As it was between two commits, which may be those of a schedule and of its cancel.
    std::uint64_t const pending = timer->pendingTimeouts();
    EXPECT_GE(pending, kCount);
    EXPECT_LE(pending, kCount + 1);
    clock.advance(2h);
    waitForPending(0);
    std::vector<std::string> const ids = deliveries.ids();
    EXPECT_LE(std::count(ids.begin(), ids.end(), "0"), pending == kCount ? 0 : 1);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), std::to_string(kCount - 1)), 1);
}

TEST_F(DurableTimerTest, RefusesACopyWhereSomethingIsOrNothingStays) {
    start();
    timer->schedule("a", now() + 1h).get();
    timer->backup("copy.db").get();
    std::string const copy = disk.files()["copy.db"].content;
    std::string const letter = "Dear Sir or Madam, " + std::string(10'000, '.');
    disk.files()["letter.db"].content = letter;
    expectError([&] { timer->backup("copy.db").get(); },
                "copy.db: is not empty: a copy needs a file of its own");
    expectError([&] { timer->backup("letter.db").get(); }, "file is not a database");
    expectError([&] { timer->backup(":memory:").get(); }, "a copy there would not be kept");
    EXPECT_EQ(disk.files()["copy.db"].content, copy);
    EXPECT_EQ(disk.files()["letter.db"].content, letter);
    EXPECT_TRUE(timer->cancel("a").get());
    std::future<void> last = timer->backup("last.db");
    timer->stop();  // waits for it
    last.get();
    EXPECT_THROW(static_cast<void>(timer->backup("late.db")), std::logic_error);
}

TEST_F(DurableTimerTest, RefusesACopyIntoItsOwnFile) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    test::TemporaryFile const file;
    timer.emplace(file.path, deliveries.handler(), real);
    timer->schedule("a", now() + 1h).get();
    expectError([&] { timer->backup(file.path).get(); }, "database is locked");
    real.lockTimeout = 0s;  // and keeps it
    expectError([&] { DurableTimer{file.path, deliveries.handler(), real}; }, "database is locked");
    EXPECT_TRUE(timer->cancel("a").get());
}

TEST_F(DurableTimerTest, GoesOnWhenTheDiskHasNoRoomForACopy) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 1'000; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1h, std::string(1'000, 'x')));
    for (auto& answer : answers) answer.get();
    disk.leave(300'000);
    expectError([&] { timer->backup("copy.db").get(); }, "database or disk is full");
    EXPECT_TRUE(timer->cancel("0").get());
    disk.leave(1'000'000'000);
    timer->backup("copy.db").get();
    EXPECT_TRUE(timer->cancel("1").get());
    timer.emplace("copy.db", deliveries.handler(), options());
    EXPECT_EQ(timer->pendingTimeouts(), 999U);
}

}  // namespace
}  // namespace timingwheel::store
