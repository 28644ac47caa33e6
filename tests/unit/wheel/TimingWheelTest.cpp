#include "Lease.h"

#include <support/Figure.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel {
namespace {

using test::advanceTo;
using test::HandedOver;
using test::Lease;
using test::runAll;
using test::where;

using All = std::vector<HandedOver>;

// Placing.

TEST(TimingWheel, LeavesItsEntriesBitsClear) {
    Lease lease;
    TimingWheel<Lease> wheel;
    wheel.add(lease, Tick{5});
    EXPECT_EQ(TimerTaskEntry::ownerBitsOf(lease.word().load()), 0U);
    EXPECT_EQ(lease.deadline(), Tick{5});
}

TEST(TimingWheel, PlacesDeadlineWithinTheFirstTurnOnTheFinestLevel) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(where(wheel.add(lease, Tick{5})), "0:5@5");
}

TEST(TimingWheel, PlacesDeadlineBeyondIntervalOnTheNextLevel) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(where(wheel.add(lease, Tick{25})), "1:1@20");
}

// A delay of wheelSize - 1 ticks once landed in a slot that was not drained yet, and fired at once.
TEST(TimingWheel, PlacesTheLastTickOfATurnIntoTheLastSlot) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(where(wheel.add(lease, Tick{19})), "0:19@19");
    EXPECT_TRUE(advanceTo(wheel, Tick{18}).empty());
    EXPECT_EQ(advanceTo(wheel, Tick{19}), (All{{1, 19}}));
}

// Bug pattern: an exact multiple of a turn is a lap off.
TEST(TimingWheel, HandsOverExactMultiplesOfATurnOnTheTick) {
    for (std::int64_t deadline : {20, 40, 380, 400, 800, 7'600, 8'000, 160'000}) {
        Lease lease{1};
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        wheel.add(lease, Tick{deadline});
        EXPECT_TRUE(advanceTo(wheel, Tick{deadline - 1}).empty()) << deadline;
        EXPECT_EQ(advanceTo(wheel, Tick{deadline}), (All{{1, deadline}}));
    }
}

TEST(TimingWheel, UsesTheSlotsBehindTheClockAgain) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    advanceTo(wheel, Tick{10});
    EXPECT_EQ(where(wheel.add(lease, Tick{29})), "0:9@29");
    EXPECT_EQ(runAll(wheel), (All{{1, 29}}));
}

// With the clock at 10 a delay of 11 crosses into the ring's second turn.
TEST(TimingWheel, PlacesDeadlinesAcrossTheEndOfTheRing) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    advanceTo(wheel, Tick{10});
    EXPECT_EQ(where(wheel.add(lease, Tick{21})), "0:1@21");
    EXPECT_TRUE(advanceTo(wheel, Tick{20}).empty());
    EXPECT_EQ(advanceTo(wheel, Tick{21}), (All{{1, 21}}));
}

TEST(TimingWheel, PutsEntriesOfOneSlotIntoOneBucketThatIsArmedOnce) {
    std::array<Lease, 3> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    TimerTaskList const& bucket = wheel.add(leases[0], Tick{25}).bucket();
    EXPECT_EQ(&wheel.add(leases[1], Tick{39}).bucket(), &bucket);
    EXPECT_EQ(&wheel.add(leases[2], Tick{20}).bucket(), &bucket);
    EXPECT_EQ(wheel.delayHeap().size(), 1U);
    EXPECT_EQ(bucket.expiration(), 20);
    wheel.checkInvariants();
}

TEST(TimingWheel, SaysThatAnEntryIsDueAndDoesNotStoreIt) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20, .start = Tick{100}}};
    for (Tick deadline : {Tick{100}, Tick{99}, Tick{-5}, Tick::min()}) {
        EXPECT_TRUE(wheel.add(lease, deadline).isDue()) << deadline;
        EXPECT_FALSE(lease.isQueued());
        EXPECT_EQ(wheel.size(), 0U);
        EXPECT_EQ(wheel.nextExpiration(), std::nullopt);
    }
    EXPECT_FALSE(wheel.add(lease, Tick{101}).isDue());
}

TEST(TimingWheel, CallsADueEntryNotTheEarliest) {
    Lease lease;
    TimingWheel<Lease> wheel;
    EXPECT_FALSE(wheel.add(lease, Tick{0}).isEarliest());
}

