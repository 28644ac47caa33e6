#include "Lease.h"

#include <support/AllocationCounter.h>
#include <support/Platform.h>
#include <timingwheel/wheel/HashedWheel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace timingwheel {
namespace {

using test::allocatePages;
using test::AllocationCounter;
using test::AllocationFailure;
using test::closePages;
using test::freePages;
using test::Lease;
using test::openPages;
using Repeat = test::AllocationFailure::Repeat;

// What walking touches.

/// Entries in pages of their own, which can be closed: reading or writing one then ends the
/// program.
class FencedLeases {
public:
    FencedLeases() : leases_{make()} {}
    ~FencedLeases() {
        open();
        std::destroy(leases_.begin(), leases_.end());
        freePages(leases_.data(), kBytes);
    }
    FencedLeases(FencedLeases const&) = delete;
    FencedLeases& operator=(FencedLeases const&) = delete;

    std::span<Lease> leases() noexcept { return leases_; }
    std::span<std::byte const> bytes() const noexcept { return std::as_bytes(leases_); }
    void close() noexcept { ASSERT_TRUE(closePages(leases_.data(), kBytes)); }
    void open() noexcept { EXPECT_TRUE(openPages(leases_.data(), kBytes)); }

private:
    static constexpr std::size_t kBytes = 65'536;

    static std::span<Lease> make() {
        void* const memory = allocatePages(kBytes);
        if (memory == nullptr) throw std::bad_alloc{};
        std::span const leases{static_cast<Lease*>(memory), kBytes / sizeof(Lease)};
        std::uninitialized_default_construct(leases.begin(), leases.end());
        return leases;
    }

