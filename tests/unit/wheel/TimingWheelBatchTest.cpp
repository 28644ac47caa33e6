// Batches do what the calls one by one do.

#include "Lease.h"

#include <support/AllocationCounter.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel {
namespace {

using test::advanceTo;
using test::HandedOver;
using test::Lease;
using test::runAll;

using All = std::vector<HandedOver>;
using Leases = std::vector<Lease*>;
using Ticks = std::vector<Tick>;

void none(Lease&) { FAIL() << "nothing is due"; }

class TimingWheelBatch : public testing::Test {
protected:
    static constexpr int kLeases = 100;  // more than are fetched at a time

    TimingWheelBatch() {
        for (int i = 0; i < kLeases; ++i) {
            leases_[static_cast<std::size_t>(i)].id = i;
            all_.push_back(&leases_[static_cast<std::size_t>(i)]);
            deadlines_.push_back(Tick{1 + i * i});
        }
    }

    std::vector<Lease> leases_ = std::vector<Lease>(kLeases);
    Leases all_;
    Ticks deadlines_;
    TimingWheel<Lease> wheel_{{.wheelSize = 20}};
};

TEST_F(TimingWheelBatch, AddsEachEntryAtItsDeadline) {
    EXPECT_EQ(wheel_.add(all_, deadlines_, none), 0U);
    wheel_.checkInvariants();
    All expected;
    for (int i = 0; i < kLeases; ++i) expected.push_back({i, 1 + i * i});
    EXPECT_EQ(runAll(wheel_), expected);
}

TEST_F(TimingWheelBatch, HandsOverWhatIsDueAlreadyInOrder) {
    advanceTo(wheel_, Tick{10});
    std::vector<int> due;
    auto const note = [&](Lease& lease) { due.push_back(lease.id); };
    EXPECT_EQ(wheel_.add(Leases{&leases_[4], &leases_[2], &leases_[3]},
                         Ticks{Tick{10}, Tick{11}, Tick{-5}}, note),
              2U);
    EXPECT_EQ(due, (std::vector{4, 3}));
    EXPECT_EQ(wheel_.reschedule(Leases{&leases_[2]}, Ticks{Tick{10}}, note), 1U);
    EXPECT_EQ(due, (std::vector{4, 3, 2}));
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(TimingWheelBatch, ReschedulesWhatIsQueuedAndWhatIsNot) {
    wheel_.add(leases_[1], Tick{5});
    EXPECT_EQ(wheel_.reschedule(Leases{&leases_[1], &leases_[2]}, Ticks{Tick{7}, Tick{6}}, none),
              0U);
    EXPECT_EQ(runAll(wheel_), (All{{2, 6}, {1, 7}}));
}

// Bug pattern: a batch looks at all its entries first, and the second of two equal ones finds what
// the first has changed since.
TEST_F(TimingWheelBatch, TakesTheSameEntryTwice) {
    Lease& lease = leases_[1];
    Leases const twice{&lease, &lease};
    EXPECT_EQ(wheel_.reschedule(twice, Ticks{Tick{3}, Tick{400}}, none), 0U);
    EXPECT_EQ(lease.deadline(), Tick{400});
    EXPECT_EQ(wheel_.pushBack(twice, Ticks{Tick{500}, Tick{450}}), 1U);
    EXPECT_EQ(lease.deadline(), Tick{500});
    EXPECT_EQ(wheel_.size(), 1U);
    EXPECT_EQ(wheel_.cancel(twice), 1U);
    EXPECT_TRUE(wheel_.empty());
    wheel_.checkInvariants();
}

TEST_F(TimingWheelBatch, TellsHowManyItCancelsAndPushesBack) {
    wheel_.add(leases_[1], Tick{5});
    wheel_.add(leases_[2], Tick{9});
    Leases const three{&leases_[0], &leases_[1], &leases_[2]};
    EXPECT_EQ(wheel_.pushBack(three, Ticks(3, Tick{8})), 1U);
    EXPECT_EQ(leases_[1].deadline(), Tick{8});
    EXPECT_EQ(leases_[2].deadline(), Tick{9});
    EXPECT_EQ(wheel_.cancel(three), 2U);
    EXPECT_EQ(wheel_.cancel({}), 0U);
}

TEST_F(TimingWheelBatch, RefusesSpansOfDifferentLengthBeforeAnythingHasChanged) {
    wheel_.add(leases_[1], Tick{5});
    Leases const two{&leases_[1], &leases_[2]};
    Ticks const three(3, Tick{7});
    auto const refused = [](auto&& call) {
        try {
            call();
        } catch (std::invalid_argument const& error) {
            return std::string{error.what()};
        }
        return std::string{"nothing"};
    };
    std::string const expected = "2 entries and 3 deadlines: each entry must have one deadline";
    EXPECT_EQ(refused([&] { wheel_.add(two, three, none); }), expected);
    EXPECT_EQ(refused([&] { wheel_.reschedule(two, three, none); }), expected);
    EXPECT_EQ(refused([&] { wheel_.pushBack(two, three); }), expected);
    EXPECT_EQ(runAll(wheel_), (All{{1, 5}}));
}

TEST_F(TimingWheelBatch, ChangesNothingIfALevelCannotBeBuilt) {
    wheel_.add(leases_[1], Tick{5});
    Leases const batch{&leases_[1], &leases_[2], &leases_[3]};
    Ticks const deadlines{Tick{6}, Tick{100'000}, Tick{7}};
    bool hasThrown = false;
    {
        test::AllocationFailure const failure{1, test::AllocationFailure::Repeat::once};
        try {
            wheel_.reschedule(batch, deadlines, none);
        } catch (std::bad_alloc const&) {
            hasThrown = true;
        }
    }
    EXPECT_TRUE(hasThrown);
    EXPECT_EQ(runAll(wheel_), (All{{1, 5}}));
}

TEST_F(TimingWheelBatch, GoesOnToNothingAfterDueHasThrown) {
    advanceTo(wheel_, Tick{10});
    auto const fail = [](Lease&) { throw std::runtime_error{"no"}; };
    EXPECT_THROW(wheel_.add(Leases{&leases_[1], &leases_[2], &leases_[3]},
                            Ticks{Tick{11}, Tick{10}, Tick{12}}, fail),
                 std::runtime_error);
    EXPECT_EQ(runAll(wheel_), (All{{1, 11}}));
}

TEST_F(TimingWheelBatch, LetsDueChangeTheWheel) {
    advanceTo(wheel_, Tick{10});
    wheel_.add(leases_[5], Tick{11});
    auto const change = [&](Lease& lease) {
        wheel_.add(lease, Tick{13});
        wheel_.cancel(leases_[5]);
    };
    EXPECT_EQ(wheel_.reschedule(Leases{&leases_[1], &leases_[5]}, Ticks{Tick{9}, Tick{12}}, change),
              1U);
    EXPECT_EQ(runAll(wheel_), (All{{5, 12}, {1, 13}}));
}

}  // namespace
}  // namespace timingwheel