TEST(TimingWheel, SaysWhetherTheNextExpirationHasBecomeEarlier) {
    std::array<Lease, 7> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_TRUE(wheel.add(leases[0], Tick{19}).isEarliest()) << "the first";
    EXPECT_FALSE(wheel.add(leases[1], Tick{19}).isEarliest()) << "the same bucket";
    EXPECT_FALSE(wheel.add(leases[2], Tick{25}).isEarliest()) << "later";
    EXPECT_TRUE(wheel.add(leases[3], Tick{18}).isEarliest()) << "earlier";
    wheel.cancel(leases[3]);
    EXPECT_FALSE(wheel.add(leases[3], Tick{18}).isEarliest()) << "its bucket is armed still";
    wheel.cancel(leases[3]);
    EXPECT_FALSE(wheel.add(leases[4], Tick{19}).isEarliest()) << "behind an empty bucket";
}

// Whoever sleeps until the start of a slot on level 1 need not be woken for an entry of level 0
// that is due at that very tick.
TEST(TimingWheel, CallsASecondBucketWithTheSameExpirationNotTheEarliest) {
    std::array<Lease, 2> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(where(wheel.add(leases[0], Tick{25})), "1:1@20");
    advanceTo(wheel, Tick{5});
    Placement const placement = wheel.add(leases[1], Tick{20});
    EXPECT_EQ(where(placement), "0:0@20");
    EXPECT_FALSE(placement.isEarliest());
}

TEST(TimingWheel, CountsTheEntriesItHolds) {
    std::array<Lease, 3> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_TRUE(wheel.empty());
    wheel.add(leases[0], Tick{1});
    wheel.add(leases[1], Tick{30});
    wheel.add(leases[2], Tick{30'000});
    EXPECT_EQ(wheel.size(), 3U);
    EXPECT_FALSE(wheel.empty());
    wheel.cancel(leases[1]);
    EXPECT_EQ(wheel.size(), 2U);
    advanceTo(wheel, Tick{30'000});
    EXPECT_EQ(wheel.size(), 0U);
    EXPECT_TRUE(wheel.empty());
}

// Cancelling and moving.

TEST(TimingWheel, CancelTakesAnEntryOut) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{25});
    EXPECT_TRUE(wheel.cancel(lease));
    EXPECT_FALSE(lease.isQueued());
    EXPECT_TRUE(advanceTo(wheel, Tick{1'000}).empty());
}

TEST(TimingWheel, CancelSaysThatAnEntryWasInNoWheel) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_FALSE(wheel.cancel(lease));
    wheel.add(lease, Tick{5});
    wheel.cancel(lease);
    EXPECT_FALSE(wheel.cancel(lease)) << "cancelled";
    wheel.add(lease, Tick{5});
    advanceTo(wheel, Tick{5});
    EXPECT_FALSE(wheel.cancel(lease)) << "handed over";
    wheel.add(lease, Tick{5});
    EXPECT_FALSE(wheel.cancel(lease)) << "due";
    EXPECT_EQ(wheel.size(), 0U);
}

TEST(TimingWheel, RescheduleMovesAQueuedEntryEitherWay) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{25});
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{5'000})), "2:12@4800");
    EXPECT_EQ(wheel.size(), 1U);
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{7})), "0:7@7");
    EXPECT_EQ(wheel.size(), 1U);
    EXPECT_EQ(lease.deadline(), Tick{7});
    EXPECT_EQ(runAll(wheel), (All{{1, 7}}));
}

TEST(TimingWheel, RescheduleAddsAnEntryThatIsNotQueued) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{25})), "1:1@20");
    EXPECT_EQ(runAll(wheel), (All{{1, 25}}));
}

TEST(TimingWheel, RescheduleToTheClockTakesTheEntryOut) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{25});
    EXPECT_TRUE(wheel.reschedule(lease, Tick{0}).isDue());
    EXPECT_FALSE(lease.isQueued());
    EXPECT_EQ(wheel.size(), 0U);
    EXPECT_TRUE(advanceTo(wheel, Tick{100}).empty());
}

