#include "LoneBook.h"
#include "core/driver/book/PendingWalk.h"
#include "core/driver/book/ShardBook.h"
#include "core/driver/context/StripedCounter.h"
#include "core/timeout/PushBack.h"

#include <support/AllocationCounter.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;
using Gate = ShardBook::Gate;
using Fate = ShardBook::Fate;
using Rule = Periodicity::Rule;
using Entries = std::vector<TimeoutEntry*>;

// ---- accept, move, cancel ---------------------------------------------------------------------

TEST(ShardBook, AcceptReturnsByWhenTheDriverMustCome) {
    LoneBook lone;
    ShardBook& book = lone.book;
    book.reserve(Tick{399});
    EXPECT_EQ(book.nextWake(), Tick::max());
    EXPECT_EQ(book.accept(lone.hook(), Tick{45}), Tick{40});  // its bucket is 20 ticks wide
    EXPECT_EQ(book.accept(lone.hook(), Tick{40}), Tick::max());
    EXPECT_EQ(book.accept(lone.hook(), Tick{60}), Tick::max());
    EXPECT_EQ(book.accept(lone.hook(), Tick{1}), Tick{1});
    EXPECT_EQ(book.nextWake(), Tick{1});
    EXPECT_EQ(lone.tasks.pending, 4U);
    EXPECT_EQ(lone.tasks.counters.scheduled, 4U);
}

TEST(ShardBook, WhatIsDueOnArrivalIsReadyAtTheWheelsTick) {
    LoneBook lone;
    lone.book.catchUp(Tick{7});
    for (std::int64_t const deadline : {7, 6, -5}) {
        HookEntry& entry = lone.hook();
        EXPECT_EQ(lone.book.accept(entry, Tick{deadline}), Tick{7});
        EXPECT_EQ(entry.deadline(), Tick{7});
        EXPECT_EQ(stateOf(entry), TimeoutState::ready);
    }
    HookEntry& later = lone.hook();
    EXPECT_EQ(lone.book.accept(later, Tick{8}), Tick{8});
    EXPECT_EQ(stateOf(later), TimeoutState::pending);
    EXPECT_EQ(lone.tasks.pending, 4U);
}

TEST(ShardBook, TheWheelStandsWhereSomethingWaits) {
    LoneBook lone;
    lone.accepted(9);
    lone.book.catchUp(Tick{5});
    EXPECT_EQ(lone.book.currentTick(), Tick{5});
    lone.book.catchUp(Tick{15});
    EXPECT_EQ(lone.book.currentTick(), Tick{9});
}

/// One entry in each state that is pending: in a bucket, among the arrivals, admitted, queued.
Entries oneOfEachState(LoneBook& lone) {
    Entries entries = lone.acceptedAt({0, 0, 0, 10});
    lone.book.admitArrivals();
    ShardBook::Turn turn = lone.book.begin(Tick{0});
    lone.dispatch(*lone.book.next(turn));
    lone.book.next(turn);
    lone.book.accept(*entries[1], Tick{0});  // once more: now among the arrivals
    --lone.tasks.pending;
    --lone.tasks.counters.scheduled;
    return entries;
}

TEST(ShardBook, CancelTakesAnEntryFromWhereverItIs) {
    LoneBook lone;
    std::size_t pending = 4;
    for (TimeoutEntry* const entry : oneOfEachState(lone)) {
        Tick const deadline = entry->deadline();
        lone.cancel(*entry);
        EXPECT_FALSE(entry->isQueued());
        EXPECT_EQ(stateOf(*entry), TimeoutState::cancelled);
        EXPECT_EQ(entry->deadline(), deadline);
        EXPECT_EQ(lone.tasks.pending, --pending);
        EXPECT_EQ(lone.tasks.counters.cancelled, 4 - pending);
        lone.book.checkInvariants(lone.book.nextWake());
    }
    EXPECT_EQ(lone.tasks.queue.size(), 0U);
    EXPECT_EQ(lone.tasks.queue.claims(), 1U);
    lone.book.admitArrivals();
    EXPECT_EQ(lone.turn(50), Entries{});
}

