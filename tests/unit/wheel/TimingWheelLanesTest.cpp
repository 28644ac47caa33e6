#include "Lease.h"

#include <support/AllocationCounter.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace timingwheel {
namespace {

using test::Lease;

std::size_t lengthOf(TimerTaskList const& bucket, unsigned lane) {
    return bucket.lane(lane).size();
}

class TimingWheelLanes : public testing::Test {
protected:
    static constexpr std::size_t kFrom = 100;

    TimingWheelLanes() : leases_(1'000) {
        for (std::size_t i = 0; i < leases_.size(); ++i) leases_[i].id = static_cast<int>(i);
    }
    ~TimingWheelLanes() override {
        for (Lease& lease : leases_) wheel_.cancel(lease);
    }

    TimerTaskList const& add(std::size_t i, std::int64_t deadline) {
        return wheel_.add(leases_[i], Tick{deadline}).bucket();
    }
    std::vector<int> idsDueAt(Tick tick) {
        std::vector<int> ids;
        wheel_.advanceTo(tick, [&](Lease& lease) { ids.push_back(lease.id); });
        return ids;
    }
    static std::vector<int> sorted(std::vector<int> ids) {
        std::sort(ids.begin(), ids.end());
        return ids;
    }
    static std::vector<int> idsUpTo(int end) {
        std::vector<int> ids;
        for (int id = 0; id < end; ++id) ids.push_back(id);
        return ids;
    }

