// One shard by itself, served by hand: how much is done under one hold of its lock.

#include "BareKeeper.h"
#include "core/driver/Shard.h"
#include "core/timeout/TimeoutNode.h"

#include <support/Figure.h>
#include <support/LoneContext.h>
#include <support/Platform.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

using Stage = TimerEvent::Stage;

/// Counts the steps of each kind.
class Counts final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        ++of(event.stage);
        if (also) also();
    }
    std::size_t& of(Stage stage) { return counts_.at(static_cast<std::size_t>(stage)); }
    std::size_t moved() { return of(Stage::expire) + of(Stage::cascade); }
    void clear() { counts_.fill(0); }

    std::function<void()> also;  ///< what is done at each step, outside the lock

private:
    std::array<std::size_t, 16> counts_{};
};

/// A shard with a tick of a millisecond, and as many timeouts as a test wants.
class ShardTest : public testing::Test {
protected:
    static constexpr std::size_t kMany = 50 * Shard::kPerHold + 17;

    void TearDown() override { static_cast<void>(close()); }

    void schedule(std::size_t count, Tick deadline) {
        for (std::size_t i = 0; i < count; ++i) {
            auto task = [this] { ++runs_; };
            TimeoutNode* const node =
                TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
            Timeout handle = TimeoutAccess::adopt(*node);
            ASSERT_EQ(shard_.schedule(*node, deadline, deadline, clock_.now()),
                      Shard::Answer::accepted);
            if (keepsHandles_) handles_.push_back(std::move(handle));
        }
    }

    /// Serves until nothing is due by `limit`. Returns what each call said that it did, and expects
    /// that the observer saw as much, and no more than a chunk.
    std::vector<std::size_t> serveAll(Tick limit) {
        std::vector<std::size_t> chunks;
        for (;;) {
            seen_.clear();
            std::size_t const moved = serve(limit);
            EXPECT_LE(seen_.moved(), Shard::kPerHold);
            EXPECT_LE(seen_.moved(), moved);
            if (moved == 0) return chunks;
            shard_.checkInvariants();
            chunks.push_back(moved);
        }
    }

    std::size_t serve(Tick limit) {
        RunFrame frame{context_};
        return shard_.serve(limit, frame, kMany).moved;
    }

    static std::vector<std::size_t> inChunks(std::size_t count) {
        std::vector<std::size_t> chunks(count / Shard::kPerHold, Shard::kPerHold);
        if (count % Shard::kPerHold != 0) chunks.push_back(count % Shard::kPerHold);
        return chunks;
    }

    /// How many timeouts are gone each time that `act` delivers the events of a hold.
    template <class Act>
    std::vector<std::size_t> takenAtATime(Act&& act) {
        std::vector<std::size_t> chunks;
        std::size_t left = shard_.pending();
        seen_.also = [&, this] {
            std::size_t const pending = shard_.pending();
            if (pending == left) return;
            chunks.push_back(left - pending);
            left = pending;
        };
        act();
        seen_.also = nullptr;
        return chunks;
    }

    std::size_t close() {
        StoppedTimeouts stopped;
        shard_.close(stopped);
        shard_.collectLate(stopped);
        return stopped.size();
    }

    explicit ShardTest(Clock::Kind kind = Clock::Kind::steady) : clock_{{}, kind} { shard_.open(); }

    ManualClock clock_;
    Counts seen_;
    LoneContext context_{TimerOptions{.clock = clock_, .observer = &seen_}, true};
    Shard shard_{context_, 0};
    bool keepsHandles_ = false;
    std::vector<Timeout> handles_;
    std::size_t runs_ = 0;
};

class ShardUnderAWallClock : public ShardTest {
protected:
    ShardUnderAWallClock() : ShardTest{Clock::Kind::wall} {}
};

