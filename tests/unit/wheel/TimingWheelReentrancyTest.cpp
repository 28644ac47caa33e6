#include "Lease.h"

#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace timingwheel {
namespace {

using test::HandedOver;
using test::Lease;

// Every change that a callback can make, to every entry that it can make it to, on every level.

enum class Change { cancel, moveOneTickLater, moveOneTurnLater, moveFarAway, moveToNow, moveBack };
enum class Target { self, earlierSibling, laterSibling, otherBucket, otherLevel };
enum class Steps { oneJump, bucketByBucket };

struct Scenario {
    Change change;
    Target target;
    std::uint32_t level;
    Steps steps;
};

constexpr std::int64_t kSize = 20;
constexpr std::int64_t kGranularity[] = {1, kSize, kSize* kSize, kSize* kSize* kSize};

// Three siblings share the bucket of `level` that expires at their deadline, so that they are
// handed over straight from there; the second that is handed over makes the change.
class Play {
public:
    explicit Play(Scenario scenario) : scenario_{scenario} {}

    void run() {
        addAll();
        advance();
        std::erase_if(expected_, [](auto const& entry) { return entry.second.empty(); });
        EXPECT_EQ(handedOver_, expected_);
        EXPECT_TRUE(wheel_.empty());
        for (Lease const& lease : leases_) EXPECT_FALSE(lease.isQueued());
    }

private:
    static constexpr int kSiblings = 3;
    static constexpr int kOtherBucket = 3;
    static constexpr int kOtherLevel = 4;

    std::int64_t deadlineOfSiblings() const { return 3 * kGranularity[scenario_.level]; }

    void addAll() {
        std::uint32_t const level = scenario_.level;
        for (int i = 0; i < kSiblings; ++i) add(i, deadlineOfSiblings(), level);
        add(kOtherBucket, deadlineOfSiblings() + kGranularity[level], level);
        add(kOtherLevel, 5 * kGranularity[level + 1], level + 1);
    }

    void add(int id, std::int64_t deadline, std::uint32_t level) {
        Lease& lease = leases_[static_cast<std::size_t>(id)];
        lease.id = id;
        ASSERT_EQ(wheel_.add(lease, Tick{deadline}).bucket().level(), level);
        expected_[id] = {deadline};
    }

    void advance() {
        if (scenario_.steps == Steps::oneJump) {
            wheel_.advanceTo(Tick{1'000'000}, [this](Lease& lease) { onDue(lease); });
            wheel_.checkInvariants();
        }
        while (std::optional<Tick> const next = wheel_.nextExpiration()) {
            wheel_.advanceTo(*next, [this](Lease& lease) { onDue(lease); });
            wheel_.checkInvariants();
        }
    }

    void onDue(Lease& lease) {
        EXPECT_FALSE(lease.isQueued());
        handedOver_[lease.id].push_back(wheel_.currentTick().value());
        order_.push_back(lease.id);
        if (order_.size() == 2) change(lease);
    }

    Lease& target(Lease& self) {
        switch (scenario_.target) {
            case Target::self:
                return self;
            case Target::earlierSibling:
                return leases_[static_cast<std::size_t>(order_[0])];
            case Target::laterSibling:
                // The siblings are 0, 1 and 2: what is missing to their sum.
                return leases_[static_cast<std::size_t>(3 - order_[0] - order_[1])];
            case Target::otherBucket:
                return leases_[kOtherBucket];
            case Target::otherLevel:
                break;
        }
        return leases_[kOtherLevel];
    }

    void change(Lease& self) {
        Lease& lease = target(self);
        bool const wasHandedOver =
            scenario_.target == Target::self || scenario_.target == Target::earlierSibling;
        EXPECT_EQ(lease.isQueued(), !wasHandedOver);
        std::size_t const sizeBefore = wheel_.size();

        std::vector<std::int64_t>& expected = expected_[lease.id];
        if (!wasHandedOver) expected.clear();
        if (scenario_.change == Change::cancel) {
            EXPECT_EQ(wheel_.cancel(lease), !wasHandedOver);
        } else {
            std::int64_t const deadline = newDeadline();
            bool const isDue = deadline <= wheel_.currentTick().value();
            EXPECT_EQ(wheel_.reschedule(lease, Tick{deadline}).isDue(), isDue);
            if (!isDue) expected.push_back(deadline);
        }
        EXPECT_EQ(lease.isQueued(), wheel_.size() + (wasHandedOver ? 0 : 1) > sizeBefore);
    }