TEST(ShardBook, ReserveSaysWhetherTheReachGrew) {
    LoneBook lone;
    EXPECT_EQ(lone.book.reach(), Tick{20});
    EXPECT_FALSE(lone.book.reserve(Tick{19}));
    {
        AllocationFailure const failure{1};
        EXPECT_FALSE(lone.book.reserveIfPossible(Tick{20}));
        EXPECT_TRUE(failure.happened());
    }
    {
        AllocationFailure const failure{1};
        EXPECT_THROW(lone.book.reserve(Tick{20}), std::bad_alloc);
    }
    EXPECT_EQ(lone.book.reach(), Tick{20});
    EXPECT_TRUE(lone.book.reserve(Tick{20}));
    EXPECT_EQ(lone.book.reach(), Tick{400});
    EXPECT_FALSE(lone.book.reserveIfPossible(Tick{399}));
    EXPECT_TRUE(lone.book.reserveIfPossible(Tick{400}));
}

// ---- the driver's step ------------------------------------------------------------------------

TEST(ShardBook, ATurnServesOneTickAndBucketsBeforeArrivals) {
    LoneBook lone;
    HookEntry& first = lone.accepted(0);
    HookEntry& inBucket = lone.accepted(5);
    HookEntry& last = lone.accepted(6);
    lone.book.catchUp(Tick{5});
    HookEntry& arrival = lone.accepted(5);
    EXPECT_EQ(lone.turn(4), Entries{});  // nothing was admitted
    lone.book.admitArrivals();
    EXPECT_EQ(lone.turn(-1), Entries{});
    EXPECT_EQ(lone.turn(9), Entries{&first});
    EXPECT_EQ(lone.turn(9), (Entries{&inBucket, &arrival}));
    EXPECT_EQ(stateOf(inBucket), TimeoutState::ready);
    EXPECT_EQ(lone.turn(5), Entries{});
    EXPECT_EQ(lone.turn(6), Entries{&last});
    EXPECT_EQ(lone.moved, 1U);
}

TEST(ShardBook, FinishesATickThatHasBegunUnlessTheLimitLiesBefore) {
    LoneBook lone;
    Entries const later = lone.acceptedAt({10, 10, 10});
    lone.book.catchUp(Tick{5});
    Entries const arrivals = lone.acceptedAt({5, 5});
    EXPECT_EQ(lone.turn(10, 1), Entries{later[0]});
    lone.book.admitArrivals();
    EXPECT_TRUE(lone.book.begin(Tick{9}).isBehind);
    EXPECT_FALSE(lone.book.begin(Tick{10}).isBehind);
    EXPECT_EQ(lone.turn(4), Entries{});
    EXPECT_EQ(lone.turn(5, 1), Entries{arrivals[0]});
    EXPECT_EQ(lone.turn(10), (Entries{later[1], later[2], arrivals[1]}));
}

TEST(ShardBook, ATurnMovesAChunk) {
    LoneBook lone;
    lone.book.reserve(Tick{399});
    lone.acceptedAt(std::vector<std::int64_t>(ShardBook::kPerHold + 3, 25));
    EXPECT_EQ(lone.turn(20), Entries{});  // they go down a level
    EXPECT_EQ(lone.moved, ShardBook::kPerHold);
    EXPECT_EQ(lone.book.nextWake(), Tick{20});
    EXPECT_EQ(lone.turn(20), Entries{});
    EXPECT_EQ(lone.moved, 3U);
    EXPECT_EQ(lone.book.nextWake(), Tick{25});
    EXPECT_EQ(lone.turn(25).size(), ShardBook::kPerHold);
    EXPECT_EQ(lone.moved, ShardBook::kPerHold);
    EXPECT_EQ(lone.turn(25).size(), 3U);
    TimerStatistics statistics;
    lone.book.readInto(statistics);
    EXPECT_EQ(statistics.cascaded, (std::vector<std::uint64_t>{0, ShardBook::kPerHold + 3}));
}

TEST(ShardBook, AnEmptyBucketIsAStep) {
    LoneBook lone;
    lone.cancel(lone.accepted(5));
    EXPECT_EQ(lone.book.nextWake(), Tick{5});
    EXPECT_EQ(lone.turn(9), Entries{});
    EXPECT_EQ(lone.moved, 1U);
    EXPECT_EQ(lone.book.nextWake(), Tick::max());
}

