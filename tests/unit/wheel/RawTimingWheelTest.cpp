#include "Lease.h"

#include <timingwheel/wheel/RawTimingWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel {
namespace {

using test::setDeadline;
using test::where;

class RawTimingWheelTest : public testing::Test {
protected:
    Placement place(std::size_t entry, std::int64_t deadline) {
        setDeadline(entries_[entry], Tick{deadline});
        wheel_.reserve(Tick{deadline});
        return wheel_.place(entries_[entry]);
    }

    // Takes what was flushed, and says which entries these were.
    std::vector<std::size_t> takeFlushed() {
        std::vector<std::size_t> taken;
        while (wheel_.hasFlushed()) taken.push_back(indexOf(wheel_.takeFlushed()));
        return taken;
    }

    std::size_t indexOf(TimerTaskEntry const& entry) const {
        return static_cast<std::size_t>(&entry - entries_.data());
    }

    std::vector<std::int64_t> levelClocks() const {
        std::vector<std::int64_t> clocks;
        for (TimingWheelLevel const& level : wheel_.levels()) clocks.push_back(level.clock());
        return clocks;
    }

    std::array<TimerTaskEntry, 8> entries_;
    RawTimingWheel wheel_{{.wheelSize = 20, .start = Tick{0}}};
};

using Indices = std::vector<std::size_t>;
using Clocks = std::vector<std::int64_t>;

// Placing.

TEST_F(RawTimingWheelTest, APlacementIsDueUntilABucketIsNamed) {
    EXPECT_TRUE(Placement{}.isDue());
    EXPECT_FALSE(Placement{}.isEarliest());
    TimerTaskList const bucket;
    EXPECT_FALSE((Placement{bucket, true}.isDue()));
    EXPECT_TRUE((Placement{bucket, true}.isEarliest()));
    EXPECT_FALSE((Placement{bucket, false}.isEarliest()));
    EXPECT_EQ(&Placement(bucket, false).bucket(), &bucket);
}

TEST_F(RawTimingWheelTest, ReadsTheDeadlineAndLeavesTheOwnersBitsAlone) {
    setDeadline(entries_[0], Tick{5}, 11);
    std::uint64_t const word = entries_[0].word();
    wheel_.place(entries_[0]);
    wheel_.flush(Tick{5});
    wheel_.takeFlushed();
    EXPECT_EQ(entries_[0].word(), word);
}

TEST_F(RawTimingWheelTest, RemoveLeavesTheBucketArmedUntilItExpires) {
    TimerTaskList const& bucket = place(0, 25).bucket();
    wheel_.remove(entries_[0]);
    EXPECT_EQ(wheel_.size(), 0U);
    EXPECT_TRUE(bucket.isArmed());
    EXPECT_EQ(wheel_.nextExpiration(), Tick{20});
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, AnEmptiedBucketTakesEntriesAgainWithoutASecondPlaceInTheHeap) {
    place(0, 25);
    wheel_.remove(entries_[0]);
    EXPECT_EQ(where(place(1, 26)), "1:1@20");
    EXPECT_EQ(wheel_.delayHeap().size(), 1U);
    wheel_.checkInvariants();
}

// Moving.

TEST_F(RawTimingWheelTest, MovesAnEntryToTheBucketOfAnotherDeadline) {
    TimerTaskList const& before = place(0, 25).bucket();
    place(1, 27);
    EXPECT_EQ(where(wheel_.move(entries_[0], Tick{7})), "0:7@7");
    setDeadline(entries_[0], Tick{7});
    EXPECT_EQ(before.size(), 1U);
    EXPECT_EQ(wheel_.size(), 2U);
    wheel_.checkInvariants();
    ASSERT_TRUE(wheel_.flush(Tick{7}));
    EXPECT_EQ(takeFlushed(), Indices{0});
}

TEST_F(RawTimingWheelTest, MovesAnEntryWithinItsBucketBehindTheOthers) {
    for (std::size_t i = 0; i < 3; ++i) place(i, 25);
    EXPECT_EQ(where(wheel_.move(entries_[0], Tick{25})), "1:1@20");
    wheel_.flush(Tick{20});
    EXPECT_EQ(takeFlushed(), (Indices{1, 2, 0}));
}

TEST_F(RawTimingWheelTest, MovesAnEntryOutIfItIsDue) {
    place(0, 25);
    wheel_.advanceClock(Tick{10});
    EXPECT_TRUE(wheel_.move(entries_[0], Tick{10}).isDue());
    EXPECT_FALSE(entries_[0].isQueued());
    EXPECT_TRUE(wheel_.empty());
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, MovesAnEntryThatWasFlushed) {
    for (std::size_t i = 0; i < 3; ++i) place(i, 25);
    wheel_.flush(Tick{20});
    EXPECT_EQ(where(wheel_.move(entries_[1], Tick{30})), "0:10@30");
    setDeadline(entries_[1], Tick{30});
    EXPECT_EQ(takeFlushed(), (Indices{0, 2}));
    wheel_.checkInvariants();
}

// Reserving.

TEST_F(RawTimingWheelTest, ReserveBuildsTheLevelsThatADeadlineNeeds) {
    EXPECT_EQ(wheel_.reach(), Tick{20});
    wheel_.reserve(Tick{19});
    EXPECT_EQ(wheel_.levels().size(), 1U);
    wheel_.reserve(Tick{20});
    EXPECT_EQ(wheel_.levels().size(), 2U);
    EXPECT_EQ(wheel_.reach(), Tick{400});
    wheel_.reserve(Tick{8'000});
    EXPECT_EQ(wheel_.levels().size(), 4U);
    EXPECT_EQ(wheel_.reach(), Tick{160'000});
    wheel_.reserve(Tick{19});
    EXPECT_EQ(wheel_.levels().size(), 4U);
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(RawTimingWheelTest, ReachMovesWithTheCoarsestLevel) {
    wheel_.reserve(Tick{399});
    wheel_.advanceClock(Tick{19});
    EXPECT_EQ(wheel_.reach(), Tick{400});
    wheel_.advanceClock(Tick{20});
    EXPECT_EQ(wheel_.reach(), Tick{420});
}

TEST_F(RawTimingWheelTest, ALevelBuiltLateHasItsClockRoundedDown) {
    wheel_.advanceClock(Tick{1'234});
    wheel_.reserve(Tick{100'000});
    EXPECT_EQ(levelClocks(), (Clocks{1'234, 1'220, 1'200, 0}));
    wheel_.checkInvariants();
}

// Bug pattern: a delay beyond the capacity fires early.
TEST_F(RawTimingWheelTest, EntriesBeyondReachWaitInTheFarthestBucketAndAreNeverEarly) {
    setDeadline(entries_[0], Tick{1'000});
    EXPECT_EQ(where(wheel_.place(entries_[0])), "0:19@19");
    EXPECT_EQ(wheel_.levels().size(), 1U);
    wheel_.checkInvariants(RawTimingWheel::Deadlines::mayBeLater);

    Placement placement;
    do {
        ASSERT_TRUE(wheel_.flush(Tick::max()));
        EXPECT_TRUE(wheel_.currentTick() <= Tick{1'000});
        placement = wheel_.place(wheel_.takeFlushed());
        EXPECT_EQ(placement.isDue(), wheel_.currentTick() == Tick{1'000});
        wheel_.checkInvariants(RawTimingWheel::Deadlines::mayBeLater);
    } while (!placement.isDue());
}

TEST_F(RawTimingWheelTest, AnEntryBeyondReachMovesUpOnceALevelIsBuilt) {
    setDeadline(entries_[0], Tick{1'000});
    wheel_.place(entries_[0]);
    wheel_.reserve(Tick{1'000});
    wheel_.flush(Tick{19});
    EXPECT_EQ(where(wheel_.place(wheel_.takeFlushed())), "2:2@800");
}

TEST_F(RawTimingWheelTest, CountsSlotsFromTickZeroOrFromANegativeStart) {
    RawTimingWheel later{{.wheelSize = 20, .start = Tick{1'005}}};
    EXPECT_EQ(later.levels()[0].nextTurn(), 1'020);
    RawTimingWheel negative{{.wheelSize = 20, .start = Tick{-1'005}}};
    EXPECT_EQ(negative.levels()[0].nextTurn(), -985);
}

// The clock.

TEST_F(RawTimingWheelTest, AdvanceClockMovesEveryLevelsClockRoundedDown) {
    wheel_.reserve(Tick{100'000});
    EXPECT_EQ(wheel_.advanceClock(Tick{19}), Tick{19});
    EXPECT_EQ(levelClocks(), (Clocks{19, 0, 0, 0}));
    wheel_.advanceClock(Tick{20});
    EXPECT_EQ(levelClocks(), (Clocks{20, 20, 0, 0}));
    wheel_.advanceClock(Tick{419});
    EXPECT_EQ(levelClocks(), (Clocks{419, 400, 400, 0}));
    wheel_.advanceClock(Tick{9'999});
    EXPECT_EQ(levelClocks(), (Clocks{9'999, 9'980, 9'600, 8'000}));
}

TEST_F(RawTimingWheelTest, AdvanceClockNeverGoesBack) {
    EXPECT_EQ(wheel_.advanceClock(Tick{500}), Tick{500});
    EXPECT_EQ(wheel_.advanceClock(Tick{499}), Tick{500});
    EXPECT_EQ(wheel_.advanceClock(Tick::min()), Tick{500});
    EXPECT_EQ(wheel_.advanceClock(Tick{500}), Tick{500});
    EXPECT_EQ(wheel_.currentTick(), Tick{500});
}

TEST_F(RawTimingWheelTest, AdvanceClockStopsAtTheExpirationOfABucketThatHoldsAnEntry) {
    place(0, 25);
    EXPECT_EQ(wheel_.advanceClock(Tick{19}), Tick{19});
    EXPECT_EQ(wheel_.advanceClock(Tick{21}), Tick{20});
    EXPECT_EQ(wheel_.advanceClock(Tick{5'000}), Tick{20});
    EXPECT_EQ(wheel_.size(), 1U);
    ASSERT_TRUE(wheel_.flush(Tick{20}));
    EXPECT_EQ(where(wheel_.place(wheel_.takeFlushed())), "0:5@25");
}

TEST_F(RawTimingWheelTest, AdvanceClockPassesEmptiedBucketsAndDropsThem) {
    place(0, 5);
    place(1, 25);
    place(2, 900);
    wheel_.remove(entries_[0]);
    wheel_.remove(entries_[1]);
    EXPECT_EQ(wheel_.advanceClock(Tick{700}), Tick{700});
    EXPECT_EQ(wheel_.delayHeap().size(), 1U);
    EXPECT_EQ(wheel_.nextExpiration(), Tick{800});
    wheel_.checkInvariants();
    EXPECT_EQ(wheel_.advanceClock(Tick{1'000}), Tick{800});
}

TEST_F(RawTimingWheelTest, AdvanceClockDropsABucketThatWasEmptiedAndExpiresAtThatTick) {
    place(0, 5);
    wheel_.remove(entries_[0]);
    wheel_.advanceClock(Tick{5});
    EXPECT_TRUE(wheel_.delayHeap().empty());
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, AdvanceClockWaitsForFlushedEntriesToBeTaken) {
    place(0, 5);
    wheel_.flush(Tick{5});
    EXPECT_EQ(wheel_.advanceClock(Tick{9}), Tick{5});
    takeFlushed();
    EXPECT_EQ(wheel_.advanceClock(Tick{9}), Tick{9});
}

// Else a clock that ticks would look twice for each bucket.
TEST_F(RawTimingWheelTest, TheStepAfterAFlushIsQuietOnceTheClockWasToldTheTick) {
    place(0, 5);
    place(1, 7);
    wheel_.flush(Tick{5});
    EXPECT_FALSE(wheel_.advanceQuietly(Tick{5}));
    takeFlushed();
    EXPECT_FALSE(wheel_.advanceQuietly(Tick{6}));
    EXPECT_EQ(wheel_.advanceClock(Tick{5}), Tick{5});
    EXPECT_TRUE(wheel_.advanceQuietly(Tick{6}));
    EXPECT_EQ(wheel_.currentTick(), Tick{6});
    EXPECT_FALSE(wheel_.advanceQuietly(Tick{7}));
    wheel_.checkInvariants();
}

// Between its expiration and its flush a bucket stands where the clock stands: no new entry may get
// into it meanwhile.
TEST_F(RawTimingWheelTest, NothingIsPlacedIntoABucketThatHasExpired) {
    TimerTaskList const& expired = place(0, 25).bucket();
    wheel_.advanceClock(Tick{100});
    std::set<TimerTaskList const*> used;
    for (std::int64_t deadline = 21; deadline < 900; ++deadline) {
        used.insert(&place(1, deadline).bucket());
        wheel_.remove(entries_[1]);
    }
    EXPECT_FALSE(used.contains(&expired));
    EXPECT_EQ(used.size(), 19U + 19U + 2U);
}

// Also of two buckets with the same expiration, while the second waits for its flush.
TEST_F(RawTimingWheelTest, InvariantsHoldWhileABucketThatHasExpiredWaitsForItsFlush) {
    place(0, 25);
    wheel_.advanceClock(Tick{100});
    EXPECT_NO_THROW(wheel_.checkInvariants());
}

// Flushing.

TEST_F(RawTimingWheelTest, FlushMovesTheClockToTheEarliestBucketAndSaysWhereItStood) {
    place(0, 25);
    place(1, 900);
    TimerTaskList const* const flush = wheel_.flush(Tick{10'000});
    ASSERT_TRUE(flush);
    EXPECT_EQ(flush->level(), 1U);
    EXPECT_EQ(flush->slot(), 1U);
    EXPECT_EQ(wheel_.currentTick(), Tick{20});
    EXPECT_EQ(wheel_.currentTick(), Tick{20});
    EXPECT_EQ(takeFlushed(), Indices{0});
}

TEST_F(RawTimingWheelTest, FlushLeavesTheClockAloneWhenNothingExpires) {
    EXPECT_FALSE(wheel_.flush(Tick{10}));
    place(0, 25);
    EXPECT_FALSE(wheel_.flush(Tick{19}));
    EXPECT_EQ(wheel_.currentTick(), Tick{0});
    EXPECT_FALSE(wheel_.hasFlushed());
}

TEST_F(RawTimingWheelTest, FlushTakesABucketThatExpiresAtTheLimit) {
    place(0, 25);
    EXPECT_TRUE(wheel_.flush(Tick{20}));
}

TEST_F(RawTimingWheelTest, FlushHandsEntriesOverInTheOrderInWhichTheyCame) {
    for (std::size_t i : {3U, 0U, 5U, 1U}) place(i, 20 + static_cast<std::int64_t>(i));
    wheel_.flush(Tick{20});
    EXPECT_EQ(takeFlushed(), (Indices{3, 0, 5, 1}));
}

// One bucket for each flush, so that whoever holds a lock around it can bound the work.
TEST_F(RawTimingWheelTest, FlushTakesAnEmptiedBucketLikeAnyOther) {
    place(0, 5);
    place(1, 7);
    wheel_.remove(entries_[0]);
    ASSERT_TRUE(wheel_.flush(Tick{10}));
    EXPECT_FALSE(wheel_.hasFlushed());
    EXPECT_EQ(wheel_.currentTick(), Tick{5});
    TimerTaskList const* const flush = wheel_.flush(Tick{10});
    ASSERT_TRUE(flush);
    EXPECT_EQ(wheel_.currentTick(), Tick{7});
    EXPECT_EQ(takeFlushed(), Indices{1});
}

TEST_F(RawTimingWheelTest, FlushDropsEmptiedBucketsAlsoWhenNothingIsLeft) {
    place(0, 5);
    place(1, 25);
    wheel_.remove(entries_[0]);
    wheel_.remove(entries_[1]);
    EXPECT_TRUE(wheel_.flush(Tick{22}));
    EXPECT_TRUE(wheel_.flush(Tick{22}));
    EXPECT_FALSE(wheel_.flush(Tick{22}));
    EXPECT_TRUE(wheel_.delayHeap().empty());
    EXPECT_EQ(wheel_.currentTick(), Tick{20});
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, AdvanceClockDropsABoundedNumberOfEmptiedBuckets) {
    RawTimingWheel wheel{{.wheelSize = 1'000}};
    std::vector<TimerTaskEntry> entries(200);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        auto const tick = Tick{static_cast<std::int64_t>(i) + 1};
        entries[i].word().store(TimerTaskEntry::pack(tick, 0));
        wheel.place(entries[i]);
    }
    for (TimerTaskEntry& entry : entries) wheel.remove(entry);
    EXPECT_EQ(wheel.advanceClock(Tick{500}), Tick{65});
    EXPECT_EQ(wheel.advanceClock(Tick{500}), Tick{129});
    wheel.checkInvariants();
    EXPECT_EQ(wheel.advanceClock(Tick{500}), Tick{193});
    EXPECT_EQ(wheel.advanceClock(Tick{500}), Tick{500});
}

TEST_F(RawTimingWheelTest, FlushTakesTheLowestLevelFirstOfTheSameExpiration) {
    place(0, 420);  // 2:1@400
    wheel_.advanceClock(Tick{30});
    place(1, 405);  // 1:0@400
    wheel_.advanceClock(Tick{390});
    place(2, 400);  // 0:0@400
    std::vector<std::uint32_t> levels;
    Indices taken;
    while (TimerTaskList const* const flush = wheel_.flush(Tick{400})) {
        levels.push_back(flush->level());
        for (std::size_t index : takeFlushed()) taken.push_back(index);
    }
    EXPECT_EQ(levels, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(taken, (Indices{2, 1, 0}));
}

TEST_F(RawTimingWheelTest, CountsFlushedEntriesUntilTheyAreTaken) {
    for (std::size_t i = 0; i < 3; ++i) place(i, 5);
    wheel_.flush(Tick{5});
    EXPECT_EQ(wheel_.size(), 3U);
    EXPECT_TRUE(wheel_.hasFlushed());
    wheel_.checkInvariants();
    wheel_.takeFlushed();
    EXPECT_EQ(wheel_.size(), 2U);
    wheel_.remove(entries_[2]);
    EXPECT_EQ(wheel_.size(), 1U);
    EXPECT_EQ(takeFlushed(), Indices{1});
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(RawTimingWheelTest, HasNothingFlushedOnceTheLastFlushedEntryWasRemoved) {
    place(0, 5);
    wheel_.flush(Tick{5});
    wheel_.remove(entries_[0]);
    EXPECT_FALSE(wheel_.hasFlushed());
    EXPECT_EQ(wheel_.nextExpiration(), std::nullopt);
}

// The expiration comes off before the entries are placed again: the bucket is for the next turn.
TEST_F(RawTimingWheelTest, FlushLeavesTheBucketEmptyUnarmedAndOutOfTheHeap) {
    TimerTaskList const& bucket = place(0, 25).bucket();
    wheel_.flush(Tick{20});
    EXPECT_TRUE(bucket.empty());
    EXPECT_FALSE(bucket.isArmed());
    EXPECT_TRUE(wheel_.delayHeap().empty());
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, ABucketIsUsedAgainOneTurnLaterAndNotSeenByTheFlushBefore) {
    TimerTaskList const& bucket = place(0, 45).bucket();
    wheel_.flush(Tick{40});
    takeFlushed();
    wheel_.advanceClock(Tick{60});
    EXPECT_EQ(&place(0, 445).bucket(), &bucket);
    EXPECT_EQ(bucket.expiration(), 440);
    EXPECT_FALSE(wheel_.flush(Tick{439}));
    EXPECT_TRUE(wheel_.flush(Tick{440}));
}

TEST_F(RawTimingWheelTest, TakesOutTheNextThatIsDueAndCascadesTheOthers) {
    place(0, 20);
    place(1, 25);
    place(2, 20);
    place(3, 26);
    wheel_.flush(Tick{20});
    EXPECT_EQ(wheel_.nextDue(), &entries_[0]);
    EXPECT_FALSE(entries_[0].isQueued());
    EXPECT_EQ(wheel_.nextDue(), &entries_[2]);
    wheel_.checkInvariants();
    EXPECT_EQ(wheel_.size(), 2U);
    EXPECT_EQ(wheel_.nextDue(), nullptr);
    EXPECT_FALSE(wheel_.hasFlushed());
    EXPECT_EQ(wheel_.size(), 2U);
    EXPECT_EQ(wheel_.nextExpiration(), Tick{25});
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, CascadesNoMoreThanItMay) {
    for (std::size_t i = 0; i < 4; ++i) place(i, 25);
    place(4, 20);
    wheel_.flush(Tick{20});
    std::size_t atMost = 3;
    EXPECT_EQ(wheel_.nextDue(atMost), nullptr);
    EXPECT_EQ(atMost, 0U);
    EXPECT_TRUE(wheel_.hasFlushed());
    wheel_.checkInvariants();
    atMost = 3;  // one is placed; the other is met there, and then returned
    EXPECT_EQ(wheel_.nextDue(atMost), &entries_[4]);
    EXPECT_EQ(atMost, 0U);
    EXPECT_FALSE(wheel_.hasFlushed());
    wheel_.checkInvariants();
}

TEST_F(RawTimingWheelTest, CountsWhatACascadeBroughtDown) {
    for (std::size_t i = 0; i < 3; ++i) place(i, 25);
    place(3, 26);
    entries_[3].word().store(TimerTaskEntry::pack(Tick{700}, 0));  // moved later meanwhile
    place(4, 20);
    wheel_.flush(Tick{20});
    std::size_t atMost = 2;
    EXPECT_EQ(wheel_.cascade(atMost), 2U);
    EXPECT_EQ(atMost, 0U);
    atMost = SIZE_MAX;
    EXPECT_EQ(wheel_.cascade(atMost), 1U) << "the other is on a higher level now";
    EXPECT_EQ(atMost, SIZE_MAX - 3);
    EXPECT_EQ(wheel_.nextFlushed(), &entries_[4]) << "is due, so it stays";
    EXPECT_EQ(wheel_.cascade(atMost), 0U);
    EXPECT_EQ(wheel_.size(), 5U);
    wheel_.checkInvariants(RawTimingWheel::Deadlines::mayBeLater);
}

TEST_F(RawTimingWheelTest, EveryCascadeGoesToALowerLevel) {
    std::int64_t seed = 1;
    for (int round = 0; round < 200; ++round) {
        seed = seed * 48'271 % 2'147'483'647;
        Placement placement = place(0, wheel_.currentTick().value() + seed % 5'000'000);
        int cascades = 0;
        while (!placement.isDue()) {
            std::uint32_t const level = placement.bucket().level();
            ASSERT_TRUE(wheel_.flush(Tick::max()));
            placement = wheel_.place(wheel_.takeFlushed());
            if (placement.isDue()) break;
            EXPECT_LT(placement.bucket().level(), level);
            ++cascades;
        }
        EXPECT_LT(cascades, 6);
        EXPECT_EQ(wheel_.currentTick(), entries_[0].deadline());
    }
}

// Emptying.

TEST_F(RawTimingWheelTest, TakeAnyEmptiesTheWheelAndLeavesTheClockAlone) {
    place(0, 9'000);
    place(1, 3);
    place(2, 25);
    place(3, 3);
    place(4, 160'000'000);
    wheel_.flush(Tick{3});
    Indices taken;
    while (TimerTaskEntry* const entry = wheel_.takeAny()) {
        EXPECT_FALSE(entry->isQueued());
        taken.push_back(indexOf(*entry));
        wheel_.checkInvariants();
    }
    EXPECT_EQ(taken, (Indices{1, 3, 2, 0, 4}));
    EXPECT_TRUE(wheel_.empty());
    EXPECT_EQ(wheel_.takeAny(), nullptr);
    EXPECT_EQ(wheel_.nextExpiration(), std::nullopt);
    EXPECT_EQ(wheel_.currentTick(), Tick{3});
}

TEST_F(RawTimingWheelTest, GathersTheEntriesOfAllBucketsAndTheRestOfAFlush) {
    for (std::size_t i = 0; i < 3; ++i) place(i, 5);
    place(3, 25);
    place(4, 8'000);
    wheel_.flush(Tick{5});
    wheel_.takeFlushed();
    wheel_.gatherAll();
    EXPECT_FALSE(wheel_.hasFlushed());
    EXPECT_EQ(wheel_.size(), 4U);
    wheel_.checkInvariants();
    wheel_.remove(entries_[3]);  // as from a bucket
    place(5, 25);                // stays in its bucket
    std::set<std::size_t> gathered;
    while (TimerTaskEntry* const entry = wheel_.takeGathered()) gathered.insert(indexOf(*entry));
    EXPECT_EQ(gathered.size(), 3U);
    EXPECT_TRUE(gathered.contains(4));
    EXPECT_EQ(wheel_.size(), 1U);
    wheel_.checkInvariants();
    EXPECT_EQ(wheel_.takeAny(), &entries_[5]);
}

// G15
TEST_F(RawTimingWheelTest, RestartsAtAnEarlierTick) {
    place(0, 401);
    place(1, 405);
    place(2, 8'000);
    wheel_.flush(Tick{400});  // of level 2, half of it taken
    TimerTaskEntry& first = wheel_.takeFlushed();
    EXPECT_EQ(wheel_.currentTick(), Tick{400});
    wheel_.restart(Tick{13});
    EXPECT_EQ(wheel_.currentTick(), Tick{13});
    EXPECT_FALSE(wheel_.hasFlushed());
    EXPECT_TRUE(wheel_.delayHeap().empty());
    EXPECT_EQ(wheel_.size(), 2U) << "gathered";
    wheel_.checkInvariants();
    while (TimerTaskEntry* const entry = wheel_.takeGathered()) wheel_.place(*entry);
    wheel_.place(first);
    wheel_.checkInvariants();
    EXPECT_EQ(where(place(3, 33)), "1:1@20") << "as of a wheel that began at 13";
    EXPECT_EQ(where(place(4, 19)), "0:19@19");
    std::vector<std::int64_t> order;
    while (auto const next = wheel_.nextExpiration()) {
        wheel_.flush(*next);
        while (wheel_.hasFlushed()) {
            TimerTaskEntry& entry = wheel_.takeFlushed();
            if (wheel_.place(entry).isDue()) order.push_back(entry.deadline().value());
        }
        wheel_.checkInvariants();
    }
    EXPECT_EQ(order, (std::vector<std::int64_t>{19, 33, 401, 405, 8'000}));
}

// G15
// At any tick a wheel that restarted there places as one that was made there.
TEST_F(RawTimingWheelTest, RestartsAnywhereAsIfItBeganThere) {
    for (std::int64_t const tick : {0, 1, 19, 20, 399, 400, 401, 7'999, 8'000, 123'456'789}) {
        RawTimingWheel fresh{{.start = Tick{tick}}};
        wheel_.reserve(Tick{200'000'000});
        fresh.reserve(wheel_.reach());
        wheel_.restart(Tick{tick});
        wheel_.reserve(fresh.reach());
        for (std::int64_t const delay : {1, 19, 20, 21, 400, 7'999, 8'000, 160'001}) {
            TimerTaskEntry other;
            setDeadline(other, Tick{tick + delay});
            EXPECT_EQ(where(place(0, tick + delay)), where(fresh.place(other))) << tick;
            wheel_.remove(entries_[0]);
            fresh.remove(other);
        }
        wheel_.checkInvariants();
    }
}

TEST_F(RawTimingWheelTest, CanBeUsedAgainAfterTakeAny) {
    place(0, 25);
    place(1, 5);
    while (wheel_.takeAny() != nullptr) {
    }
    EXPECT_EQ(where(place(0, 26)), "1:1@20");
    EXPECT_EQ(where(place(1, 5)), "0:5@5");
    wheel_.checkInvariants();
    EXPECT_EQ(wheel_.nextExpiration(), Tick{5});
}

// The checker of invariants: each of them, broken on purpose, must be named.

class BrokenRawTimingWheel : public RawTimingWheelTest {
protected:
    std::string broken(
        RawTimingWheel::Deadlines deadlines = RawTimingWheel::Deadlines::asPlaced) const {
        try {
            wheel_.checkInvariants(deadlines);
        } catch (std::logic_error const& error) {
            std::string const message = error.what();
            return message.substr(0, message.find(' '));
        }
        return "none";
    }

    TimerTaskList& bucketOf(Placement const& placement) {
        return const_cast<TimerTaskList&>(placement.bucket());
    }
};

TEST_F(BrokenRawTimingWheel, AreNoneAtFirst) {
    place(0, 5);
    place(1, 5'000);
    EXPECT_EQ(broken(), "none");
    EXPECT_EQ(broken(RawTimingWheel::Deadlines::mayBeLater), "none");
}

TEST_F(BrokenRawTimingWheel, W1ALevelsClockStandsElsewhere) {
    wheel_.reserve(Tick{20});
    const_cast<TimingWheelLevel&>(wheel_.levels()[1]).moveClock(20);
    EXPECT_EQ(broken(), "W1");
}

TEST_F(BrokenRawTimingWheel, W2ADeadlineOfAnotherSlot) {
    place(0, 5);
    setDeadline(entries_[0], Tick{6});
    EXPECT_EQ(broken(), "W2");
    EXPECT_EQ(broken(RawTimingWheel::Deadlines::mayBeLater), "none");
}

TEST_F(BrokenRawTimingWheel, W3ADeadlineBeforeTheExpiration) {
    place(0, 25);
    setDeadline(entries_[0], Tick{19});
    EXPECT_EQ(broken(), "W3");
    EXPECT_EQ(broken(RawTimingWheel::Deadlines::mayBeLater), "W3");
}

TEST_F(BrokenRawTimingWheel, W3ADeadlineOneTurnTooLate) {
    place(0, 25);
    setDeadline(entries_[0], Tick{425});
    EXPECT_EQ(broken(), "W3");
    EXPECT_EQ(broken(RawTimingWheel::Deadlines::mayBeLater), "none");
}

TEST_F(BrokenRawTimingWheel, W3ABucketThatHoldsAnEntryIsNotArmed) {
    TimerTaskList& bucket = bucketOf(place(0, 5));
    const_cast<DelayHeap&>(wheel_.delayHeap()).pop();
    bucket.disarm();
    EXPECT_EQ(broken(), "W3");
}

TEST_F(BrokenRawTimingWheel, W4ADeadlineThatTheLevelDoesNotReachYet) {
    TimerTaskList& bucket = bucketOf(place(0, 5));
    const_cast<DelayHeap&>(wheel_.delayHeap()).pop();
    bucket.disarm();
    wheel_.advanceClock(Tick{5});
    setDeadline(entries_[0], Tick{25});  // the level's limit, and the first beyond it
    bucket.arm(25);
    const_cast<DelayHeap&>(wheel_.delayHeap()).push(bucket);
    EXPECT_EQ(broken(), "W4");
}

TEST_F(BrokenRawTimingWheel, W4AnEntryInTheSlotThatTheClockHasEntered) {
    TimerTaskList& bucket = bucketOf(place(0, 30));  // 1:1@20
    const_cast<DelayHeap&>(wheel_.delayHeap()).pop();
    bucket.disarm();
    wheel_.advanceClock(Tick{25});
    bucket.arm(20);
    const_cast<DelayHeap&>(wheel_.delayHeap()).push(bucket);
    EXPECT_EQ(broken(), "W4");
}

TEST_F(BrokenRawTimingWheel, H1AnArmedBucketIsNotInTheHeap) {
    place(0, 5);
    const_cast<DelayHeap&>(wheel_.delayHeap()).pop();
    EXPECT_EQ(broken(), "H1");
}

TEST_F(BrokenRawTimingWheel, H1ABucketInTheHeapIsNotArmed) {
    bucketOf(place(0, 5)).disarm();
    EXPECT_EQ(broken(), "H1");
}

TEST_F(BrokenRawTimingWheel, H2TheExpirationOfAnArmedBucketChanges) {
    bucketOf(place(0, 25)).arm(21);
    EXPECT_EQ(broken(), "H2");
}

TEST_F(BrokenRawTimingWheel, AreNamedWithLevelSlotAndValue) {
    place(0, 25);
    setDeadline(entries_[0], Tick{19});
    try {
        wheel_.checkInvariants();
        FAIL() << "nothing thrown";
    } catch (std::logic_error const& error) {
        EXPECT_STREQ(error.what(),
                     "W3 (expiration <= deadline) is broken at level 1, slot 1, expiration 20, "
                     "level's clock 0: 19");
    }
}

#ifndef NDEBUG
TEST(RawTimingWheelDeathTest, AssertsThatAnEntryIsTakenOutOfItsOwnWheel) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    std::array<test::Lease, 3> leases;
    TimingWheel<test::Lease> own{{.wheelSize = 20}};
    TimingWheel<test::Lease> other{{.wheelSize = 20}};
    own.add(leases[0], Tick{5});
    own.add(leases[1], Tick{5});
    other.add(leases[2], Tick{5});
    EXPECT_DEATH(other.cancel(leases[0]), "mayHold");
    EXPECT_DEATH(other.reschedule(leases[0], Tick{7}), "mayHold");
    EXPECT_TRUE(other.cancel(leases[2]));
    EXPECT_DEATH(other.cancel(leases[0]), "mayHold");
    // Also while it is on its way down.
    own.raw().flush(Tick{5});
    EXPECT_TRUE(own.cancel(leases[0]));
    EXPECT_TRUE(own.cancel(leases[1]));
}
#endif

}  // namespace
}  // namespace timingwheel