    std::int64_t newDeadline() const {
        std::int64_t const now = wheel_.currentTick().value();
        std::int64_t const granularity = kGranularity[scenario_.level];
        switch (scenario_.change) {
            case Change::moveOneTickLater:
                return now + 1;
            case Change::moveOneTurnLater:
                return now + granularity * kSize;
            case Change::moveFarAway:
                return now + 777'777;
            case Change::moveToNow:
                return now;
            case Change::moveBack:
            case Change::cancel:
                break;
        }
        return now - 1;
    }

    Scenario scenario_;
    std::array<Lease, 5> leases_;
    TimingWheel<Lease> wheel_{{.wheelSize = kSize}};
    std::vector<int> order_;
    std::map<int, std::vector<std::int64_t>> handedOver_;
    std::map<int, std::vector<std::int64_t>> expected_;
};

class TimingWheelReentrancyTable : public testing::TestWithParam<Change> {};

TEST_P(TimingWheelReentrancyTable, ChangesOneEntryAndNoOther) {
    for (Target target : {Target::self, Target::earlierSibling, Target::laterSibling,
                          Target::otherBucket, Target::otherLevel}) {
        for (std::uint32_t level : {0U, 1U, 2U}) {
            for (Steps steps : {Steps::oneJump, Steps::bucketByBucket}) {
                SCOPED_TRACE(testing::Message()
                             << "target " << static_cast<int>(target) << ", level " << level
                             << (steps == Steps::oneJump ? ", one jump" : ", bucket by bucket"));
                Play{{GetParam(), target, level, steps}}.run();
            }
        }
    }
}

std::string nameOf(testing::TestParamInfo<Change> const& test) {
    switch (test.param) {
        case Change::cancel:
            return "Cancel";
        case Change::moveOneTickLater:
            return "MoveOneTickLater";
        case Change::moveOneTurnLater:
            return "MoveOneTurnLater";
        case Change::moveFarAway:
            return "MoveFarAway";
        case Change::moveToNow:
            return "MoveToNow";
        case Change::moveBack:
            break;
    }
    return "MoveBack";
}

INSTANTIATE_TEST_SUITE_P(ACallback, TimingWheelReentrancyTable,
                         testing::Values(Change::cancel, Change::moveOneTickLater,
                                         Change::moveOneTurnLater, Change::moveFarAway,
                                         Change::moveToNow, Change::moveBack),
                         nameOf);

// What else a callback may do.

// An entry that was placed again into the bucket being drained once ran in the same drain for ever.
TEST(TimingWheelReentrancy, AnEntryThatAddsItselfAtTheClockIsDueAndNotHandedOverAgain) {
    for (std::int64_t deadline : {5, 20, 25, 400}) {
        Lease lease;
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        wheel.add(lease, Tick{deadline});
        int times = 0;
        std::size_t const handedOver = wheel.advanceTo(Tick{1'000}, [&](Lease& due) {
            ++times;
            EXPECT_TRUE(wheel.add(due, wheel.currentTick()).isDue());
        });
        EXPECT_EQ(times, 1);
        EXPECT_EQ(handedOver, 1U);
        EXPECT_FALSE(lease.isQueued());
    }
}

TEST(TimingWheelReentrancy, AnEntryThatAddsItselfOneTickLaterIsHandedOverOnEveryTick) {
    Lease lease;
    TimingWheel<Lease> wheel{{.wheelSize = 3}};
    wheel.add(lease, Tick{1});
    std::vector<std::int64_t> ticks;
    std::vector<std::int64_t> expected;
    for (std::int64_t tick = 1; tick <= 100; ++tick) expected.push_back(tick);
    EXPECT_EQ(wheel.advanceTo(Tick{100},
                              [&](Lease& due) {
                                  ticks.push_back(wheel.currentTick().value());
                                  wheel.add(due, wheel.currentTick() + 1);
                              }),
              100U);
    EXPECT_EQ(ticks, expected);
    EXPECT_TRUE(lease.isQueued());
}

// One turn later is the same slot: it is for the next turn, not for this drain.
TEST(TimingWheelReentrancy, AnEntryThatAddsItselfOneTurnLaterWaitsForTheWholeTurn) {
    for (std::int64_t turn : {20, 400, 8'000}) {
        Lease lease;
        TimingWheel<Lease> wheel{{.wheelSize = 20}};
        wheel.add(lease, Tick{7});
        std::vector<std::int64_t> ticks;
        auto const again = [&](Lease& due) {
            ticks.push_back(wheel.currentTick().value());
            wheel.add(due, wheel.currentTick() + turn);
            wheel.checkInvariants();
        };
        EXPECT_EQ(wheel.advanceTo(Tick{7 + turn - 1}, again), 1U);
        EXPECT_EQ(wheel.advanceTo(Tick{7 + turn}, again), 1U);
        EXPECT_EQ(wheel.advanceTo(Tick{7 + 3 * turn}, again), 2U);
        EXPECT_EQ(ticks, (std::vector<std::int64_t>{7, 7 + turn, 7 + 2 * turn, 7 + 3 * turn}));
    }
}

TEST(TimingWheelReentrancy, WhatACallbackAddsBeforeNowIsHandedOverInTheSameCallByDeadline) {
    std::array<Lease, 4> leases{Lease{0}, Lease{1}, Lease{2}, Lease{3}};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{5});
    wheel.add(leases[3], Tick{500});
    std::vector<HandedOver> handedOver;
    wheel.advanceTo(Tick{600}, [&](Lease& lease) {
        handedOver.push_back({lease.id, wheel.currentTick().value()});
        if (lease.id == 0) wheel.add(leases[2], Tick{499});
        if (lease.id == 0) wheel.add(leases[1], Tick{6});
    });
    EXPECT_EQ(handedOver, (std::vector<HandedOver>{{0, 5}, {1, 6}, {2, 499}, {3, 500}}));
}

TEST(TimingWheelReentrancy, ACallbackMayBuildLevels) {
    std::array<Lease, 3> leases{Lease{0}, Lease{1}, Lease{2}};
    TimingWheel<Lease> wheel{{.wheelSize = 2}};
    wheel.add(leases[0], Tick{1});
    wheel.add(leases[1], Tick{1});
    std::vector<HandedOver> handedOver;
    auto const due = [&](Lease& lease) {
        handedOver.push_back({lease.id, wheel.currentTick().value()});
        if (lease.id == 0) wheel.add(leases[2], Tick{Tick::kMax - 1});
    };
    wheel.advanceTo(Tick{1'000}, due);
    EXPECT_EQ(wheel.levels().size(), 59U);
    wheel.checkInvariants();
    wheel.advanceTo(Tick{Tick::kMax - 1}, due);
    EXPECT_EQ(handedOver, (std::vector<HandedOver>{{0, 1}, {1, 1}, {2, Tick::kMax - 1}}));
}

TEST(TimingWheelReentrancy, ACallbackMayCancelEverything) {
    std::vector<Lease> leases(50);
    TimingWheel<Lease> wheel{{.wheelSize = 4}};
    for (std::size_t i = 0; i < leases.size(); ++i)
        wheel.add(leases[i], Tick{8 + static_cast<std::int64_t>(i / 10) * 8});
    EXPECT_EQ(wheel.advanceTo(Tick{1'000},
                              [&](Lease&) {
                                  for (Lease& lease : leases) wheel.cancel(lease);
                              }),
              1U);
    EXPECT_TRUE(wheel.empty());
    wheel.checkInvariants();
}

// Buckets of two levels that expire at one tick are taken out one after the other: in between the
// second stands where the clock stands.
TEST(TimingWheelReentrancy, ACallbackMayAskAndAddBetweenTwoBucketsOfOneExpiration) {
    std::array<Lease, 3> leases{Lease{0}, Lease{1}, Lease{2}};
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{20});  // 1:1@20
    wheel.advanceTo(Tick{5}, [](Lease&) {});
    wheel.add(leases[1], Tick{20});  // 0:0@20
    std::vector<int> order;
    wheel.advanceTo(Tick{100}, [&](Lease& lease) {
        order.push_back(lease.id);
        if (order.size() > 1) return;
        EXPECT_EQ(wheel.nextExpiration(), Tick{20});
        EXPECT_EQ(wheel.size(), 1U);
        wheel.add(leases[2], Tick{39});
    });
    EXPECT_EQ(order, (std::vector{1, 0, 2}));
}

TEST(TimingWheelReentrancy, InvariantsHoldBetweenTwoBucketsOfOneExpiration) {
    std::array<Lease, 2> leases;
    TimingWheel<Lease> wheel{{.wheelSize = 20}};
    wheel.add(leases[0], Tick{20});
    wheel.advanceTo(Tick{5}, [](Lease&) {});
    wheel.add(leases[1], Tick{20});
    wheel.advanceTo(Tick{20}, [&](Lease&) { EXPECT_NO_THROW(wheel.checkInvariants()); });
}

}  // namespace
}  // namespace timingwheel
