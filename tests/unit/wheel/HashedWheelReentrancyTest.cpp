#include "Lease.h"

#include <timingwheel/wheel/HashedWheel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

namespace timingwheel {
namespace {

using test::HandedOver;
using test::Lease;

using All = std::vector<HandedOver>;

// Every change that a callback can make, to every entry that it can make it to: what becomes of
// that one and of all the others.

enum class FlatTarget { self, earlierSibling, nextSibling, lastSibling, otherTurn, otherSlot };

constexpr std::int64_t kSlots = 8;
constexpr std::int64_t kDeadline = 13;
constexpr int kSiblings = 12;  // more than are looked ahead for
constexpr int kOtherTurn = kSiblings;
constexpr int kOtherSlot = kSiblings + 1;
constexpr int kActing = 2;

constexpr int idOf(FlatTarget target) {
    switch (target) {
        case FlatTarget::self:
            return kActing;
        case FlatTarget::earlierSibling:
            return 0;
        case FlatTarget::nextSibling:
            return kActing + 1;
        case FlatTarget::lastSibling:
            return kSiblings - 1;
        case FlatTarget::otherTurn:
            return kOtherTurn;
        case FlatTarget::otherSlot:
            break;
    }
    return kOtherSlot;
}

// `ticks` from now on; nothing cancels.
void play(FlatTarget target, std::optional<std::int64_t> ticks) {
    std::vector<Lease> leases;
    for (int id = 0; id <= kOtherSlot; ++id) leases.emplace_back(id);
    HashedWheel<Lease> wheel{{.ticksPerWheel = kSlots}};
    std::map<int, std::vector<std::int64_t>> expected;
    auto const add = [&](int id, std::int64_t deadline) {
        wheel.add(leases[static_cast<std::size_t>(id)], Tick{deadline});
        expected[id] = {deadline};
    };
    for (int id = 0; id < kSiblings / 2; ++id) add(id, kDeadline);
    add(kOtherTurn, kDeadline + kSlots);
    for (int id = kSiblings / 2; id < kSiblings; ++id) add(id, kDeadline);
    add(kOtherSlot, kDeadline + 2);

    std::map<int, std::vector<std::int64_t>> handedOver;
    std::size_t const count = wheel.advanceTo(Tick{200}, [&](Lease& due) {
        EXPECT_FALSE(due.isQueued());
        bool const acts = due.id == kActing && handedOver[due.id].empty();
        handedOver[due.id].push_back(wheel.currentTick().value());
        wheel.checkInvariants();
        if (!acts) return;
        Lease& lease = leases[static_cast<std::size_t>(idOf(target))];
        bool const wasQueued = lease.isQueued();
        EXPECT_EQ(wasQueued, idOf(target) > kActing);
        if (wasQueued) expected[lease.id].clear();
        if (!ticks) {
            EXPECT_EQ(wheel.cancel(lease), wasQueued);
        } else {
            bool const isDue = wheel.reschedule(lease, wheel.currentTick() + *ticks).isDue();
            EXPECT_EQ(isDue, *ticks <= 0);
            if (!isDue) expected[lease.id].push_back(kDeadline + *ticks);
        }
        wheel.checkInvariants();
    });
    std::size_t expectedCount = 0;
    for (auto const& [id, times] : expected) expectedCount += times.size();
    std::erase_if(expected, [](auto const& entry) { return entry.second.empty(); });
    EXPECT_EQ(handedOver, expected);
    EXPECT_EQ(count, expectedCount);
    EXPECT_TRUE(wheel.empty());
    wheel.checkInvariants();
}

TEST(HashedWheelReentrancy, ACallbackChangesOneEntryAndNoOther) {
    for (FlatTarget target :
         {FlatTarget::self, FlatTarget::earlierSibling, FlatTarget::nextSibling,
          FlatTarget::lastSibling, FlatTarget::otherTurn, FlatTarget::otherSlot}) {
        SCOPED_TRACE(testing::Message() << "target " << static_cast<int>(target));
        play(target, std::nullopt);
        for (std::int64_t ticks : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, kSlots - 1,
                                   kSlots, kSlots + 1, 5 * kSlots}) {
            SCOPED_TRACE(testing::Message() << ticks << " ticks on");
            play(target, ticks);
        }
    }
}

// One turn later is the same slot: it is for the next turn, not for this visit.
TEST(HashedWheelReentrancy, AnEntryThatAddsItselfOneTurnLaterWaitsForTheWholeTurn) {
    Lease lease{1};
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{5});
    All handedOver;
    wheel.advanceTo(Tick{30}, [&](Lease& due) {
        handedOver.push_back({due.id, wheel.currentTick().value()});
        wheel.add(due, wheel.currentTick() + 8);
    });
    EXPECT_EQ(handedOver, (All{{1, 5}, {1, 13}, {1, 21}, {1, 29}}));
    wheel.cancel(lease);
}