TEST(TimingWheel, PushBackLeavesAnEntryInItsBucketUntilThatExpires) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    TimerTaskList const& bucket = wheel.add(lease, Tick{25}).bucket();
    EXPECT_TRUE(wheel.pushBack(lease, Tick{25}));
    EXPECT_TRUE(wheel.pushBack(lease, Tick{5'000}));
    EXPECT_EQ(lease.deadline(), Tick{5'000});
    EXPECT_EQ(&bucket.list(0).front(), &lease);
    EXPECT_EQ(wheel.nextExpiration(), Tick{20});
    EXPECT_TRUE(advanceTo(wheel, Tick{4'999}).empty());
    EXPECT_EQ(advanceTo(wheel, Tick{5'000}), (All{{1, 5'000}}));
}

TEST(TimingWheel, PushBackRefusesAnEarlierDeadlineAndWhatIsInNoWheel) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_FALSE(wheel.pushBack(lease, Tick{30}));
    EXPECT_EQ(lease.deadline(), Tick{0});
    wheel.add(lease, Tick{25});
    EXPECT_FALSE(wheel.pushBack(lease, Tick{24}));
    EXPECT_EQ(lease.deadline(), Tick{25});
    EXPECT_EQ(runAll(wheel), (All{{1, 25}}));
}

TEST(TimingWheel, RescheduleToTheSameDeadlineKeepsTheBucketArmedOnce) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{25});
    for (int i = 0; i < 100; ++i) {
        wheel.reschedule(lease, Tick{25});
        wheel.checkInvariants();
    }
    EXPECT_EQ(wheel.delayHeap().size(), 1U);
    EXPECT_EQ(runAll(wheel), (All{{1, 25}}));
}

// The next expiration.

TEST(TimingWheel, HasNoNextExpirationWhileItHoldsNoBucket) {
    TimingWheel<Lease> wheel;
    EXPECT_EQ(wheel.nextExpiration(), std::nullopt);
}

TEST(TimingWheel, NextExpirationIsADeadlineOnTheFinestLevel) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{19});
    EXPECT_EQ(wheel.nextExpiration(), Tick{19});
}

TEST(TimingWheel, NextExpirationIsTheStartOfTheSlotOnCoarserLevels) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{7'999});
    EXPECT_EQ(wheel.nextExpiration(), Tick{7'600});
}

// Bug pattern: the search for the next wake-up stops at level 0.
TEST(TimingWheel, NextExpirationIsNotHiddenByALaterBucketOnAFinerLevel) {
    std::array<Lease, 2> leases{Lease{1}, Lease{2}};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{21});
    advanceTo(wheel, Tick{10});
    wheel.add(leases[1], Tick{29});
    EXPECT_EQ(wheel.nextExpiration(), Tick{20});
    EXPECT_EQ(runAll(wheel), (All{{1, 21}, {2, 29}}));
}

TEST(TimingWheel, NextExpirationStaysAfterACancelAndIsGoneAfterOneFlush) {
    std::array<Lease, 2> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{5});
    wheel.add(leases[1], Tick{9});
    wheel.cancel(leases[0]);
    EXPECT_EQ(wheel.nextExpiration(), Tick{5});
    EXPECT_TRUE(advanceTo(wheel, Tick{5}).empty());
    EXPECT_EQ(wheel.nextExpiration(), Tick{9});
    wheel.cancel(leases[1]);
    EXPECT_TRUE(advanceTo(wheel, Tick{9}).empty());
    EXPECT_EQ(wheel.nextExpiration(), std::nullopt);
    EXPECT_TRUE(wheel.delayHeap().empty());
}

TEST(TimingWheel, NextExpirationIsTheClockWhileEntriesWaitToBeHandedOver) {
    std::array<Lease, 2> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    for (Lease& lease : leases) wheel.add(lease, Tick{5});
    std::vector<std::optional<Tick>> seen;
    wheel.advanceTo(Tick{9}, [&](Lease&) { seen.push_back(wheel.nextExpiration()); });
    EXPECT_EQ(seen, (std::vector<std::optional<Tick>>{Tick{5}, std::nullopt}));
}

// Advancing.

TEST(TimingWheel, HandsOverEachEntryOnceByDeadline) {
    std::vector<Lease> leases(500);
    TimingWheel<Lease> wheel{{.wheelSize = 3}};
    std::vector<std::int64_t> deadlines;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        std::int64_t const deadline = 1 + static_cast<std::int64_t>(i * 7'919 % 1'000);
        leases[i].id = static_cast<int>(i);
        wheel.add(leases[i], Tick{deadline});
        deadlines.push_back(deadline);
    }
    All const handedOver = advanceTo(wheel, Tick{2'000});

    ASSERT_EQ(handedOver.size(), leases.size());
    EXPECT_TRUE(std::is_sorted(handedOver.begin(), handedOver.end(),
                               [](auto const& a, auto const& b) { return a.at < b.at; }));
    std::vector<int> times(leases.size());
    for (auto const& [id, at] : handedOver) {
        EXPECT_EQ(at, deadlines[static_cast<std::size_t>(id)]);
        ++times[static_cast<std::size_t>(id)];
    }
    EXPECT_EQ(times, std::vector<int>(leases.size(), 1));
}

TEST(TimingWheel, ReturnsHowManyItHandedOver) {
    std::array<Lease, 3> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{1});
    wheel.add(leases[1], Tick{25});
    wheel.add(leases[2], Tick{26});
    auto const ignore = [](Lease&) {};
    EXPECT_EQ(wheel.advanceTo(Tick{25}, ignore), 2U);
    EXPECT_EQ(wheel.advanceTo(Tick{25}, ignore), 0U);
    EXPECT_EQ(wheel.advanceTo(Tick{26}, ignore), 1U);
}

TEST(TimingWheel, HandsOverWhatIsDueAtNowAndNothingLater) {
    std::array<Lease, 3> leases{Lease{1}, Lease{2}, Lease{3}};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{49});
    wheel.add(leases[1], Tick{50});
    wheel.add(leases[2], Tick{51});
    EXPECT_EQ(advanceTo(wheel, Tick{50}), (All{{1, 49}, {2, 50}}));
    EXPECT_EQ(wheel.size(), 1U);
}