// G20
TEST_F(ShardTest, RunsAChunkOfABucketAtATime) {
    ASSERT_EQ(Shard::kPerHold, 256U);
    schedule(kMany, Tick{5});
    EXPECT_EQ(serveAll(Tick{4}), std::vector<std::size_t>{});
    std::vector<std::size_t> const chunks = serveAll(Tick{5});
    EXPECT_EQ(chunks, inChunks(kMany));
    figure("G20", "entries of one bucket run in a hold of the lock, at most",
           *std::max_element(chunks.begin(), chunks.end()), atMost(256), {kMany, kMany});
    EXPECT_EQ(runs_, kMany);
    EXPECT_EQ(shard_.pending(), 0U);
}

TEST_F(ShardTest, RunsNoMoreTasksThanItMay) {
    schedule(10, Tick{5});
    RunFrame frame{context_};
    auto const first = shard_.serve(Tick{5}, frame, 3);
    EXPECT_EQ(first.started, 3U);
    EXPECT_EQ(shard_.nextWake(), Tick{5}) << "the others wait";
    EXPECT_EQ(shard_.pending(), 7U);
    EXPECT_EQ(shard_.serve(Tick{5}, frame, 100).started, 7U);
}

// The first schedule may start the timer while another thread drains it.
TEST_F(ShardTest, DoesNotOpenOnceItDrains) {
    Shard other{context_, 1};
    other.beginDraining();
    other.open();
    auto const [node, handle] = nodeWith([] {});
    EXPECT_EQ(other.schedule(node, Tick{5}, Tick{5}, clock_.now()), Shard::Answer::draining);
    StoppedTimeouts stopped;
    other.close(stopped);
    other.beginDraining();
    EXPECT_EQ(other.schedule(node, Tick{5}, Tick{5}, clock_.now()), Shard::Answer::closed);
    Keeper::discard(context_, node);
}

// Bug pattern: it loses its shard again, while another thread that has seen that takes its lock.
TEST_F(ShardTest, KeepsANewHookThatItRefuses) {
    LoneContext small{TimerOptions{.clock = clock_, .maxPendingTimeouts = 1}, true};
    Shard shard{small, 0};
    Shard other{small, 1};
    shard.open();
    other.open();
    HookOperations const operations{{true}, nullptr};
    HookEntry first{operations, nullptr};
    HookEntry refused{operations, nullptr};
    auto const scheduleOn = [&](Shard& on, HookEntry& hook) {
        HookEntry* const one = &hook;
        return on.schedule({&one, 1}, Tick{5}, clock_.now());
    };
    EXPECT_EQ(scheduleOn(shard, first), Shard::Answer::accepted);
    EXPECT_EQ(scheduleOn(shard, refused), Shard::Answer::full);
    EXPECT_EQ(Shard::of(refused), &shard);
    EXPECT_EQ(scheduleOn(other, refused), Shard::Answer::elsewhere);
    EXPECT_TRUE(shard.cancel(first));
    EXPECT_EQ(scheduleOn(shard, refused), Shard::Answer::accepted);
    EXPECT_TRUE(shard.cancel(refused));
    shard.checkInvariants();
}

// G20
TEST_F(ShardTest, CascadesAChunkOfABucketAtATime) {
    schedule(kMany, Tick{401});  // on the level of 400 ticks, from where it goes to that of 1
    EXPECT_EQ(serveAll(Tick{400}), inChunks(kMany));
    EXPECT_EQ(serveAll(Tick{401}), inChunks(kMany));
}