TEST(HashedWheelReentrancy, AnEntryThatAddsItselfOneTickLaterIsHandedOverOnEveryTick) {
    for (std::int64_t slots : {1, 2, 8}) {
        Lease lease;
        HashedWheel<Lease> wheel{{.ticksPerWheel = slots}};
        wheel.add(lease, Tick{1});
        std::int64_t expected = 1;
        EXPECT_EQ(wheel.advanceTo(Tick{100},
                                  [&](Lease& due) {
                                      EXPECT_EQ(wheel.currentTick(), Tick{expected++});
                                      wheel.add(due, wheel.currentTick() + 1);
                                  }),
                  100U);
        wheel.cancel(lease);
    }
}

TEST(HashedWheelReentrancy, AnEntryThatAddsItselfAtTheClockIsDueAndNotHandedOverAgain) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    wheel.add(lease, Tick{5});
    EXPECT_EQ(wheel.advanceTo(
                  Tick{100},
                  [&](Lease& due) { EXPECT_TRUE(wheel.add(due, wheel.currentTick()).isDue()); }),
              1U);
    EXPECT_FALSE(lease.isQueued());
}

TEST(HashedWheelReentrancy, ACallbackMayCancelEverything) {
    std::vector<Lease> leases(50);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
    for (std::size_t i = 0; i < leases.size(); ++i)
        wheel.add(leases[i], Tick{8 + static_cast<std::int64_t>(i / 30) * 4});
    EXPECT_EQ(wheel.advanceTo(Tick{1'000},
                              [&](Lease&) {
                                  for (Lease& lease : leases) wheel.cancel(lease);
                                  wheel.checkInvariants();
                              }),
              1U);
    EXPECT_TRUE(wheel.empty());
    wheel.checkInvariants();
}

// What leaves and what comes at the end of the visited slot share indices that were found ahead of
// time.
TEST(HashedWheelReentrancy, AnIndexThatWasFoundAheadMayBeAnothersByNow) {
    std::vector<Lease> leases;
    for (int id = 0; id < 8; ++id) leases.emplace_back(id);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
    for (std::size_t i = 0; i < 6; ++i) wheel.add(leases[i], Tick{6});
    All handedOver;
    wheel.advanceTo(Tick{20}, [&](Lease& due) {
        handedOver.push_back({due.id, wheel.currentTick().value()});
        if (due.id != 0) return;
        wheel.cancel(leases[5]);
        wheel.cancel(leases[4]);
        wheel.add(leases[6], Tick{10});
        wheel.add(leases[7], Tick{14});
        EXPECT_EQ(detail::EntryLinks::locationOf(leases[6]).index, 4U) << "so nothing was shown";
    });
    EXPECT_EQ(handedOver, (All{{0, 6}, {1, 6}, {2, 6}, {3, 6}, {6, 10}, {7, 14}}));
}

TEST(HashedWheelReentrancy, NextExpirationIsTheClockWhileAVisitIsOpen) {
    std::vector<Lease> leases(2);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
    for (Lease& lease : leases) wheel.add(lease, Tick{5});
    std::vector<std::optional<Tick>> seen;
    wheel.advanceTo(Tick{9}, [&](Lease&) { seen.push_back(wheel.nextExpiration()); });
    EXPECT_EQ(seen, (std::vector<std::optional<Tick>>{Tick{5}, std::nullopt}));
}

// Exceptions.

TEST(HashedWheelReentrancy, AVisitThatACallbackLeftByAnExceptionGoesOnWithTheNextCall) {
    for (int throwing = 0; throwing < 12; ++throwing) {
        std::vector<Lease> leases;
        for (int id = 0; id < 12; ++id) leases.emplace_back(id);
        HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
        for (Lease& lease : leases) wheel.add(lease, Tick{5});
        All handedOver;
        auto const due = [&](Lease& lease) {
            handedOver.push_back({lease.id, wheel.currentTick().value()});
            if (lease.id == throwing) throw std::runtime_error{"due"};
        };
        EXPECT_THROW(wheel.advanceTo(Tick{9}, due), std::runtime_error);
        EXPECT_EQ(handedOver.size(), static_cast<std::size_t>(throwing) + 1);
        EXPECT_EQ(wheel.currentTick(), Tick{5});
        wheel.checkInvariants();
        wheel.cancel(leases[11]);
        // Even one that asks for an earlier time.
        wheel.advanceTo(Tick{0}, due);
        All expected;
        for (int id = 0; id < 11 || id <= throwing; ++id) expected.push_back({id, 5});
        EXPECT_EQ(handedOver, expected);
        EXPECT_TRUE(wheel.empty());
        wheel.advanceTo(Tick{9}, due);
        EXPECT_EQ(wheel.currentTick(), Tick{9});
        wheel.checkInvariants();
    }
}

TEST(HashedWheelReentrancy, ACallbackMayMoveTheClockOn) {
    std::vector<Lease> leases;
    for (int id = 0; id < 4; ++id) leases.emplace_back(id);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
    wheel.add(leases[0], Tick{5});
    wheel.add(leases[1], Tick{5});
    wheel.add(leases[2], Tick{6});
    wheel.add(leases[3], Tick{9});
    All handedOver;
    auto const inner = [&](Lease& lease) {
        handedOver.push_back({lease.id, wheel.currentTick().value()});
    };
    wheel.advanceTo(Tick{20}, [&](Lease& lease) {
        inner(lease);
        if (lease.id == 0) wheel.advanceTo(Tick{7}, inner);
        wheel.checkInvariants();
    });
    EXPECT_EQ(handedOver, (All{{0, 5}, {1, 5}, {2, 6}, {3, 9}}));
    EXPECT_EQ(wheel.currentTick(), Tick{20});
}

TEST(HashedWheelReentrancy, TakingAnyEntryDuringAVisitKeepsTheOthersThatAreDue) {
    std::vector<Lease> leases;
    for (int id = 0; id < 8; ++id) leases.emplace_back(id);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 1}};
    for (Lease& lease : leases) wheel.add(lease, Tick{1});
    RawHashedWheel& base = wheel.raw();
    ASSERT_TRUE(base.beginTick(Tick{1}));
    EXPECT_EQ(base.takeDue(), &leases[0]);
    for (std::size_t id = 1; id < 5; ++id) base.remove(leases[id]);
    EXPECT_EQ(base.takeAny(), &leases[7]);  // most of the slot are holes now
    EXPECT_EQ(base.takeDue(), &leases[5]);
    EXPECT_EQ(base.takeDue(), &leases[6]);
    EXPECT_EQ(base.takeDue(), nullptr);
    EXPECT_TRUE(wheel.empty());
}

}  // namespace
}  // namespace timingwheel