TEST(TimingWheel, HandsAnEntryOverThatIsNoLongerQueued) {
    Lease lease;
    TimingWheel<Lease> wheel;
    wheel.add(lease, Tick{5});
    wheel.advanceTo(Tick{5}, [&](Lease& due) {
        EXPECT_EQ(&due, &lease);
        EXPECT_FALSE(due.isQueued());
        EXPECT_EQ(wheel.size(), 0U);
    });
}

TEST(TimingWheel, LeavesTheClockAtNow) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(wheel.currentTick(), Tick{0});
    advanceTo(wheel, Tick{7});
    EXPECT_EQ(wheel.currentTick(), Tick{7});
    wheel.add(lease, Tick{30});
    advanceTo(wheel, Tick{29});
    EXPECT_EQ(wheel.currentTick(), Tick{29});
    advanceTo(wheel, Tick{12'345});
    EXPECT_EQ(wheel.currentTick(), Tick{12'345});
}

TEST(TimingWheel, NeverMovesTheClockBack) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    advanceTo(wheel, Tick{100});
    wheel.add(lease, Tick{105});
    for (Tick earlier : {Tick{99}, Tick{0}, Tick{-1}, Tick::min()}) {
        EXPECT_TRUE(advanceTo(wheel, earlier).empty());
        EXPECT_EQ(wheel.currentTick(), Tick{100});
        wheel.checkInvariants();
    }
    EXPECT_EQ(advanceTo(wheel, Tick{105}), (All{{1, 105}}));
}

TEST(TimingWheel, CrossesAnyDistanceWithoutWalkingEmptyTicks) {
    std::array<Lease, 3> leases{Lease{1}, Lease{2}, Lease{3}};
    TimingWheel<Lease> wheel{{.wheelSize = 2}};
    std::int64_t const far = Tick::kMax - 1;
    wheel.add(leases[0], Tick{3});
    wheel.add(leases[1], Tick{far / 2});
    wheel.add(leases[2], Tick{far});
    EXPECT_EQ(advanceTo(wheel, Tick{far}), (All{{1, 3}, {2, far / 2}, {3, far}}));
    EXPECT_EQ(wheel.currentTick(), Tick{far});
    wheel.checkInvariants();
}

// "Now" inside a callback was once the last tick that had been processed, so that a new entry was
// early; or the tick that was advanced to, so that it was late.
TEST(TimingWheel, HasItsClockAtTheDeadlineOfTheEntryThatItHandsOver) {
    std::array<Lease, 3> leases{Lease{1}, Lease{2}, Lease{3}};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{5});
    wheel.add(leases[1], Tick{25});
    wheel.add(leases[2], Tick{401});
    EXPECT_EQ(advanceTo(wheel, Tick{1'000}), (All{{1, 5}, {2, 25}, {3, 401}}));
}

// One far entry once hid near ones for years, after a wrap-around of the top ring.
TEST(TimingWheel, HandsOverNearEntriesBesideOnesThatAreFarAway) {
    std::array<Lease, 4> far{Lease{-1}, Lease{-2}, Lease{-3}, Lease{-4}};
    std::vector<Lease> near(100);
    TimingWheel<Lease> wheel{{.wheelSize = 64}};
    wheel.add(far[0], Tick::max());
    wheel.add(far[1], Tick{Tick::kMax - 1});
    wheel.add(far[2], Tick{std::int64_t{1} << 40});
    wheel.add(far[3], Tick{std::int64_t{1} << 58});
    for (std::size_t i = 0; i < near.size(); ++i) {
        std::int64_t const deadline = wheel.currentTick().value() + 1 + static_cast<int>(i * i * i);
        near[i].id = static_cast<int>(i);
        wheel.add(near[i], Tick{deadline});
        EXPECT_TRUE(advanceTo(wheel, Tick{deadline - 1}).empty());
        EXPECT_EQ(advanceTo(wheel, Tick{deadline}), (All{{static_cast<int>(i), deadline}}));
    }
    EXPECT_EQ(wheel.size(), far.size());
    wheel.checkInvariants();
}

// Bug pattern: an entry is placed relative to a stale clock.
TEST(TimingWheel, CascadesEntriesAddedAfterALongIdleTimeFromTheRightBucket) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    advanceTo(wheel, Tick{1'000'003});
    EXPECT_EQ(where(wheel.add(lease, Tick{1'000'004})), "0:4@1000004");
    EXPECT_EQ(runAll(wheel), (All{{1, 1'000'004}}));
}

// A deadline that the entry's owner moves later by itself, without the wheel.

TEST(TimingWheel, PlacesAnEntryAgainWhoseDeadlineWasMovedLaterWhileQueued) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{5});
    lease.word() = TimerTaskEntry::pack(Tick{250}, 3);
    EXPECT_TRUE(advanceTo(wheel, Tick{5}).empty());
    EXPECT_TRUE(lease.isQueued());
    EXPECT_EQ(wheel.size(), 1U);
    EXPECT_TRUE(advanceTo(wheel, Tick{249}).empty());
    EXPECT_EQ(advanceTo(wheel, Tick{250}), (All{{1, 250}}));
    EXPECT_EQ(TimerTaskEntry::ownerBitsOf(lease.word()), 3U);
}

TEST(TimingWheel, NeverHandsOverEarlyWhatIsMovedLaterAgainAndAgain) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 3}};
    wheel.add(lease, Tick{10});
    for (std::int64_t now = 1; now <= 1'000; ++now) {
        lease.word() = TimerTaskEntry::pack(Tick{now + 9}, 0);
        ASSERT_TRUE(advanceTo(wheel, Tick{now}).empty());
        wheel.raw().checkInvariants(RawTimingWheel::Deadlines::mayBeLater);
    }
    EXPECT_EQ(advanceTo(wheel, Tick{1'009}), (All{{1, 1'009}}));
}