TEST(ShardBook, PlacesWhatWasPushedBackAgain) {
    LoneBook lone;
    EXPECT_FALSE(lone.book.expectsPushBacks());
    lone.book.expectPushBacks();
    EXPECT_TRUE(lone.book.expectsPushBacks());
    lone.book.reserve(Tick{399});
    PushBack pushBack;
    pushBack.publish(lone.book.reach());
    Entries const entries = lone.acceptedAt({5, 5, 25});
    detail::StripedCounter moved{1};
    ASSERT_TRUE(pushBack.move(*entries[0], Tick{6}, moved));
    ASSERT_TRUE(pushBack.move(*entries[2], Tick{48}, moved));
    EXPECT_EQ(moved.sum(), 2U);
    EXPECT_EQ(lone.turn(5), Entries{entries[1]});
    EXPECT_EQ(lone.turn(6), Entries{entries[0]});
    EXPECT_EQ(lone.turn(39), Entries{});
    TimerStatistics statistics;
    lone.book.readInto(statistics);
    EXPECT_EQ(statistics.cascaded, (std::vector<std::uint64_t>{0, 0}));  // it went down nowhere
    EXPECT_EQ(lone.turn(48), Entries{entries[2]});
}

// ---- periodic timeouts ------------------------------------------------------------------------

/// A periodic timeout that runs, due at 3.
TimeoutNode& runningPeriodic(LoneBook& lone) {
    TimeoutNode& node = lone.periodic(Rule::fixedRate, Tick{3});
    TimeoutWord{Tick{3}, TimeoutState::running}.storeIn(node);
    return node;
}

TEST(ShardBook, APeriodicTimeoutGoesOnUnlessItIsOverOrDraining) {
    LoneBook lone;
    TimeoutNode& node = runningPeriodic(lone);
    lone.book.open();
    EXPECT_EQ(lone.book.fateOf(node, true), Fate::again);
    EXPECT_EQ(lone.tasks.counters.fired, 0U);
    EXPECT_EQ(lone.book.fateOf(node, false), Fate::ended);
    EXPECT_EQ(lone.tasks.counters.fired, 1U);
    lone.book.beginDraining();
    EXPECT_EQ(lone.book.fateOf(node, true), Fate::ended);
    EXPECT_EQ(lone.tasks.counters.fired, 2U);
    EXPECT_EQ(stateOf(node), TimeoutState::running);
    lone.book.cancelRunning(node, TimeoutWord::of(node));
    EXPECT_EQ(stateOf(node), TimeoutState::cancelled);
    EXPECT_EQ(node.deadline(), Tick{3});
    EXPECT_EQ(lone.tasks.counters.cancelled, 1U);
    for (bool const hasNext : {true, false})
        EXPECT_EQ(lone.book.fateOf(node, hasNext), Fate::ended);
    EXPECT_EQ(lone.tasks.counters.fired, 2U);
    EXPECT_EQ(lone.book.takeLate(), nullptr);
}

TEST(ShardBook, WhatRunsWhileItIsClosedIsKeptUntilItIsTaken) {
    LoneBook lone;
    lone.book.close();
    TimeoutNode& over = runningPeriodic(lone);
    EXPECT_EQ(lone.book.fateOf(over, false), Fate::ended);
    EXPECT_EQ(lone.tasks.counters.fired, 1U);

    TimeoutNode& kept = runningPeriodic(lone);
    EXPECT_EQ(lone.book.fateOf(kept, true), Fate::kept);
    EXPECT_EQ(stateOf(kept), TimeoutState::returned);
    EXPECT_EQ(kept.deadline(), Tick{3});
    EXPECT_EQ(lone.tasks.counters.returned, 0U);  // who takes it counts it
    EXPECT_EQ(lone.book.takeLate(), &kept);
    EXPECT_EQ(lone.book.takeLate(), nullptr);

    lone.book.endLate();
    TimeoutNode& tooLate = runningPeriodic(lone);
    EXPECT_EQ(lone.book.fateOf(tooLate, true), Fate::ended);
    EXPECT_EQ(stateOf(tooLate), TimeoutState::returned);
    EXPECT_EQ(lone.tasks.counters.returned, 1U);
    EXPECT_EQ(lone.tasks.counters.fired, 1U);
    EXPECT_EQ(lone.book.takeLate(), nullptr);
}