    std::vector<Lease> leases_;
    TimingWheel<Lease> wheel_{{.wheelSize = 20, .lanesFrom = kFrom}};
};

TEST_F(TimingWheelLanes, AreUsedFromTheThirtyTwoThousandth) {
    EXPECT_EQ(TimingWheelOptions{}.lanesFrom, 32'768U);
}

TEST_F(TimingWheelLanes, ABucketIsEmptiedInOrderBelowTheThreshold) {
    for (std::size_t i = 0; i < kFrom; ++i) EXPECT_FALSE(add(i, 420).usesLanes());
    wheel_.checkInvariants();
    EXPECT_EQ(idsDueAt(Tick{420}), idsUpTo(kFrom));
}

TEST_F(TimingWheelLanes, AreUsedFromTheThresholdOn) {
    TimerTaskList const& bucket = add(0, 420);
    for (std::size_t i = 1; i < 1'000; ++i) {
        add(i, 420);
        EXPECT_FALSE(i < kFrom && bucket.usesLanes()) << i;
        if (i % 10 == 0) wheel_.checkInvariants();
    }
    EXPECT_TRUE(bucket.usesLanes());
    EXPECT_EQ(bucket.entries().size(), 1'000U);
    EXPECT_EQ(sorted(idsDueAt(Tick{420})), idsUpTo(1'000));
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(TimingWheelLanes, AreNotUsedAgainBelowTheThreshold) {
    TimerTaskList const& bucket = add(0, 420);
    for (std::size_t i = 1; i < 500; ++i) add(i, 420);
    for (std::size_t i = 50; i < 500; ++i) wheel_.cancel(leases_[i]);
    wheel_.checkInvariants();
    std::size_t const inFirst = lengthOf(bucket, 0);
    for (std::size_t i = 500; i < 540; ++i) add(i, 420);
    EXPECT_EQ(lengthOf(bucket, 0), inFirst + 40);
    wheel_.checkInvariants();

    std::vector<int> expected = idsUpTo(50);
    for (int id = 500; id < 540; ++id) expected.push_back(id);
    EXPECT_EQ(sorted(idsDueAt(Tick{420})), expected);
}

TEST_F(TimingWheelLanes, OfTheFinestLevelAreUsedAfterABucketOfItWasCrowded) {
    for (std::size_t i = 0; i < 500; ++i) EXPECT_FALSE(add(i, 5).usesLanes());
    EXPECT_EQ(idsDueAt(Tick{5}), idsUpTo(500));
    for (std::size_t i = 0; i < 500; ++i) add(i, 7);  // asked for again at the next flush
    EXPECT_EQ(sorted(idsDueAt(Tick{7})), idsUpTo(500));
    EXPECT_TRUE([&] {
        for (std::size_t i = 0; i < 499; ++i) add(i, 9);
        return add(499, 9).usesLanes();
    }());
    wheel_.checkInvariants();
    EXPECT_EQ(sorted(idsDueAt(Tick{9})), idsUpTo(500));

    // And no more after one that was not.
    for (std::size_t i = 0; i < 500; ++i) add(i, 300 + static_cast<std::int64_t>(i) % 20);
    add(500, 10);
    add(501, 11);
    idsDueAt(Tick{11});
    for (std::size_t i = 600; i < 700; ++i) EXPECT_FALSE(add(i, 15).usesLanes());
}

// Bug pattern: any level's last bucket decides.
TEST_F(TimingWheelLanes, OfTheFinestLevelAreNotUsedBecauseABucketOfAnotherWasCrowded) {
    for (std::size_t i = 0; i < 500; ++i) add(i, 420 + static_cast<std::int64_t>(i) % 20);
    add(900, 801);
    EXPECT_EQ(idsDueAt(Tick{420}).size(), 25U);  // flushed from level 2, then from level 1
    EXPECT_FALSE(add(901, 425).usesLanes()) << "with 25 others, which came down";
    wheel_.cancel(leases_[901]);
    for (std::size_t i = 0; i < 500; ++i) wheel_.cancel(leases_[i]);
    EXPECT_EQ(idsDueAt(Tick{801}).size(), 1U);
    for (std::size_t i = 0; i < 500; ++i) EXPECT_FALSE(add(i, 805).usesLanes()) << i;
}

TEST_F(TimingWheelLanes, AreFilledEvenlyWhateverTheDistanceOfTheEntries) {
    alignas(64) static std::byte storage[3'000 * 4'096];
    for (std::size_t distance :
         {24U, 32U, 40U, 48U, 56U, 64U, 80U, 96U, 128U, 256U, 1'024U, 4'096U}) {
        std::size_t lengths[TimerTaskList::kLanes] = {};
        for (std::size_t i = 0; i < 3'000; ++i) {
            auto const* entry = reinterpret_cast<TimerTaskEntry const*>(storage + i * distance);
            ++lengths[TimerTaskList::laneOf(*entry)];
        }
        for (std::size_t length : lengths) EXPECT_NEAR(static_cast<double>(length), 1'000, 100);
    }
}

TEST_F(TimingWheelLanes, AllocateNothing) {
    wheel_.raw().reserve(Tick{100'000});
    test::AllocationCounter const counter;
    std::mt19937_64 random{5};
    for (int round = 0; round < 3; ++round) {
        for (Lease& lease : leases_)
            wheel_.add(lease, wheel_.currentTick() + static_cast<std::int64_t>(random() % 50'000));
        wheel_.advanceTo(wheel_.currentTick() + 25'000, [](Lease&) {});
        for (Lease& lease : leases_) wheel_.cancel(lease);
    }
    EXPECT_EQ(counter.allocations(), 0U);
}

TEST_F(TimingWheelLanes, TakeAnyEmptiesThemAll) {
    for (std::size_t i = 0; i < 1'000; ++i) add(i, 420);
    for (std::size_t i = 0; i < 1'000; ++i) {
        ASSERT_NE(wheel_.raw().takeAny(), nullptr);
        if (i % 100 == 0) wheel_.checkInvariants();
    }
    EXPECT_EQ(wheel_.raw().takeAny(), nullptr);
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(TimingWheelLanes, AFlushThatThrewGoesOnWhereItWas) {
    for (std::size_t i = 0; i < 1'000; ++i) add(i, 420);
    std::vector<int> ids;
    for (;;) {
        try {
            wheel_.advanceTo(Tick{420}, [&](Lease& lease) {
                ids.push_back(lease.id);
                if (ids.size() % 7 == 0) throw 1;
            });
            break;
        } catch (int) {
            wheel_.checkInvariants();
        }
    }
    EXPECT_EQ(sorted(ids), idsUpTo(1'000));
}

TEST_F(TimingWheelLanes, ACallbackMayCancelAndMoveWhatIsToComeNext) {
    std::mt19937_64 random{6};
    for (int round = 0; round < 20; ++round) {
        Tick const deadline = wheel_.currentTick() + (420 - wheel_.currentTick().value() % 20);
        for (Lease& lease : leases_) wheel_.reschedule(lease, deadline);
        std::vector<int> times(leases_.size());
        std::vector<int> expected(leases_.size(), 1);
        wheel_.advanceTo(deadline, [&](Lease& due) {
            ++times[static_cast<std::size_t>(due.id)];
            std::size_t const other = random() % leases_.size();
            if (!leases_[other].isQueued() || leases_[other].deadline() != deadline) return;
            expected[other] = 0;
            if (random() % 2 == 0)
                wheel_.cancel(leases_[other]);
            else
                wheel_.reschedule(leases_[other], deadline + 400);
            if (random() % 50 == 0) wheel_.checkInvariants();
        });
        EXPECT_EQ(times, expected);
        wheel_.checkInvariants();
    }
}

TEST_F(TimingWheelLanes, L1AnEntryInALaneThatItsAddressDoesNotSay) {
    auto& bucket = const_cast<TimerTaskList&>(add(0, 5));
    wheel_.checkInvariants();
    unsigned const own = TimerTaskList::laneOf(leases_[0]);
    for (unsigned lane = 0; lane < TimerTaskList::kLanes; ++lane) {
        TimerTaskList::remove(leases_[0]);
        bucket.add(leases_[0], lane);
        if (lane == 0 || lane == own) {
            EXPECT_NO_THROW(wheel_.checkInvariants());
        } else {
            EXPECT_THROW(wheel_.checkInvariants(), std::logic_error);
        }
    }
}

}  // namespace
}  // namespace timingwheel
