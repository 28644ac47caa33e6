#include "Lease.h"

#include <support/AllocationCounter.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

namespace timingwheel {
namespace {

using test::AllocationCounter;
using test::AllocationFailure;
using test::Lease;
using test::where;
using Repeat = test::AllocationFailure::Repeat;

// What allocates nothing.

// G16
TEST(TimingWheelAllocation, NothingIsAllocatedWithinTheLevelsThatExist) {
    std::vector<Lease> leases(1'000);
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.raw().reserve(Tick{1'000'000});
    auto const delayOf = [](std::size_t i, std::size_t round) {
        return static_cast<std::int64_t>((i * 7'919 + round * 104'729) % 100'000);
    };

    AllocationCounter const counter;
    std::size_t handedOver = 0;
    auto const due = [&](Lease& lease) {
        ++handedOver;
        if (handedOver % 3 == 0) wheel.add(lease, wheel.currentTick() + 4'321);
    };
    for (std::size_t round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < leases.size(); ++i)
            wheel.reschedule(leases[i], wheel.currentTick() + delayOf(i, round));
        for (std::size_t i = 0; i < leases.size(); i += 3) wheel.cancel(leases[i]);
        for (std::size_t i = 0; i < leases.size(); i += 3)
            wheel.add(leases[i], wheel.currentTick() + delayOf(i, round + 7));
        for (int step = 0; step < 100; ++step)
            if (wheel.nextExpiration()) wheel.advanceTo(*wheel.nextExpiration(), due);
        wheel.advanceTo(wheel.currentTick() + 50'000, due);
    }
    while (wheel.raw().takeAny() != nullptr) {
    }
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_EQ(counter.deallocations(), 0U);
    EXPECT_GT(handedOver, 1'000U);
}

// G16
// Every bucket of every level may be armed at once, and then find its room in the heap.
TEST(TimingWheelAllocation, TheHeapHasRoomForEveryBucket) {
    constexpr std::int64_t kSize = 16;
    std::vector<Lease> leases(4 * kSize);
    TimingWheel<Lease> wheel{{.wheelSize = kSize, .start = Tick{kSize * kSize * kSize * kSize}}};
    wheel.raw().reserve(wheel.currentTick() + (kSize * kSize * kSize * kSize - 1));
    AllocationCounter const counter;
    std::size_t armed = 0;
    std::int64_t granularity = 1;
    for (int level = 0; level < 4; ++level, granularity *= kSize)
        for (std::int64_t slot = 1; slot < kSize; ++slot, ++armed)
            wheel.add(leases[armed], wheel.currentTick() + slot * granularity);
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_EQ(wheel.delayHeap().size(), 4U * 15U);
}

// G16
TEST(TimingWheelAllocation, AnEntryThatIsDueBuildsNoLevel) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 20, .start = Tick{1'000'000}}};
    AllocationCounter const counter;
    EXPECT_TRUE(wheel.add(lease, Tick::min()).isDue());
    EXPECT_EQ(counter.allocations(), 0U);
}

// What fails changes nothing.

class TimingWheelAllocationFailure : public testing::TestWithParam<Repeat> {
protected:
    struct State {
        std::size_t size;
        std::size_t armed;
        std::optional<Tick> next;
        Tick clock;

        bool operator==(State const&) const = default;
    };
    static State stateOf(TimingWheel<Lease> const& wheel) {
        return {wheel.size(), wheel.delayHeap().size(), wheel.nextExpiration(),
                wheel.currentTick()};
    }

    // Calls `attempt(kth)` with 1, 2, ... until it returns that no allocation failed. Returns how
    // many did.
    template <class Attempt>
    static std::size_t failEach(Attempt attempt) {
        for (std::size_t kth = 1;; ++kth)
            if (!attempt(kth)) return kth - 1;
    }
};

TEST_P(TimingWheelAllocationFailure, LeavesAWheelUnbuilt) {
    std::size_t const failed = failEach([](std::size_t kth) {
        bool threw = false;
        AllocationFailure const failure{kth, GetParam()};
        try {
            TimingWheel<Lease> const wheel{{.wheelSize = 64, .start = Tick{-5}}};
        } catch (std::bad_alloc const&) {
            threw = true;
        }
        EXPECT_EQ(threw, failure.happened());
        return failure.happened();
    });
    EXPECT_GE(failed, 3U);
}

TEST_P(TimingWheelAllocationFailure, LeavesAnEntryOutThatWasToBeAdded) {
    std::size_t const failed = failEach([](std::size_t kth) {
        Lease near;
        Lease far;
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        wheel.advanceTo(Tick{7}, [](Lease&) {});
        wheel.add(near, Tick{9});
        test::setDeadline(far, Tick{-42}, 3);
        std::uint64_t const wordBefore = far.word();
        State const before = stateOf(wheel);

        bool threw = false;
        bool happened = false;
        {
            AllocationFailure const failure{kth, GetParam()};
            try {
                wheel.add(far, Tick{100'000});
            } catch (std::bad_alloc const&) {
                threw = true;
            }
            happened = failure.happened();
        }
        EXPECT_EQ(threw, happened);
        if (!threw) return false;
        EXPECT_FALSE(far.isQueued());
        EXPECT_EQ(far.word(), wordBefore);
        EXPECT_EQ(stateOf(wheel), before);
        wheel.checkInvariants();
        // And it can be tried again.
        EXPECT_EQ(where(wheel.add(far, Tick{100'000})), "3:12@96000");
        EXPECT_EQ(test::runAll(wheel).back(), (test::HandedOver{0, 100'000}));
        return true;
    });
    EXPECT_GE(failed, 6U) << "three levels, each with its buckets and their room in the heap";
}

TEST_P(TimingWheelAllocationFailure, LeavesAnEntryWhereItWasThatWasToBeMoved) {
    std::size_t const failed = failEach([](std::size_t kth) {
        Lease lease{1};
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        wheel.add(lease, Tick{25});
        State const before = stateOf(wheel);

        bool happened = false;
        {
            AllocationFailure const failure{kth, GetParam()};
            try {
                wheel.reschedule(lease, Tick{100'000});
            } catch (std::bad_alloc const&) {
            }
            happened = failure.happened();
        }
        if (!happened) return false;
        EXPECT_TRUE(lease.isQueued());
        EXPECT_EQ(lease.deadline(), Tick{25});
        EXPECT_EQ(stateOf(wheel), before);
        wheel.checkInvariants();
        // The levels may lie elsewhere now, and work as before.
        wheel.advanceTo(Tick{20}, [](Lease&) {});
        EXPECT_EQ(where(wheel.reschedule(lease, Tick{419})), "1:0@400");
        wheel.checkInvariants();
        wheel.reschedule(lease, Tick{25});
        EXPECT_EQ(test::runAll(wheel), (std::vector<test::HandedOver>{{1, 25}}));
        return true;
    });
    EXPECT_GE(failed, 4U);
}

// All the levels that a deadline needs, or none of them.
TEST_P(TimingWheelAllocationFailure, LeavesTheLevelsAsTheyWere) {
    std::size_t const failed = failEach([](std::size_t kth) {
        Lease lease;
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        bool happened = false;
        {
            AllocationFailure const failure{kth, GetParam()};
            try {
                wheel.add(lease, Tick{100'000});
            } catch (std::bad_alloc const&) {
            }
            happened = failure.happened();
        }
        if (!happened) return false;
        EXPECT_EQ(wheel.levels().size(), 1U) << "allocation " << kth << " failed";
        EXPECT_EQ(wheel.raw().reach(), Tick{20});
        return true;
    });
    EXPECT_GE(failed, 6U);
}

INSTANTIATE_TEST_SUITE_P(TheKthOrAllFromThere, TimingWheelAllocationFailure,
                         testing::Values(Repeat::once, Repeat::forEver), [](auto const& test) {
                             return test.param == Repeat::once ? "Once" : "ForEver";
                         });

}  // namespace
}  // namespace timingwheel