TEST(ShardBook, AgainPlacesTheNextRun) {
    LoneBook lone;
    lone.book.catchUp(Tick{4});
    TimeoutNode& node = runningPeriodic(lone);
    node.periodicity().isCorrected = true;
    Clock::TimePoint const time{std::chrono::milliseconds{9}};
    EXPECT_EQ(lone.book.again(node, {time, Tick{9}, time}), Tick{9});
    EXPECT_EQ(stateOf(node), TimeoutState::pending);
    EXPECT_EQ(node.periodicity().current, time);
    EXPECT_EQ(node.periodicity().scheduled, Tick{9});
    EXPECT_FALSE(node.periodicity().isCorrected);
    EXPECT_EQ(lone.tasks.pending, 1U);
    EXPECT_EQ(lone.tasks.counters.scheduled, 0U);

    TimeoutNode& late = runningPeriodic(lone);
    EXPECT_EQ(lone.book.again(late, {time, Tick{2}, time}), Tick{4});
    EXPECT_EQ(late.deadline(), Tick{4});
    EXPECT_EQ(late.periodicity().scheduled, Tick{4});  // it was not rescheduled
}

TEST(ShardBook, GatesDoNotOpenAgain) {
    LoneBook lone;
    ShardBook& book = lone.book;
    EXPECT_EQ(book.gate(), Gate::notStarted);
    book.open();
    EXPECT_EQ(book.gate(), Gate::open);
    book.beginDraining();
    book.open();
    EXPECT_EQ(book.gate(), Gate::draining);
    book.close();
    book.open();
    book.beginDraining();
    EXPECT_EQ(book.gate(), Gate::closed);
    LoneBook unstarted;
    unstarted.book.beginDraining();
    EXPECT_EQ(unstarted.book.gate(), Gate::draining);
}

// ---- a clock that was set back ----------------------------------------------------------------

TEST(ShardBook, PlacesWhatWasGatheredInChunks) {
    LoneBook lone;
    lone.acceptedAt(std::vector<std::int64_t>(5, 0));
    lone.book.catchUp(Tick{9});
    lone.acceptedAt(std::vector<std::int64_t>(ShardBook::kPerHold - 3, 10));
    lone.book.turnBack(Tick{1}, false);
    ShardBook::Turn turn = lone.book.begin(Tick{1});
    lone.book.placeGathered(turn);
    EXPECT_EQ(turn.moved, ShardBook::kPerHold);
    EXPECT_TRUE(lone.book.isTurningBack());
    turn = lone.book.begin(Tick{1});
    lone.book.placeGathered(turn);
    EXPECT_EQ(turn.moved, 2U);
    EXPECT_FALSE(lone.book.isTurningBack());
    EXPECT_EQ(lone.turn(1).size(), 5U);
    EXPECT_EQ(lone.turn(10).size(), ShardBook::kPerHold - 3);
}

TEST(ShardBook, BuildsTheLevelsThatTheWayBackNeeds) {
    LoneBook lone;
    lone.book.reserve(Tick{399});
    lone.book.catchUp(Tick{390});
    lone.accepted(500);
    EXPECT_GT(lone.book.reach(), Tick{500});
    lone.book.turnBack(Tick{0}, false);
    EXPECT_EQ(lone.book.reach(), Tick{400});
    ShardBook::Turn turn = lone.book.begin(Tick{0});
    lone.book.placeGathered(turn);
    EXPECT_GT(lone.book.reach(), Tick{500});
}