// G20: a hold is as long as the system lets it be; the figure tells.
TEST(ShardHold, IsShortWhileAMillionCascade) {
    constexpr std::size_t kMillion = 1'000'000;
    ManualClock clock;
    LoneContext context{TimerOptions{.clock = clock}, true};
    Shard shard{context, 0};
    shard.open();
    for (std::size_t i = 0; i < kMillion; ++i) {
        auto task = [] {};
        TimeoutNode* const node =
            TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
        Timeout const handle = TimeoutAccess::adopt(*node);
        ASSERT_EQ(shard.schedule(*node, Tick{399}, Tick{399}, clock.now()),
                  Shard::Answer::accepted);
    }
    RunFrame frame{context};
    std::vector<std::int64_t> holds;
    std::size_t most = 0;
    for (;;) {
        auto const before = processorTimeOfThisThread();
        std::size_t const moved = shard.serve(Tick{398}, frame, kMillion).moved;
        std::int64_t const took = (processorTimeOfThisThread() - before).count();
        if (moved == 0) break;
        most = std::max(most, moved);
        holds.push_back(took);
    }
    EXPECT_EQ(holds.size(), (kMillion + Shard::kPerHold - 1) / Shard::kPerHold);
    std::sort(holds.begin(), holds.end());
    auto const microseconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
    Of const all{kMillion, kMillion};
    figure("G20", "entries of one bucket moved in a hold of the lock, at most", most,
           atMost(Shard::kPerHold), all);
    figure("G20", "processor time of a hold, p99, us", microseconds(holds[holds.size() * 99 / 100]),
           noBound(), all);
    figure("G20", "processor time of the longest hold, us", microseconds(holds.back()),
           aboutAtMost(20), all);
    StoppedTimeouts stopped;
    shard.close(stopped);
    EXPECT_EQ(stopped.size(), kMillion);
}

// G20: what is left of a bucket waits, and the next wake says so.
TEST_F(ShardTest, WantsTheDriverWhileABucketIsHalfTaken) {
    schedule(kMany, Tick{401});
    EXPECT_EQ(serve(Tick{400}), Shard::kPerHold);
    EXPECT_EQ(shard_.nextWake(), Tick{400});
    static_cast<void>(serveAll(Tick{400}));
    EXPECT_EQ(shard_.nextWake(), Tick{401});
}

// G20
TEST_F(ShardTest, RunsAChunkOfWhatWasDueOnArrivalAtATime) {
    schedule(kMany, Tick{0});
    shard_.admitArrivals();
    EXPECT_EQ(serveAll(Tick{0}), inChunks(kMany));
}

// G20: buckets whose entries were all cancelled count as well.
TEST_F(ShardTest, DropsAChunkOfEmptiedBucketsAtATime) {
    keepsHandles_ = true;
    for (std::int64_t tick = 1; tick < 20; ++tick) schedule(1, Tick{tick});
    for (std::int64_t tick = 20; tick < 400; tick += 20) schedule(1, Tick{tick});
    std::size_t const buckets = handles_.size();
    for (Timeout const& handle : handles_) EXPECT_TRUE(handle.cancel());
    EXPECT_EQ(serveAll(Tick{400}), std::vector<std::size_t>{buckets});
    EXPECT_EQ(shard_.nextWake(), Tick::max());
}

// G20: whoever looks while it is closed finds whole chunks gone. How often one gets to look is not
// in the test's hands: the figure tells.
TEST_F(ShardTest, ClosingReturnsAChunkAtATime) {
    schedule(kMany, Tick{5});
    constexpr std::size_t kLookers = 3;
    std::atomic<std::size_t> looking{0};
    std::atomic<bool> isClosed{false};
    std::array<std::set<std::size_t>, kLookers> seen;
    std::vector<std::thread> lookers;
    for (auto& mine : seen) {
        lookers.emplace_back([&, this] {
            mine.insert(shard_.pending());
            ++looking;
            while (!isClosed) mine.insert(shard_.pending());
        });
    }
    while (looking < kLookers) std::this_thread::yield();
    EXPECT_EQ(close(), kMany);
    isClosed = true;
    for (std::thread& looker : lookers) looker.join();
    std::size_t between = 0;
    for (auto const& mine : seen) {
        for (std::size_t const pending : mine) {
            between += pending != 0 && pending != kMany ? 1 : 0;
            EXPECT_TRUE(pending == 0 || (kMany - pending) % Shard::kPerHold == 0) << pending;
        }
    }
    figure("G20", "times that others looked while stop() took timeouts out", between, noBound(),
           {kMany, kMany});
}

