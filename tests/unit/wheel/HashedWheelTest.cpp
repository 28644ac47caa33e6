#include "Lease.h"

#include <timingwheel/wheel/HashedWheel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel {
namespace {

using test::advanceTo;
using test::HandedOver;
using test::idsOf;
using test::Lease;
using test::runAll;

using All = std::vector<HandedOver>;
using Ids = std::vector<int>;

/// "slot/rounds", or "due".
std::string placed(HashedWheel<Lease>& wheel, Lease& lease, std::int64_t deadline) {
    if (wheel.add(lease, Tick{deadline}).isDue()) return "due";
    return std::to_string(wheel.slotOf(lease)) + '/' + std::to_string(wheel.remainingRounds(lease));
}

std::vector<Lease> leasesNumbered(int count) {
    std::vector<Lease> leases;
    for (int i = 0; i < count; ++i) leases.emplace_back(i);
    return leases;
}

// Options.

std::string refusalOf(std::int64_t ticksPerWheel) {
    try {
        HashedWheel<Lease> const wheel{{.ticksPerWheel = ticksPerWheel}};
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return {};
}

TEST(HashedWheel, RefusesSlotsOutOfRange) {
    EXPECT_EQ(refusalOf(0), "ticksPerWheel is 0: it must be at least 1");
    EXPECT_EQ(refusalOf(-1), "ticksPerWheel is -1: it must be at least 1");
    EXPECT_EQ(refusalOf(1'073'741'825),
              "ticksPerWheel is 1073741825: it must be at most 1073741824");
    EXPECT_EQ(refusalOf(std::numeric_limits<std::int64_t>::max()),
              "ticksPerWheel is 9223372036854775807: it must be at most 1073741824");
}

TEST(HashedWheel, RoundsItsSlotsUpToAPowerOfTwo) {
    for (auto [asked, made] : std::array<std::pair<std::int64_t, std::size_t>, 8>{
             {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {8, 8}, {20, 32}, {512, 512}, {513, 1'024}}}) {
        HashedWheel<Lease> const wheel{{.ticksPerWheel = asked}};
        EXPECT_EQ(wheel.allSlots().size(), made) << asked;
    }
    EXPECT_EQ(HashedWheel<Lease>{}.allSlots().size(), 512U);
}

// Placing.

TEST(HashedWheel, PlacesByTheDeadlineModuloItsSlots) {
    std::vector<Lease> leases(4);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    EXPECT_EQ(placed(wheel, leases[0], 3), "3/0");
    EXPECT_EQ(placed(wheel, leases[1], 8), "0/0");
    EXPECT_EQ(placed(wheel, leases[2], 10), "2/1");
    EXPECT_EQ(placed(wheel, leases[3], 17), "1/2");
    wheel.checkInvariants();
}

TEST(HashedWheel, LeavesItsEntriesBitsClear) {
    Lease lease;
    HashedWheel<Lease> wheel;
    wheel.add(lease, Tick{5});
    EXPECT_EQ(TimerTaskEntry::ownerBitsOf(lease.word().load()), 0U);
    EXPECT_EQ(lease.deadline(), Tick{5});
}

TEST(HashedWheel, CountsTheRoundsDownAsItTurns) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    EXPECT_EQ(placed(wheel, lease, 17), "1/2");
    std::vector<std::int64_t> rounds;
    for (std::int64_t tick = 1; tick < 17; ++tick) {
        EXPECT_TRUE(advanceTo(wheel, Tick{tick}).empty()) << tick;
        rounds.push_back(wheel.remainingRounds(lease));
    }
    EXPECT_EQ(rounds, (std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(advanceTo(wheel, Tick{17}), (All{{0, 17}}));
}

TEST(HashedWheel, HasNoRoundsLeftForWhatIsDueNow) {
    for (std::int64_t const slots : {1, 8}) {
        std::vector<Lease> leases = leasesNumbered(2);
        HashedWheel<Lease> wheel{{.ticksPerWheel = slots}};
        for (Lease& lease : leases) wheel.add(lease, Tick{1});
        std::vector<std::int64_t> rounds;
        wheel.advanceTo(Tick{1}, [&](Lease& lease) {
            if (&lease == &leases.front()) rounds.push_back(wheel.remainingRounds(leases.back()));
        });
        EXPECT_EQ(rounds, std::vector<std::int64_t>{0}) << slots;
    }
}

TEST(HashedWheel, DoesNotStoreWhatIsDueAlready) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8, .start = Tick{20}}};
    for (std::int64_t deadline : {20, 19, 12, 0, -5}) {
        EXPECT_TRUE(wheel.add(lease, Tick{deadline}).isDue()) << deadline;
        EXPECT_FALSE(lease.isQueued());
        EXPECT_EQ(lease.deadline(), Tick{deadline});
    }
    EXPECT_TRUE(wheel.empty());
    EXPECT_FALSE(wheel.add(lease, Tick{21}).isDue());
    EXPECT_EQ(runAll(wheel), (All{{0, 21}}));
}

// A lap off is the classic bug of a flat wheel: every deadline around every multiple of a turn.
TEST(HashedWheel, HandsOverOnTheTickWhateverTheTurn) {
    for (std::int64_t slots : {1, 2, 8, 512}) {
        for (std::int64_t start : {0, 1, 7, 511, -3}) {
            for (std::int64_t turns : {0, 1, 2, 3, 5}) {
                for (std::int64_t beside : {-1, 0, 1}) {
                    std::int64_t const deadline = start + turns * slots + beside;
                    if (deadline <= start) continue;
                    Lease lease{1};
                    HashedWheel<Lease> wheel{{.ticksPerWheel = slots, .start = Tick{start}}};
                    wheel.add(lease, Tick{deadline});
                    EXPECT_TRUE(advanceTo(wheel, Tick{deadline - 1}).empty())
                        << deadline << " from " << start << " with " << slots << " slots";
                    EXPECT_EQ(advanceTo(wheel, Tick{deadline}), (All{{1, deadline}}));
                }
            }
        }
    }
}

TEST(HashedWheel, SaysWhenItsNextExpirationHasBecomeEarlier) {
    std::vector<Lease> leases(3);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    EXPECT_TRUE(wheel.add(leases[0], Tick{100}).isEarliest()) << "the first";
    EXPECT_FALSE(wheel.add(leases[1], Tick{3}).isEarliest()) << "it ticks already";
    wheel.cancel(leases[0]);
    wheel.cancel(leases[1]);
    EXPECT_TRUE(wheel.add(leases[2], Tick{5}).isEarliest());
    EXPECT_FALSE(wheel.reschedule(leases[2], Tick{2}).isEarliest());
    EXPECT_FALSE(wheel.reschedule(leases[2], Tick{0}).isEarliest()) << "due";
}

// Order.

TEST(HashedWheel, HandsOverInTheOrderOfArrivalWithinATick) {
    std::vector<Lease> leases = leasesNumbered(200);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    // Other turns of the same slot lie between them.
    for (std::size_t i = 0; i < 200; ++i) wheel.add(leases[i], Tick{i % 3 == 0 ? 19 : 11});
    Ids expected;
    for (int remainder : {1, 0})
        for (int i = 0; i < 200; ++i)
            if ((i % 3 == 0) == (remainder == 0)) expected.push_back(i);
    EXPECT_EQ(idsOf(advanceTo(wheel, Tick{11})), (Ids{expected.begin(), expected.begin() + 133}));
    EXPECT_EQ(idsOf(advanceTo(wheel, Tick{19})), (Ids{expected.begin() + 133, expected.end()}));
}

TEST(HashedWheel, KeepsTheOrderOfArrivalWhenEntriesLeaveAndSlotsCloseTheirHoles) {
    std::mt19937 random{4711};
    for (int round = 0; round < 50; ++round) {
        std::vector<Lease> leases = leasesNumbered(300);
        HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
        Ids order;
        bool closed = false;
        for (int step = 0; step < 1'500; ++step) {
            Lease& lease = leases[random() % leases.size()];
            std::size_t const extent = wheel.allSlots()[2].extent();
            std::erase(order, lease.id);
            if (random() % 3 != 0) {
                wheel.reschedule(lease, Tick{10});
                order.push_back(lease.id);
            } else {
                wheel.cancel(lease);
            }
            closed = closed || wheel.allSlots()[2].extent() + 10 < extent;
        }
        EXPECT_TRUE(closed) << "no holes were closed, so nothing was shown";
        wheel.checkInvariants();
        EXPECT_EQ(idsOf(advanceTo(wheel, Tick{10})), order);
        EXPECT_TRUE(wheel.empty());
    }
}

TEST(HashedWheel, ARescheduledEntryIsBehindThoseOfItsTick) {
    std::vector<Lease> leases = leasesNumbered(3);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    for (Lease& lease : leases) wheel.add(lease, Tick{5});
    wheel.reschedule(leases[0], Tick{5});
    EXPECT_EQ(idsOf(advanceTo(wheel, Tick{5})), (Ids{1, 2, 0}));
}

TEST(HashedWheel, HandsOverEachEntryOnceByDeadline) {
    std::vector<Lease> leases = leasesNumbered(500);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 16}};
    All expected;
    for (Lease& lease : leases) {
        std::int64_t const deadline = 1 + lease.id * 7'919 % 1'000;
        wheel.add(lease, Tick{deadline});
        expected.push_back({lease.id, deadline});
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](auto const& a, auto const& b) { return a.at < b.at; });
    EXPECT_EQ(advanceTo(wheel, Tick{2'000}), expected);
}

// Cancelling and moving.

TEST(HashedWheel, CancelTakesAnEntryOutAtOnceAndSaysSo) {
    std::vector<Lease> leases = leasesNumbered(3);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    for (Lease& lease : leases) wheel.add(lease, Tick{5});
    EXPECT_TRUE(wheel.cancel(leases[1]));
    EXPECT_FALSE(leases[1].isQueued());
    EXPECT_EQ(wheel.size(), 2U);
    EXPECT_FALSE(wheel.cancel(leases[1])) << "cancelled";
    EXPECT_EQ(idsOf(advanceTo(wheel, Tick{5})), (Ids{0, 2}));
    EXPECT_FALSE(wheel.cancel(leases[0])) << "handed over";
}

TEST(HashedWheel, RescheduleMovesAQueuedEntryEitherWay) {
    Lease lease{1};
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{5});
    for (std::int64_t deadline : {5'000, 7, 15, 5, 13}) {
        EXPECT_FALSE(wheel.reschedule(lease, Tick{deadline}).isDue());
        EXPECT_EQ(lease.deadline(), Tick{deadline});
        EXPECT_EQ(wheel.size(), 1U);
        wheel.checkInvariants();
    }
    EXPECT_EQ(runAll(wheel), (All{{1, 13}}));
}

TEST(HashedWheel, RescheduleAddsAnEntryThatIsNotQueued) {
    Lease lease{1};
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.reschedule(lease, Tick{25});
    EXPECT_EQ(runAll(wheel), (All{{1, 25}}));
}

TEST(HashedWheel, RescheduleToTheClockTakesTheEntryOut) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{25});
    EXPECT_TRUE(wheel.reschedule(lease, Tick{0}).isDue());
    EXPECT_FALSE(lease.isQueued());
    EXPECT_TRUE(wheel.empty());
    wheel.checkInvariants();
}

// The clock.

TEST(HashedWheel, NextExpirationIsTheNextTickWhileItHoldsAnything) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    EXPECT_EQ(wheel.nextExpiration(), std::nullopt);
    wheel.add(lease, Tick{100});
    EXPECT_EQ(wheel.nextExpiration(), Tick{1});
    advanceTo(wheel, Tick{50});
    EXPECT_EQ(wheel.nextExpiration(), Tick{51});
    wheel.cancel(lease);
    EXPECT_EQ(wheel.nextExpiration(), std::nullopt);
}

TEST(HashedWheel, WalksEveryTickWhileItHoldsAnything) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{20});
    RawHashedWheel& base = wheel.raw();
    for (std::int64_t tick = 1; tick < 20; ++tick) {
        ASSERT_TRUE(base.beginTick(Tick{1'000}));
        EXPECT_EQ(base.currentTick(), Tick{tick});
        EXPECT_EQ(base.nextExpiration(), Tick{tick}) << "while the visit is open";
        EXPECT_EQ(base.takeDue(), nullptr);
        EXPECT_EQ(base.nextExpiration(), Tick{tick + 1});
    }
    EXPECT_FALSE(base.beginTick(Tick{19})) << "beyond the limit";
    ASSERT_TRUE(base.beginTick(Tick{20}));
    EXPECT_EQ(base.takeDue(), &lease);
    EXPECT_EQ(base.takeDue(), nullptr);
    EXPECT_FALSE(base.beginTick(Tick{1'000})) << "nothing is left to walk for";
    EXPECT_EQ(base.currentTick(), Tick{1'000});
}

TEST(HashedWheel, AnEmptyWheelsClockJumpsAndNeverGoesBack) {
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    advanceTo(wheel, Tick{Tick::kMax - 100});
    EXPECT_EQ(wheel.currentTick(), Tick{Tick::kMax - 100});
    advanceTo(wheel, Tick{5});
    EXPECT_EQ(wheel.currentTick(), Tick{Tick::kMax - 100});
}

TEST(HashedWheel, AWheelThatHasBecomeEmptyJumpsTheRestOfTheWay) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{5});
    EXPECT_EQ(advanceTo(wheel, Tick::max()), (All{{0, 5}}));
    EXPECT_EQ(wheel.currentTick(), Tick::max());
}

TEST(HashedWheel, HoldsAtTheEndsOfTheRangeOfTicks) {
    for (std::int64_t slots : {1, 8, 512}) {
        for (Tick start : {Tick::min(), Tick{-1}, Tick{-1'000}, Tick{Tick::kMax - 2'000}}) {
            std::vector<Lease> leases = leasesNumbered(4);
            HashedWheel<Lease> wheel{{.ticksPerWheel = slots, .start = start}};
            EXPECT_TRUE(wheel.add(leases[0], start).isDue());
            wheel.add(leases[1], start + 1);
            wheel.add(leases[2], start + 2 * slots);
            wheel.add(leases[3], Tick::max());
            EXPECT_EQ(wheel.remainingRounds(leases[3]), (Tick::kMax - start.value() - 1) / slots);
            EXPECT_EQ(idsOf(advanceTo(wheel, start + 2 * slots)), (Ids{1, 2}));
            wheel.checkInvariants();
            EXPECT_TRUE(leases[3].isQueued());
            wheel.cancel(leases[3]);
            EXPECT_TRUE(advanceTo(wheel, Tick::max()).empty());
            EXPECT_TRUE(wheel.add(leases[3], Tick::max()).isDue());
        }
    }
}

TEST(HashedWheel, WalksToTheLastTickOfAll) {
    Lease lease{1};
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8, .start = Tick{Tick::kMax - 50}}};
    wheel.add(lease, Tick::max());
    EXPECT_EQ(advanceTo(wheel, Tick::max()), (All{{1, Tick::kMax}}));
    EXPECT_FALSE(wheel.raw().beginTick(Tick::max()));
}

TEST(HashedWheel, WalksFromNegativeTicksToPositiveOnes) {
    std::vector<Lease> leases = leasesNumbered(20);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8, .start = Tick{-11}}};
    All expected;
    for (Lease& lease : leases) {
        wheel.add(lease, Tick{lease.id - 10});
        expected.push_back({lease.id, lease.id - 10});
    }
    EXPECT_EQ(advanceTo(wheel, Tick{100}), expected);
}

// The arrays keep 32 bits of the turn: two deadlines 2^32 turns apart look alike there.
TEST(HashedWheel, TellsDeadlinesApartThatLie2To32TurnsApart) {
    for (std::int64_t slots : {1, 8}) {
        std::int64_t const apart = slots << 32;
        std::vector<Lease> leases = leasesNumbered(4);
        HashedWheel<Lease> wheel{{.ticksPerWheel = slots}};
        wheel.add(leases[0], Tick{3 + apart});
        wheel.add(leases[1], Tick{3});
        wheel.add(leases[2], Tick{3 + 2 * apart});
        wheel.add(leases[3], Tick{3});
        std::span<std::uint32_t const> const turns =
            wheel.allSlots()[wheel.slotOf(leases[1])].turns();
        ASSERT_EQ(std::count(turns.begin(), turns.end(), turns[1]), 4) << "they do look alike";
        EXPECT_EQ(advanceTo(wheel, Tick{10}), (All{{1, 3}, {3, 3}}));
        wheel.checkInvariants();

        // The others, near their time: the clock of an emptied wheel jumps there.
        wheel.cancel(leases[0]);
        wheel.cancel(leases[2]);
        advanceTo(wheel, Tick{apart});
        wheel.add(leases[2], Tick{3 + 2 * apart});
        wheel.add(leases[0], Tick{3 + apart});
        EXPECT_EQ(advanceTo(wheel, Tick{apart + 10}), (All{{0, 3 + apart}}));
        EXPECT_TRUE(leases[2].isQueued());
        wheel.cancel(leases[2]);
    }
}

// Bug pattern: the slot of the clock counts as visited, and keeps its holes.
TEST(HashedWheel, TidiesTheSlotOfTheClockBetweenVisits) {
    std::vector<Lease> leases = leasesNumbered(10);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    for (bool const isTaken : {false, true}) {
        for (Lease& lease : leases) wheel.add(lease, Tick{8});
        for (std::size_t i = 0; i < 5; ++i) wheel.cancel(leases[i]);  // half of them
        wheel.checkInvariants();
        if (isTaken)
            EXPECT_EQ(wheel.raw().takeAny(), &leases[9]);
        else
            wheel.cancel(leases[5]);
        wheel.checkInvariants();
        while (wheel.raw().takeAny() != nullptr) {
        }
    }
}

// Taking all.

TEST(HashedWheel, TakeAnyEmptiesTheWheelAndLeavesTheClock) {
    std::vector<Lease> leases = leasesNumbered(300);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 16}};
    wheel.raw().beginTick(Tick{3});
    for (Lease& lease : leases) wheel.add(lease, Tick{4 + lease.id * 37 % 1'000});
    for (std::size_t i = 0; i < 300; i += 4) wheel.cancel(leases[i]);
    std::vector<int> times(300);
    while (auto* const entry = static_cast<Lease*>(wheel.raw().takeAny())) {
        EXPECT_FALSE(entry->isQueued());
        ++times[static_cast<std::size_t>(entry->id)];
        wheel.checkInvariants();
    }
    for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(times[i], i % 4 == 0 ? 0 : 1) << i;
    EXPECT_TRUE(wheel.empty());
    EXPECT_EQ(wheel.currentTick(), Tick{3});
}

TEST(HashedWheel, LetsGoOfWhatItHoldsWhenItDies) {
    std::vector<Lease> leases = leasesNumbered(10);
    {
        HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
        for (Lease& lease : leases) wheel.add(lease, Tick{1 + lease.id});
    }
    for (Lease const& lease : leases) EXPECT_FALSE(lease.isQueued());
}

// Invariants: that a broken one is found, and called by its number.

std::string complaintOf(HashedWheel<Lease> const& wheel) {
    try {
        wheel.checkInvariants();
    } catch (std::logic_error const& error) {
        return std::string{error.what()}.substr(0, 2);
    }
    return "none";
}

TEST(HashedWheel, CheckInvariantsNamesTheBrokenOne) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{10});
    EXPECT_EQ(complaintOf(wheel), "none");

    test::setDeadline(lease, Tick{11});
    EXPECT_EQ(complaintOf(wheel), "F2") << "another slot";
    test::setDeadline(lease, Tick{18});
    EXPECT_EQ(complaintOf(wheel), "F2") << "another turn";
    test::setDeadline(lease, Tick{10});

    detail::EntryLocation const location = detail::EntryLinks::locationOf(lease);
    detail::EntryLinks::setLocation(lease, {location.slot, location.index + 1});
    EXPECT_EQ(complaintOf(wheel), "F1");
    detail::EntryLinks::clearLocation(lease);
    EXPECT_EQ(complaintOf(wheel), "F1");
    detail::EntryLinks::setLocation(lease, location);
    EXPECT_EQ(complaintOf(wheel), "none");
}

#ifndef NDEBUG
TEST(HashedWheelDeathTest, AssertsThatAnEntryIsTakenOutOfItsOwnWheel) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    Lease lease;
    Lease stranger;
    HashedWheel<Lease> own{{.ticksPerWheel = 8}};
    HashedWheel<Lease> other{{.ticksPerWheel = 2}};
    own.add(lease, Tick{3});
    EXPECT_DEATH(other.cancel(lease), "isAt");  // it has no such slot
    other.add(stranger, Tick{1});
    own.reschedule(lease, Tick{1});
    EXPECT_DEATH(other.cancel(lease), "isAt");  // another entry stands there
    EXPECT_DEATH(other.reschedule(lease, Tick{2}), "isAt");
    EXPECT_TRUE(other.cancel(stranger));
    EXPECT_TRUE(own.cancel(lease));
}
#endif

}  // namespace
}  // namespace timingwheel