TEST(ShardBook, ACorrectionMakesDueWhatComputesItsTimes) {
    LoneBook lone;
    ShardBook& book = lone.book;
    auto const acceptAt = [&](TimeoutNode& node, std::int64_t deadline) -> TimeoutNode& {
        book.accept(node, Tick{deadline});
        return node;
    };
    auto const placeAll = [&] {
        ShardBook::Turn turn = book.begin(book.currentTick());
        book.placeGathered(turn);
    };
    book.catchUp(Tick{5});
    TimeoutNode& computed = acceptAt(lone.periodic(Rule::timesOfTask, Tick{9}), 9);
    TimeoutNode& moved = acceptAt(lone.periodic(Rule::timesOfTask, Tick{9}), 10);
    TimeoutNode& fixed = acceptAt(lone.periodic(Rule::fixedRate, Tick{9}), 9);
    acceptAt(lone.node(), 9);
    book.turnBack(Tick{4}, false);
    placeAll();
    EXPECT_EQ(computed.deadline(), Tick{9});
    EXPECT_FALSE(computed.periodicity().isCorrected);

    book.turnBack(Tick{3}, true);
    book.turnBack(Tick{2}, false);  // what the last one has left is still to be corrected
    placeAll();
    EXPECT_TRUE(computed.periodicity().isCorrected);
    EXPECT_EQ(computed.deadline(), Tick{2});
    EXPECT_EQ(computed.periodicity().scheduled, Tick{2});
    EXPECT_EQ(stateOf(computed), TimeoutState::ready);
    EXPECT_EQ(moved.deadline(), Tick{10});
    EXPECT_EQ(fixed.deadline(), Tick{9});
    EXPECT_EQ(lone.turn(2), Entries{&computed});  // without being admitted

    acceptAt(computed, 2);
    lone.move(computed, 9);
    book.turnBack(Tick{1}, false);
    placeAll();
    EXPECT_EQ(computed.deadline(), Tick{9});
    EXPECT_EQ(lone.tasks.pending, 4U);
}

// ---- cancelAll() ------------------------------------------------------------------------------

/// Cancels until there is nothing left; returns how many.
std::size_t cancelTheRest(ShardBook& book, std::size_t queued) {
    std::size_t cancelled = 0;
    while (book.cancelNext(queued)) ++cancelled;
    return cancelled;
}

TEST(ShardBook, CancelAllCancelsWhatWasPendingWhenItBegan) {
    LoneBook lone;
    ShardBook& book = lone.book;
    oneOfEachState(lone);
    TimeoutNode& node = lone.node();
    HookEntry& told = lone.hook(kHookThatIsTold);
    book.accept(node, Tick{10});
    book.accept(told, Tick{10});
    TimeoutNode& periodic = runningPeriodic(lone);
    TimeoutNode& once = lone.node();
    TimeoutWord{Tick{3}, TimeoutState::running}.storeIn(once);
    RunningTask runs{nullptr};
    RunningTask runsOnce{nullptr};
    runs.entry = &periodic;
    runsOnce.entry = &once;
    lone.tasks.running.add(runs);
    lone.tasks.running.add(runsOnce);

    EXPECT_FALSE(book.isCancellingAll());
    EXPECT_EQ(book.beginCancelAll(), 1U);
    EXPECT_TRUE(book.isCancellingAll());
    EXPECT_EQ(stateOf(periodic), TimeoutState::cancelled);
    EXPECT_EQ(stateOf(once), TimeoutState::running);
    book.checkInvariants(book.nextWake());

    TimeoutEntry* const later = lone.acceptedAt({10})[0];
    EXPECT_EQ(lone.turn(9), Entries{});  // what was gathered does not expire
    EXPECT_EQ(lone.turn(10), Entries{later});
    lone.dispatch(*later);
    ++lone.tasks.pending;
    EXPECT_EQ(cancelTheRest(book, 1), 6U);
    EXPECT_EQ(lone.tasks.pending, 1U);
    EXPECT_EQ(stateOf(*later), TimeoutState::queued);
    EXPECT_EQ(lone.tasks.counters.cancelled, 7U);
    EXPECT_EQ(stateOf(node), TimeoutState::cancelling);
    EXPECT_EQ(stateOf(told), TimeoutState::cancelled);
    TimerTaskList ended;
    EXPECT_EQ(book.takeCancelled(ended), 7U);
    EXPECT_EQ(&ended.takeFirst(), &node);
    EXPECT_TRUE(ended.empty());
    EXPECT_EQ(book.takeCancelled(ended), 0U);
    EXPECT_EQ(book.takeGivenUp(), &told);
    EXPECT_EQ(book.takeGivenUp(), nullptr);
    book.endCancelAll();
    EXPECT_FALSE(book.isCancellingAll());
}

// ---- stop() and looking -----------------------------------------------------------------------

TEST(ShardBook, AddsItsStatistics) {
    LoneBook lone;
    lone.book.reserve(Tick{399});
    lone.accepted(25);
    lone.turn(20);
    TimerStatistics statistics;
    statistics.pending = 1;
    statistics.cascaded = {1, 1, 1};  // of a shard with more levels
    lone.book.readInto(statistics);
    EXPECT_EQ(statistics.scheduled, 1U);
    EXPECT_EQ(statistics.pending, 2U);
    EXPECT_EQ(statistics.cascaded, (std::vector<std::uint64_t>{1, 2, 1}));
}