// G20: the events of a hold are delivered when it is over; the observer finds all of it gone.
TEST_F(ShardTest, ClosingDeliversAChunkAtATime) {
    schedule(kMany, Tick{5});
    EXPECT_EQ(takenAtATime([&] { EXPECT_EQ(close(), kMany); }), inChunks(kMany));
}

// G28
TEST_F(ShardTest, CancellingAllTakesAChunkAtATime) {
    schedule(kMany, Tick{5});
    TimerTaskList ended;
    EXPECT_EQ(takenAtATime([&] { EXPECT_EQ(shard_.cancelAll(ended), kMany); }), inChunks(kMany));
    Shard::endAll(ended);
    shard_.checkInvariants();
}

// G28: after the first chunk the others have no place any more.
TEST_F(ShardTest, ARescheduleThatCancelAllOvertakesIsFalse) {
    keepsHandles_ = true;
    schedule(kMany, Tick{5});
    Timeout overtaken;
    seen_.also = [&, this] {
        if (overtaken) return;
        overtaken = *std::find_if(handles_.begin(), handles_.end(),
                                  [](Timeout const& each) { return each.isPending(); });
        EXPECT_FALSE(shard_.reschedule(*TimeoutAccess::node(overtaken), Tick{3}, clock_.now()));
        EXPECT_TRUE(overtaken.isCancelled());
    };
    TimerTaskList ended;
    EXPECT_EQ(shard_.cancelAll(ended), kMany);
    EXPECT_TRUE(overtaken);
    Shard::endAll(ended);
}

// G28. Bug pattern: the driver gives what is to be cancelled its place again, after a step back of
// the clock.
TEST_F(ShardUnderAWallClock, CancelAllLeavesNothingWheneverTheClockIsSetBack) {
    for (bool const isBefore : {true, false}) {
        clock_.jumpTo(Clock::TimePoint{std::chrono::hours{1}});
        schedule(kMany, Tick{3'600'005});
        auto const setBack = [this] {
            clock_.jumpTo(Clock::TimePoint{});
            shard_.followClockBack();
        };
        if (isBefore) setBack();
        bool isFirst = true;
        seen_.also = [&, this] {
            if (!std::exchange(isFirst, false)) return;
            if (!isBefore) setBack();
            static_cast<void>(serve(Tick{0}));
        };
        TimerTaskList ended;
        EXPECT_EQ(shard_.cancelAll(ended), kMany);
        EXPECT_FALSE(isFirst);
        seen_.also = nullptr;
        Shard::endAll(ended);
        shard_.checkInvariants();
    }
}

// G21: the last look of a driver at the clock may come after that.
TEST_F(ShardUnderAWallClock, NeedsNoDriverOnceItIsClosed) {
    clock_.jumpTo(Clock::TimePoint{std::chrono::hours{1}});
    schedule(1, Tick{3'600'005});
    EXPECT_EQ(close(), 1U);
    clock_.jumpTo(Clock::TimePoint{});
    shard_.followClockBack();
    EXPECT_EQ(shard_.nextWake(), Tick::max());
}

// G15: the driver read the clock before it was set back, and something was accepted since.
TEST_F(ShardUnderAWallClock, RunsNothingByAnOldReading) {
    clock_.jumpTo(Clock::TimePoint{std::chrono::hours{1}});
    Tick const old = context_.tickNow();
    clock_.jumpTo(Clock::TimePoint{});
    schedule(1, Tick{5});
    static_cast<void>(serve(old));
    EXPECT_EQ(runs_, 0U);
    clock_.jumpTo(Clock::TimePoint{std::chrono::milliseconds{5}});
    static_cast<void>(serve(Tick{5}));
    EXPECT_EQ(runs_, 1U);
}

}  // namespace
}  // namespace timingwheel::detail