    std::span<Lease> leases_;
};

TEST(HashedWheelMemory, WalkingNeitherReadsNorWritesWhatIsNotDue) {
    constexpr std::int64_t kSlots = 16;
    FencedLeases far;
    std::vector<Lease> near(100);
    HashedWheel<Lease> wheel{{.ticksPerWheel = kSlots}};
    std::int64_t i = 0;
    std::size_t due = 0;
    for (Lease& lease : far.leases()) {
        wheel.add(lease, Tick{1'000 * kSlots + i++ % 500});
        // Between them some that are due on the way, few enough for their holes to stay.
        if (i % 20 == 0 && due < near.size()) wheel.add(near[due++], Tick{1 + i % 60});
    }
    ASSERT_GT(due, 50U);
    std::vector<std::byte> const before{far.bytes().begin(), far.bytes().end()};

    far.close();
    EXPECT_EQ(wheel.advanceTo(Tick{10 * kSlots}, [](Lease&) {}), due);
    far.open();

    EXPECT_EQ(std::memcmp(before.data(), far.bytes().data(), before.size()), 0);
    wheel.checkInvariants();
    EXPECT_EQ(wheel.advanceTo(Tick{1'000 * kSlots + 500}, [](Lease&) {}), far.leases().size());
}

// That the fence works: otherwise the test above shows nothing.
TEST(HashedWheelMemoryDeathTest, AFencedEntryCannotBeRead) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(
        {
            FencedLeases far;
            HashedWheel<Lease> wheel{{.ticksPerWheel = 16}};
            wheel.add(far.leases()[0], Tick{20});
            far.close();
            wheel.advanceTo(Tick{20}, [](Lease&) {});
        },
        "");
}

// What allocates nothing.

TEST(HashedWheelMemory, CancellingAndWalkingAllocateNothing) {
    std::vector<Lease> leases(3'000);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    for (std::size_t i = 0; i < leases.size(); ++i)
        wheel.add(leases[i], Tick{1 + static_cast<std::int64_t>(i * 7'919 % 300)});

    AllocationCounter const counter;
    std::size_t handedOver = 0;
    for (std::size_t i = 0; i < leases.size(); i += 2) wheel.cancel(leases[i]);
    wheel.advanceTo(Tick{250}, [&](Lease& lease) {
        ++handedOver;
        auto const number = static_cast<std::size_t>(&lease - leases.data());
        wheel.cancel(leases[(number * 3 + 1) % leases.size()]);
    });
    while (wheel.raw().takeAny() != nullptr) {
    }
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_GT(counter.deallocations(), 0U) << "emptied slots give their memory back";
    EXPECT_GT(handedOver, 300U);
}

// A slot that is emptied on every turn would otherwise go to the allocator on every turn.
TEST(HashedWheelMemory, AFewEntriesThatComeAgainOnEveryTurnAllocateNothing) {
    std::vector<Lease> leases(HashedWheelSlot::kKept);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8}};
    auto const again = [&](Lease& lease) { wheel.add(lease, wheel.currentTick() + 8); };
    for (Lease& lease : leases) wheel.add(lease, Tick{3});
    wheel.advanceTo(Tick{3}, again);
    // In this turn they come into a slot with room, whose holes are dropped at the visit's end.
    AllocationCounter const counter;
    EXPECT_EQ(wheel.advanceTo(Tick{803}, again), 100 * leases.size());
    EXPECT_LE(counter.allocations(), 2U) << "room for twice as many, once";
    while (wheel.raw().takeAny() != nullptr) {
    }
}

TEST(HashedWheelMemory, AnEntryThatIsDueAllocatesNothing) {
    Lease lease;
    HashedWheel<Lease> wheel{{.ticksPerWheel = 8, .start = Tick{100}}};
    AllocationCounter const counter;
    EXPECT_TRUE(wheel.add(lease, Tick{100}).isDue());
    EXPECT_EQ(counter.allocations(), 0U);
}

TEST(HashedWheelMemory, AnEmptyWheelOf512SlotsHas28Kilobytes) {
    EXPECT_LE(sizeof(HashedWheelSlot), 56U);
    AllocationCounter const counter;
    HashedWheel<Lease> const wheel;
    EXPECT_EQ(counter.allocations(), 1U) << "its slots, which hold nothing";
}

TEST(HashedWheelMemory, ReservedRoomIsEnoughForOneMore) {
    std::vector<Lease> leases(100);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 1}};
    for (Lease& lease : leases) {
        wheel.raw().reserve(Tick{5});
        AllocationCounter const counter;
        wheel.add(lease, Tick{5});
        EXPECT_EQ(counter.allocations(), 0U);
    }
    while (wheel.raw().takeAny() != nullptr) {
    }
}

TEST(HashedWheelMemory, ReservedRoomIsEnoughForOneMoreAlsoWhereASlotGivesMemoryBack) {
    std::vector<Lease> leases(1'000);
    std::vector<Lease> later(30);
    HashedWheel<Lease> wheel{{.ticksPerWheel = 1}};
    for (Lease& lease : leases) wheel.add(lease, Tick{5});
    std::size_t const before = wheel.allSlots()[0].capacity();
    while (wheel.size() > 10) wheel.cancel(leases[wheel.size() - 1]);
    for (Lease& lease : later) {
        wheel.raw().reserve(Tick{5});
        EXPECT_LT(wheel.allSlots()[0].capacity(), before) << "it gave nothing back";
        AllocationCounter const counter;
        wheel.add(lease, Tick{5});
        EXPECT_EQ(counter.allocations(), 0U);
    }
    while (wheel.raw().takeAny() != nullptr) {
    }
}

// What fails changes nothing.

class HashedWheelMemoryFailure : public testing::TestWithParam<Repeat> {
protected:
    // A wheel whose every slot is full: one more has to allocate.
    static void fill(HashedWheel<Lease>& wheel, std::span<Lease> leases) {
        for (std::size_t i = 0; i < leases.size(); ++i) {
            leases[i].id = static_cast<int>(i);
            wheel.add(leases[i], Tick{1 + static_cast<std::int64_t>(i)});
        }
        for (HashedWheelSlot const& slot : wheel.allSlots())
            ASSERT_EQ(slot.extent(), slot.capacity());
    }

    template <class Attempt>
    static bool fails(std::size_t kth, Attempt attempt) {
        bool threw = false;
        AllocationFailure const failure{kth, GetParam()};
        try {
            attempt();
        } catch (std::bad_alloc const&) {
            threw = true;
        }
        EXPECT_EQ(threw, failure.happened());
        return threw;
    }
};

TEST_P(HashedWheelMemoryFailure, LeavesAnEntryOutThatWasToBeAdded) {
    std::size_t kth = 1;
    for (;; ++kth) {
        std::vector<Lease> leases(32);
        Lease late{99};
        HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
        fill(wheel, leases);
        test::setDeadline(late, Tick{-42}, 3);
        std::uint64_t const wordBefore = late.word();
        bool const failed = fails(kth, [&] { wheel.add(late, Tick{30}); });
        wheel.checkInvariants();
        EXPECT_EQ(late.isQueued(), !failed);
        EXPECT_EQ(wheel.size(), failed ? 32U : 33U);
        if (failed) {
            EXPECT_EQ(late.word(), wordBefore);
            wheel.add(late, Tick{30});  // it can be tried again
        }
        EXPECT_EQ(test::advanceTo(wheel, Tick{100}).size(), 33U);
        if (!failed) break;
    }
    EXPECT_EQ(kth, 3U) << "two arrays had to grow";
}

TEST_P(HashedWheelMemoryFailure, LeavesAnEntryWhereItWasThatWasToBeMoved) {
    for (std::int64_t deadline : {18, 31}) {  // the same slot, another one
        std::size_t kth = 1;
        for (;; ++kth) {
            std::vector<Lease> leases(32);
            HashedWheel<Lease> wheel{{.ticksPerWheel = 4}};
            fill(wheel, leases);
            Lease& moved = leases[21];
            ASSERT_EQ(moved.deadline(), Tick{22});
            detail::EntryLocation const location = detail::EntryLinks::locationOf(moved);
            bool const failed = fails(kth, [&] { wheel.reschedule(moved, Tick{deadline}); });
            wheel.checkInvariants();
            EXPECT_EQ(wheel.size(), 32U);
            EXPECT_EQ(detail::EntryLinks::locationOf(moved) == location, failed);
            EXPECT_EQ(moved.deadline(), Tick{failed ? 22 : deadline});
            test::advanceTo(wheel, Tick{100});
            if (!failed) break;
        }
        EXPECT_EQ(kth, 3U);
    }
}

TEST_P(HashedWheelMemoryFailure, LeavesAWheelUnbuilt) {
    EXPECT_TRUE(fails(1, [] { HashedWheel<Lease> const wheel; }));
    EXPECT_FALSE(fails(2, [] { HashedWheel<Lease> const wheel; }));
}

// Giving memory back needs some; if there is none, adding does not fail for it.
TEST_P(HashedWheelMemoryFailure, LeavesASlotAsLargeAsItIs) {
    for (std::size_t kth : {1U, 2U}) {
        std::vector<Lease> leases(1'000);
        HashedWheel<Lease> wheel{{.ticksPerWheel = 1}};
        for (Lease& lease : leases) wheel.add(lease, Tick{5});
        for (std::size_t i = 10; i < leases.size(); ++i) wheel.cancel(leases[i]);
        std::size_t const capacity = wheel.allSlots()[0].capacity();
        {
            AllocationFailure const failure{kth, GetParam()};
            EXPECT_NO_THROW(wheel.add(leases[10], Tick{5}));
            EXPECT_TRUE(failure.happened());
        }
        EXPECT_EQ(wheel.allSlots()[0].capacity(), capacity);
        wheel.checkInvariants();
        wheel.add(leases[11], Tick{5});
        EXPECT_LT(wheel.allSlots()[0].capacity(), capacity / 8);
        EXPECT_EQ(test::advanceTo(wheel, Tick{5}).size(), 12U);
    }
}

INSTANTIATE_TEST_SUITE_P(TheKthOrAllFromThere, HashedWheelMemoryFailure,
                         testing::Values(Repeat::once, Repeat::forEver), [](auto const& test) {
                             return test.param == Repeat::once ? "Once" : "ForEver";
                         });

}  // namespace
}  // namespace timingwheel