TEST(ShardBook, ChecksItsInvariants) {
    LoneBook lone;
    ShardBook& book = lone.book;
    auto const throwsFor = [&](std::int64_t published) {
        try {
            book.checkInvariants(Tick{published});
            return false;
        } catch (std::logic_error const&) {
            return true;
        }
    };
    TimeoutEntry* const inBucket = lone.acceptedAt({5})[0];
    EXPECT_FALSE(throwsFor(5));
    EXPECT_TRUE(throwsFor(6));
    lone.book.catchUp(Tick{3});
    lone.accepted(3);
    EXPECT_FALSE(throwsFor(3));
    EXPECT_TRUE(throwsFor(4));
    book.admitArrivals();
    EXPECT_FALSE(throwsFor(3));
    EXPECT_TRUE(throwsFor(4));
    --lone.tasks.pending;
    EXPECT_TRUE(throwsFor(3));
    lone.tasks.pending += 2;
    EXPECT_TRUE(throwsFor(3));
    --lone.tasks.pending;
    TimerTaskList::remove(*inBucket);
    lone.dispatch(*inBucket);
    EXPECT_FALSE(throwsFor(3));
    TimerTaskList::remove(*inBucket);  // without the queue's knowledge
    --lone.tasks.pending;
    EXPECT_TRUE(throwsFor(3));
}

// ---- the chunk --------------------------------------------------------------------------------

TEST(ShardBook, TakesChunksOfWhatIsDue) {
    LoneBook lone;
    ShardBook& book = lone.book;
    Entries const all = lone.acceptedAt(std::vector<std::int64_t>(Chunk::kSize + 2, 5));
    lone.accepted(6);
    ShardBook::Turn turn = book.begin(Tick{6});
    Chunk* const chunk = book.nextChunk(turn, SIZE_MAX);
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(book.nextChunk(turn, 1), nullptr) << "it is in use";
    EXPECT_EQ(stateOf(*all[0]), TimeoutState::taken);
    EXPECT_EQ(book.pending(), all.size() + 1);
    EXPECT_EQ(chunk->claim().entry, all[0]);
    EXPECT_EQ(book.pending(), all.size());
    TimerStatistics seen;
    book.readInto(seen);
    EXPECT_EQ(seen.fired, 1U);
    EXPECT_EQ(seen.runs, 1U);
    EXPECT_EQ(seen.pending, all.size());
    book.checkInvariants(Tick{5});
    while (chunk->claim().entry != nullptr) {
    }
    EXPECT_EQ(book.endChunk(), Chunk::kSize);
    EXPECT_EQ(lone.tasks.pending, 3U);
    EXPECT_EQ(lone.tasks.counters.fired, Chunk::kSize);
    EXPECT_EQ(lone.tasks.counters.runs, Chunk::kSize);
    for (int left = 2; left > 0; --left) {
        ASSERT_EQ(book.nextChunk(turn, 1), chunk);
        chunk->claim();
        EXPECT_EQ(book.endChunk(), 1U);
    }
    EXPECT_EQ(book.nextChunk(turn, 1), nullptr) << "of one tick";
}

TEST(ShardBook, AChunkLeavesPeriodicTimeouts) {
    for (bool const isArrival : {false, true}) {
        LoneBook lone;
        if (isArrival) lone.book.catchUp(Tick{5});
        HookEntry& first = lone.accepted(5);
        TimeoutNode& node = lone.periodic(Rule::fixedRate);
        lone.book.accept(node, Tick{5});
        HookEntry& last = lone.accepted(5);
        lone.book.admitArrivals();
        ShardBook::Turn turn = lone.book.begin(Tick{5});
        Chunk* const chunk = lone.book.nextChunk(turn, SIZE_MAX);
        ASSERT_NE(chunk, nullptr);
        EXPECT_EQ(chunk->claim().entry, &first);
        EXPECT_EQ(chunk->claim().entry, nullptr);
        EXPECT_EQ(lone.book.endChunk(), 1U);
        EXPECT_EQ(lone.book.nextChunk(turn, SIZE_MAX), nullptr);
        EXPECT_EQ(lone.book.next(turn), &node);
        EXPECT_EQ(stateOf(node), TimeoutState::ready);
        --lone.tasks.pending;
        ASSERT_EQ(lone.book.nextChunk(turn, SIZE_MAX), chunk);
        EXPECT_EQ(chunk->claim().entry, &last);
        EXPECT_EQ(lone.book.endChunk(), 1U);
        EXPECT_EQ(lone.tasks.pending, 0U);
    }
}

