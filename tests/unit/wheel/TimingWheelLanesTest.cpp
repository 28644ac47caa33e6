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

class TimingWheelLanes : public testing::Test {
protected:
    /// In this many entries, some twenty set a bit.
    static constexpr std::size_t kFrom = 20'000;

    TimingWheelLanes() : leases_(50'000) {
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
    for (std::size_t i = 0; i < kFrom / 2; ++i) EXPECT_FALSE(add(i, 420).usesLanes());
    wheel_.checkInvariants();
    EXPECT_EQ(idsDueAt(Tick{420}), idsUpTo(kFrom / 2));
}

TEST_F(TimingWheelLanes, AreUsedFromAboutTheThresholdOn) {
    TimerTaskList const& bucket = add(0, 420);
    for (std::size_t i = 1; i < leases_.size(); ++i) {
        add(i, 420);
        EXPECT_FALSE(i < kFrom / 2 && bucket.usesLanes()) << i;
        EXPECT_FALSE(i > kFrom * 2 && !bucket.usesLanes()) << i;
        if (i % 5'000 == 0) wheel_.checkInvariants();
    }
    EXPECT_EQ(bucket.size(), leases_.size());
    EXPECT_EQ(sorted(idsDueAt(Tick{420})), idsUpTo(static_cast<int>(leases_.size())));
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(TimingWheelLanes, AreUsedAlwaysOrNeverIfAskedFor) {
    for (bool const always : {true, false}) {
        TimingWheel<Lease> wheel{{.wheelSize = 20, .lanesFrom = always ? 0 : SIZE_MAX}};
        for (std::size_t i = 0; i < leases_.size(); ++i)
            EXPECT_EQ(wheel.add(leases_[i], Tick{420}).bucket().usesLanes(), always);
        while (wheel.raw().takeAny() != nullptr) {
        }
    }
}

TEST_F(TimingWheelLanes, AreNotUsedHoweverOftenTheSameFewComeAndGo) {
    for (std::size_t round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < kFrom / 4; ++i) EXPECT_FALSE(add(i, 420).usesLanes());
        for (std::size_t i = 0; i < kFrom / 4; ++i) wheel_.cancel(leases_[i]);
    }
}

TEST_F(TimingWheelLanes, AreNotUsedAfterABucketThatHeldFewAlsoInAWheelThatOnceHeldMany) {
    for (std::size_t i = 0; i < 45'000; ++i) add(i, 420);
    for (std::size_t i = 50; i < 45'000; ++i) wheel_.cancel(leases_[i]);
    wheel_.checkInvariants();
    EXPECT_EQ(sorted(idsDueAt(Tick{420})), idsUpTo(50));
    add(50, 421);  // the next flush decides
    EXPECT_EQ(idsDueAt(Tick{421}).size(), 1U);
    for (std::size_t i = 0; i < 50; ++i) EXPECT_FALSE(add(i, 900).usesLanes());
    wheel_.checkInvariants();
}

TEST_F(TimingWheelLanes, AThresholdThatTheSamplesCannotTellIsReachedByHundredsOfThousands) {
    std::vector<Lease> many(600'000);
    TimingWheel<Lease> wheel{{.wheelSize = 20, .lanesFrom = 50'000'000}};
    TimerTaskList const& bucket = wheel.add(many[0], Tick{420}).bucket();
    for (std::size_t i = 1; i < many.size(); ++i) {
        wheel.add(many[i], Tick{420});
        EXPECT_FALSE(i < 100'000 && bucket.usesLanes()) << i;
    }
    EXPECT_TRUE(bucket.usesLanes());
}

TEST_F(TimingWheelLanes, OfALevelAreNotUsedAfterABucketOfItThatHeldFew) {
    for (std::size_t i = 0; i < 45'000; ++i) add(i, 8'000);  // keep the wheel crowded
    add(45'000, 405);
    EXPECT_EQ(idsDueAt(Tick{405}).size(), 1U);
    EXPECT_EQ(idsDueAt(Tick{410}).size(), 0U);
    add(45'001, 450);
    EXPECT_EQ(idsDueAt(Tick{450}).size(), 1U);  // of level 1
    add(45'002, 475);
    EXPECT_EQ(idsDueAt(Tick{475}).size(), 1U);
    EXPECT_FALSE(add(45'003, 500).usesLanes());
    EXPECT_TRUE(add(45'004, 20'000).usesLanes()) << "of a level whose last bucket is not known";
}

TEST_F(TimingWheelLanes, OfTheFinestLevelAreUsedAfterABucketOfItWasCrowded) {
    for (std::size_t i = 0; i < 45'000; ++i) add(i, 8'000);
    for (std::size_t i = 45'000; i < 45'100; ++i) EXPECT_FALSE(add(i, 5).usesLanes());
    EXPECT_EQ(idsDueAt(Tick{5}).size(), 100U);
    for (std::size_t i = 45'000; i < 45'100; ++i) add(i, 7);  // asked for again at the next flush
    EXPECT_EQ(idsDueAt(Tick{7}).size(), 100U);
    EXPECT_TRUE(add(45'000, 9).usesLanes());
    wheel_.checkInvariants();
    // And no more after one that was not.
    EXPECT_EQ(idsDueAt(Tick{9}).size(), 1U);
    add(45'001, 10);
    EXPECT_EQ(idsDueAt(Tick{10}).size(), 1U);
    EXPECT_FALSE(add(45'002, 11).usesLanes());
}

TEST_F(TimingWheelLanes, OfTheFinestLevelAreUsedByACrowdThatCascadesAtOnce) {
    for (std::size_t i = 0; i < 45'000; ++i) add(i, 21 + static_cast<std::int64_t>(i % 19));
    EXPECT_EQ(idsDueAt(Tick{20}).size(), 0U);
    for (std::size_t slot = 1; slot < 20; ++slot) {
        TimerTaskList const& bucket = wheel_.levels()[0].buckets()[slot];
        EXPECT_EQ(bucket.size(), (45'000 - slot) / 19 + 1);
        EXPECT_LE(bucket.list(0).size(), 64U) << "those that show how many come";
        for (unsigned lane = 1; lane < bucket.lists(); ++lane)
            EXPECT_LE(bucket.list(lane).size(), bucket.size() / 3) << lane;
    }
    wheel_.checkInvariants();
    EXPECT_EQ(sorted(idsDueAt(Tick{39})), idsUpTo(45'000));
}

TEST_F(TimingWheelLanes, OfTheFinestLevelAreNotUsedByACrowdOfWhichFewGoThere) {
    for (std::size_t i = 0; i < 45'000; ++i) add(i, 8'000);  // keep the wheel crowded
    for (std::size_t i = 45'000; i < 48'000; ++i) add(i, 400 + static_cast<std::int64_t>(i % 400));
    wheel_.advanceTo(Tick{400}, [](Lease&) {});
    EXPECT_FALSE(wheel_.levels()[0].usesLanes());
}

TEST_F(TimingWheelLanes, OfALevelAreUsedByACrowdThatCascadesAtOnceBehindABucketThatHeldFew) {
    add(45'000, 30);
    EXPECT_EQ(idsDueAt(Tick{30}).size(), 1U);  // of level 1
    for (std::size_t i = 0; i < 45'000; ++i) add(i, 420 + static_cast<std::int64_t>(i % 360));
    add(45'001, 50);  // asks how many the last bucket held
    EXPECT_EQ(idsDueAt(Tick{400}).size(), 1U);
    EXPECT_TRUE(wheel_.levels()[1].buckets()[5].usesLanes());
    wheel_.checkInvariants();
    EXPECT_EQ(sorted(idsDueAt(Tick{800})), idsUpTo(45'000));
}

TimerTaskEntry const& entryAt(std::uintptr_t address) {
    return *reinterpret_cast<TimerTaskEntry const*>(address);
}

/// The lane at whose end an entry is.
unsigned laneOf(TimerTaskList const& bucket, Lease const& lease) {
    for (unsigned lane = 1; lane < bucket.lists(); ++lane)
        if (!TimerTaskList::isEmpty(bucket.list(lane)) && &bucket.list(lane).back() == &lease)
            return lane;
    return 0;
}

TEST_F(TimingWheelLanes, AreFilledInTurnWithSomeTwoThousandInARow) {
    TimingWheel<Lease> wheel{{.wheelSize = 20, .lanesFrom = 0}};
    std::vector<std::size_t> inARow;
    unsigned last = 0;
    auto const note = [&](TimerTaskList const& bucket, Lease const& lease) {
        unsigned const lane = laneOf(bucket, lease);
        if (lane != last) {
            EXPECT_EQ(lane, last % 8 + 1);
            inARow.push_back(0);
        }
        ++inARow.back();
        last = lane;
    };
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        Tick const deadline{100 + static_cast<std::int64_t>(i % 3) * 300};  // in two levels
        note(wheel.add(leases_[i], deadline).bucket(), leases_[i]);
    }
    for (Lease& lease : leases_) note(wheel.reschedule(lease, Tick{300}).bucket(), lease);
    EXPECT_GT(inARow.size(), 40U);
    for (std::size_t i = 0; i + 1 < inARow.size(); ++i)
        EXPECT_NEAR(static_cast<double>(inARow[i]), 2'048, 1'500) << i;
    for (Lease& lease : leases_) wheel.cancel(lease);
}

TEST_F(TimingWheelLanes, ACascadeLeavesEntriesInTheirLane) {
    TimingWheel<Lease> wheel{{.wheelSize = 20, .lanesFrom = 0}};
    std::vector<unsigned> lanes;
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        Tick const deadline{8'400 + static_cast<std::int64_t>(i % 19) * 400};
        lanes.push_back(laneOf(wheel.add(leases_[i], deadline).bucket(), leases_[i]));
    }
    EXPECT_EQ(wheel.advanceTo(Tick{8'000}, [](Lease&) {}), 0U);
    for (TimerTaskList const& bucket : wheel.levels()[2].buckets())
        for (unsigned lane = 0; lane < bucket.lists(); ++lane)
            for (TimerTaskEntry const& entry : bucket.list(lane))
                EXPECT_EQ(lanes[static_cast<std::size_t>(static_cast<Lease const&>(entry).id)],
                          lane);
    EXPECT_EQ(wheel.size(), leases_.size());
    for (Lease& lease : leases_) wheel.cancel(lease);
}

TEST_F(TimingWheelLanes, OneInAHundredIsASampleWhateverTheDistanceOfTheEntries) {
    for (std::size_t distance :
         {24U, 32U, 40U, 48U, 56U, 64U, 80U, 96U, 128U, 256U, 1'024U, 4'096U}) {
        std::size_t samples = 0;
        std::size_t bits = 0;
        for (std::size_t i = 0; i < 102'400; ++i) {
            TimerTaskEntry const& entry = entryAt(0x7f12'3456'7010 + i * distance);
            if (RawTimingWheel::isSample(entry)) ++samples;
            if (RawTimingWheel::isSample(entry, RawTimingWheel::kBitOneIn)) ++bits;
        }
        EXPECT_NEAR(static_cast<double>(samples), 800, 100) << distance;
        EXPECT_NEAR(static_cast<double>(bits), 100, 30) << distance;
    }
}

TEST_F(TimingWheelLanes, AllocateNothing) {
    wheel_.raw().reserve(Tick{200'000});
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
    for (std::size_t i = 0; i < leases_.size(); ++i) add(i, 420);
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        ASSERT_NE(wheel_.raw().takeAny(), nullptr);
        if (i % 10'000 == 0) wheel_.checkInvariants();
    }
    EXPECT_EQ(wheel_.raw().takeAny(), nullptr);
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(TimingWheelLanes, AFlushThatThrewGoesOnWhereItWas) {
    for (std::size_t i = 0; i < leases_.size(); ++i) add(i, 420);
    std::vector<int> ids;
    for (;;) {
        try {
            wheel_.advanceTo(Tick{420}, [&](Lease& lease) {
                ids.push_back(lease.id);
                if (ids.size() % 7'000 == 0) throw 1;
            });
            break;
        } catch (int) {
            wheel_.checkInvariants();
        }
    }
    EXPECT_EQ(sorted(ids), idsUpTo(static_cast<int>(leases_.size())));
}

TEST_F(TimingWheelLanes, ACallbackMayCancelAndMoveWhatIsToComeNext) {
    std::mt19937_64 random{6};
    for (int round = 0; round < 4; ++round) {
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
            if (random() % 20'000 == 0) wheel_.checkInvariants();
        });
        EXPECT_EQ(times, expected);
        wheel_.checkInvariants();
    }
}

}  // namespace
}  // namespace timingwheel