TEST(TimingWheel, WaitsInTheFarthestBucketWhenTheDeadlineWasMovedBeyondAllLevels) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 4}};
    wheel.add(lease, Tick{3});
    lease.word() = TimerTaskEntry::pack(Tick{1'000}, 0);
    EXPECT_TRUE(advanceTo(wheel, Tick{999}).empty());
    EXPECT_EQ(wheel.levels().size(), 1U) << "the driver builds no level";
    EXPECT_EQ(advanceTo(wheel, Tick{1'000}), (All{{1, 1'000}}));
}

// What throws.

// Bug pattern: an exception in mid-drain strands the rest of the bucket.
TEST(TimingWheel, GoesOnAfterACallbackThatThrew) {
    constexpr int kCount = 8;
    for (int thrower = 0; thrower < kCount; ++thrower) {
        std::vector<Lease> leases(kCount);
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        // Two thirds share a bucket, the last third comes later.
        for (int i = 0; i < kCount; ++i) {
            leases[static_cast<std::size_t>(i)].id = i;
            wheel.add(leases[static_cast<std::size_t>(i)], Tick{i < 5 ? 40 : 45});
        }
        std::vector<int> times(kCount);
        auto const run = [&](Lease& lease) {
            ++times[static_cast<std::size_t>(lease.id)];
            if (lease.id == thrower) throw std::runtime_error{"from a task"};
        };
        EXPECT_THROW(wheel.advanceTo(Tick{50}, run), std::runtime_error);
        wheel.checkInvariants();
        EXPECT_EQ(wheel.currentTick(), Tick{thrower < 5 ? 40 : 45});
        EXPECT_EQ(wheel.size(), static_cast<std::size_t>(kCount - 1 - thrower));
        EXPECT_LE(wheel.nextExpiration().value_or(Tick{45}), Tick{45});

        EXPECT_EQ(wheel.advanceTo(Tick{50}, run), static_cast<std::size_t>(kCount - 1 - thrower));
        EXPECT_EQ(times, std::vector<int>(kCount, 1)) << "thrower " << thrower;
        EXPECT_EQ(wheel.currentTick(), Tick{50});
    }
}