TEST(ShardBook, AChunkLeavesWhatWasPushedBack) {
    LoneBook lone;
    Entries const all = lone.acceptedAt({5, 5, 5});
    lone.book.expectPushBacks();
    TimeoutWord{Tick{9}, TimeoutState::pending}.storeIn(*all[1]);
    ShardBook::Turn turn = lone.book.begin(Tick{5});
    Chunk* const chunk = lone.book.nextChunk(turn, SIZE_MAX);
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(chunk->claim().entry, all[0]);
    EXPECT_EQ(chunk->claim().entry, all[2]);
    EXPECT_EQ(chunk->claim().entry, nullptr);
    EXPECT_EQ(lone.book.endChunk(), 2U);
    EXPECT_EQ(lone.turn(9), Entries{all[1]});
}

TEST(ShardBook, WhatIsInTheChunkCanBeCancelledOrMovedUntilItIsClaimed) {
    LoneBook lone;
    Entries const all = lone.acceptedAt({5, 5, 5});
    ShardBook::Turn turn = lone.book.begin(Tick{5});
    Chunk* const chunk = lone.book.nextChunk(turn, SIZE_MAX);
    ASSERT_NE(chunk, nullptr);
    chunk->claim();
    TimeoutWord const taken = TimeoutWord::of(*all[0]);
    TimeoutWord{Tick{5}, TimeoutState::expired}.storeIn(*all[0]);
    chunk->noteMarked();
    EXPECT_FALSE(lone.book.seize(*all[0], taken));
    ASSERT_TRUE(lone.book.seize(*all[1], taken));
    lone.cancel(*all[1]);
    ASSERT_TRUE(lone.book.seize(*all[2], taken));
    lone.move(*all[2], 9);
    EXPECT_EQ(chunk->claim().entry, nullptr);
    EXPECT_EQ(lone.book.endChunk(), 1U);
    EXPECT_EQ(lone.tasks.pending, 1U);
    EXPECT_EQ(lone.turn(9), Entries{all[2]});
}

/// What pending() does.
void lookAt(ShardBook& book) {
    std::vector<FoundTimeout> found;
    TickScale const scale{Clock::TimePoint{}, std::chrono::milliseconds{1}};
    FoundTimeouts shown{found, scale};
    PendingWalk walk{shown, scale, 10};
    book.beginWalk(walk);
    walk.prepare();
    EXPECT_TRUE(book.walkOn(walk));
    book.endWalk();
    EXPECT_EQ(found.size(), book.pending());
}

// Bug pattern: what a look takes back from the chunk is left by the cancelAll() that is under way,
// and runs afterwards.
TEST(ShardBook, CancelsAllThatIsInTheChunkOrReturnsItAlsoAfterALook) {
    for (auto const& [isStop, isLookedAt] :
         {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
        LoneBook lone;
        Entries const all = lone.acceptedAt({5, 5});
        ShardBook::Turn turn = lone.book.begin(Tick{5});
        Chunk* const chunk = lone.book.nextChunk(turn, SIZE_MAX);
        ASSERT_NE(chunk, nullptr);
        chunk->claim();
        chunk->noteMarked();
        std::size_t queued = lone.book.beginCancelAll();
        if (isLookedAt) lookAt(lone.book);
        if (isStop)
            EXPECT_EQ(lone.book.takePending(), all[1]);
        else
            EXPECT_TRUE(lone.book.cancelNext(queued));
        EXPECT_FALSE(lone.book.cancelNext(queued));
        EXPECT_EQ(lone.book.pending(), 0U);
        EXPECT_EQ(chunk->claim().entry, nullptr);
        EXPECT_EQ(lone.book.endChunk(), 1U);
        EXPECT_EQ(lone.tasks.pending, 0U);
    }
}

}  // namespace
}  // namespace timingwheel::detail