TEST(TimingWheel, CancelsAndMovesEntriesThatACallbackLeftBehindByThrowing) {
    std::array<Lease, 4> leases{Lease{0}, Lease{1}, Lease{2}, Lease{3}};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    for (Lease& lease : leases) wheel.add(lease, Tick{5});
    EXPECT_THROW(wheel.advanceTo(Tick{9}, [](Lease&) { throw 1; }), int);
    std::vector<Lease*> left;
    for (Lease& lease : leases)
        if (lease.isQueued()) left.push_back(&lease);
    ASSERT_EQ(left.size(), 3U);
    EXPECT_EQ(wheel.nextExpiration(), Tick{5}) << "they are due now";

    EXPECT_TRUE(wheel.cancel(*left[0]));
    EXPECT_FALSE(wheel.reschedule(*left[1], Tick{8}).isDue());
    EXPECT_EQ(wheel.size(), 2U);
    EXPECT_EQ(advanceTo(wheel, Tick{9}), (All{{left[2]->id, 5}, {left[1]->id, 8}}));
}

// Lifetime.

TEST(TimingWheel, LetsGoOfItsEntriesWhenItDies) {
    std::array<Lease, 3> leases{Lease{0}, Lease{1}, Lease{2}};
    {
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        wheel.add(leases[0], Tick{5});
        wheel.add(leases[1], Tick{5});
        wheel.add(leases[2], Tick{5'000});
        // One is handed over, one waits in the flushed bucket, one on another level.
        EXPECT_THROW(wheel.advanceTo(Tick{9}, [](Lease&) { throw 1; }), int);
    }
    TimingWheel<Lease> another{{.wheelSize = 20}};
    for (Lease& lease : leases) {
        EXPECT_FALSE(lease.isQueued());
        another.add(lease, Tick{7 + lease.id});
    }
    EXPECT_EQ(runAll(another), (All{{0, 7}, {1, 8}, {2, 9}}));
}

TEST(TimingWheel, LetsTheCallbackDestroyTheEntry) {
    std::vector<std::unique_ptr<Lease>> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    for (int i = 0; i < 5; ++i) {
        leases.push_back(std::make_unique<Lease>(i));
        wheel.add(*leases.back(), Tick{25});
    }
    auto const destroy = [&](Lease& lease) { leases[static_cast<std::size_t>(lease.id)].reset(); };
    EXPECT_EQ(wheel.advanceTo(Tick{25}, destroy), 5U);
    for (auto const& lease : leases) EXPECT_EQ(lease, nullptr);
}

// Levels and starts.

TEST(TimingWheel, BuildsALevelOnlyWhenAnEntryOverflowsIntoIt) {
    std::array<Lease, 5> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_EQ(wheel.levels().size(), 1U);
    wheel.add(leases[0], Tick{19});
    EXPECT_EQ(wheel.levels().size(), 1U);
    wheel.add(leases[1], Tick{20});
    EXPECT_EQ(wheel.levels().size(), 2U);
    wheel.add(leases[2], Tick{399});
    EXPECT_EQ(wheel.levels().size(), 2U);
    wheel.add(leases[3], Tick{8'000});
    EXPECT_EQ(wheel.levels().size(), 4U);
    wheel.add(leases[4], Tick{-1'000'000});
    EXPECT_EQ(wheel.levels().size(), 4U);
}

TEST(TimingWheel, HasLevelsWhoseGranularityIsThePowersOfTheWheelSize) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(lease, Tick{100'000});
    ASSERT_EQ(wheel.levels().size(), 4U);
    std::int64_t granularity = 1;
    std::uint32_t number = 0;
    for (TimingWheelLevel const& level : wheel.levels()) {
        EXPECT_EQ(level.number(), number++);
        EXPECT_EQ(level.granularity(), granularity);
        EXPECT_EQ(level.interval(), granularity * 20);
        EXPECT_EQ(level.buckets().size(), 20U);
        granularity *= 20;
    }
}

TEST(TimingWheel, BoundsItsLevelsForTheFarthestDeadline) {
    struct Bound {
        std::int64_t wheelSize;
        std::size_t levels;
    };
    for (auto const& [wheelSize, levels] : {Bound{2, 60}, Bound{3, 38}, Bound{20, 14},
                                            Bound{512, 7}, Bound{65'536, 4}, Bound{1'048'576, 3}}) {
        Lease lease{1};
        TimingWheel<Lease> wheel{{.wheelSize = wheelSize, .start = Tick::min()}};
        wheel.add(lease, Tick::max());
        EXPECT_EQ(wheel.levels().size(), levels) << "wheelSize " << wheelSize;
        EXPECT_EQ(runAll(wheel), (All{{1, Tick::kMax}}));
    }
}

// Kafka's wheel loops for ever inside a flush with a delay of 20^14 ticks.
TEST(TimingWheel, PlacesPowersOfTheWheelSizeUpToTheLargest) {
    for (std::int64_t wheelSize : {2, 3, 20, 65'536}) {
        for (std::int64_t power = 1; power <= Tick::kMax / wheelSize; power *= wheelSize) {
            for (std::int64_t deadline : {power * wheelSize - 1, power * wheelSize}) {
                Lease lease{1};
                TimingWheel<Lease> wheel{{.wheelSize = wheelSize}};
                wheel.add(lease, Tick{deadline});
                EXPECT_EQ(runAll(wheel), (All{{1, deadline}}));
            }
        }
    }
}

TEST(TimingWheel, DoesNotHandOverAnEntryAtMaxBeforeMax) {
    Lease lease{1};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    EXPECT_FALSE(wheel.add(lease, Tick::max()).isDue());
    EXPECT_TRUE(advanceTo(wheel, Tick{Tick::kMax - 1}).empty());
    wheel.checkInvariants();
    EXPECT_TRUE(lease.isQueued());
}

std::vector<Tick> hostileStarts() {
    std::vector<Tick> starts{Tick{0},     Tick{1},         Tick{-1},
                             Tick{-5},    Tick{-20},       Tick{-399},
                             Tick::min(), Tick::min() + 1, Tick::max() + -1'000'000};
    for (int k = 3; k <= 58; ++k) starts.push_back(Tick{(std::int64_t{1} << k) - 5});
    for (int k = 3; k <= 58; k += 5) starts.push_back(Tick{-(std::int64_t{1} << k) - 5});
    return starts;
}

void handsOverEveryDeadlineOnItsTick(std::int64_t n, Tick start) {
    std::vector<std::int64_t> delays{1,     2,         n - 1, n,         n + 1,
                                     2 * n, n * n - 1, n * n, n * n + 1, 100'000};
    if (n <= 64)
        for (std::int64_t k : {-1, 0, 1}) delays.push_back(n * n * n + k);
    std::vector<Lease> leases(delays.size());
    Lease never{-1};
    TimingWheel<Lease> wheel{{.wheelSize = n, .start = start}};
    ASSERT_EQ(wheel.currentTick(), start);
    wheel.add(never, Tick::max());
    All expected;
    for (std::size_t i = 0; i < delays.size(); ++i) {
        leases[i].id = static_cast<int>(i);
        wheel.add(leases[i], start + delays[i]);
        expected.push_back({static_cast<int>(i), (start + delays[i]).value()});
        wheel.checkInvariants();
    }
    All handedOver;
    while (wheel.size() > 1) {
        All const now = advanceTo(wheel, *wheel.nextExpiration());
        handedOver.insert(handedOver.end(), now.begin(), now.end());
        wheel.checkInvariants();
    }
    auto const byTickThenId = [](HandedOver const& a, HandedOver const& b) {
        return a.at != b.at ? a.at < b.at : a.id < b.id;
    };
    std::sort(expected.begin(), expected.end(), byTickThenId);
    std::sort(handedOver.begin(), handedOver.end(), byTickThenId);
    EXPECT_EQ(handedOver, expected);
}

// G14
TEST(TimingWheel, HandsOverEveryDeadlineOnItsTickFromAnyStart) {
    std::size_t right = 0;
    for (Tick start : hostileStarts()) {
        for (std::int64_t wheelSize : {2, 3, 20, 64, 512}) {
            SCOPED_TRACE(testing::Message() << "start " << start << ", wheelSize " << wheelSize);
            handsOverEveryDeadlineOnItsTick(wheelSize, start);
            right += testing::Test::HasFailure() ? 0U : 1U;
        }
    }
    test::figure("G14",
                 "starts and wheel sizes at which a wheel hands over each deadline on its tick",
                 right, test::exactly(hostileStarts().size() * 5));
}

TEST(TimingWheel, HoldsWhatIsAtOrBeforeItsStartForDue) {
    for (Tick start : hostileStarts()) {
        Lease lease;
        TimingWheel<Lease> wheel{{.wheelSize = 20, .start = start}};
        for (Tick deadline : {start, start + -1, start + -1'000'000, Tick::min()})
            EXPECT_TRUE(wheel.add(lease, deadline).isDue()) << start << ' ' << deadline;
        EXPECT_FALSE(wheel.add(lease, start + 1).isDue()) << start;
    }
}

TEST(TimingWheel, HoldsEverythingForDueWhenItStartsAtTheEndOfTime) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20, .start = Tick::max()}};
    EXPECT_TRUE(wheel.add(lease, Tick::max()).isDue());
    EXPECT_TRUE(advanceTo(wheel, Tick::max()).empty());
    wheel.checkInvariants();
}

// Options.

TEST(TimingWheel, RefusesAWheelSizeThatIsOutOfRangeAndNamesValueAndBound) {
    auto const messageFor = [](std::int64_t wheelSize) -> std::string {
        try {
            TimingWheel<Lease> const wheel{{.wheelSize = wheelSize}};
        } catch (std::invalid_argument const& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(messageFor(1), "wheelSize is 1: it must be at least 2");
    EXPECT_EQ(messageFor(0), "wheelSize is 0: it must be at least 2");
    EXPECT_EQ(messageFor(-20), "wheelSize is -20: it must be at least 2");
    EXPECT_EQ(messageFor(INT64_MIN), "wheelSize is -9223372036854775808: it must be at least 2");
    EXPECT_EQ(messageFor(1'048'577), "wheelSize is 1048577: it must be at most 1048576");
    EXPECT_EQ(messageFor((std::int64_t{1} << 32) + 20),
              "wheelSize is 4294967316: it must be at most 1048576");
    EXPECT_EQ(messageFor(INT64_MAX),
              "wheelSize is 9223372036854775807: it must be at most 1048576");
    EXPECT_EQ(messageFor(2), "no error");
    EXPECT_EQ(messageFor(1'048'576), "no error");
}

TEST(TimingWheel, HasTwentySlotsAndStartsAtZeroByDefault) {
    TimingWheel<Lease> wheel;
    EXPECT_EQ(wheel.levels().front().size(), 20U);
    EXPECT_EQ(wheel.currentTick(), Tick{0});
}

TEST(TimingWheel, RunsWithEverySmallWheelSizeAndTheLargest) {
    std::vector<std::int64_t> sizes{1'048'575, 1'048'576, 65'536, 1'000, 4'096};
    for (std::int64_t size = 2; size <= 70; ++size) sizes.push_back(size);
    for (std::int64_t size : sizes) {
        std::vector<Lease> leases(60);
        TimingWheel<Lease> wheel{{.wheelSize = size, .start = Tick{size / 2}}};
        std::int64_t delay = 1;
        All expected;
        for (std::size_t i = 0; i < leases.size(); ++i) {
            leases[i].id = static_cast<int>(i);
            Tick const deadline = wheel.currentTick() + delay;
            wheel.add(leases[i], deadline);
            expected.push_back({static_cast<int>(i), deadline.value()});
            delay += delay / 5 + 1;
        }
        EXPECT_EQ(advanceTo(wheel, wheel.currentTick() + delay), expected) << "wheelSize " << size;
        wheel.checkInvariants();
    }
}

}  // namespace
}  // namespace timingwheel
