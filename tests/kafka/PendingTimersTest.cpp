#include "components/kafka/daemon/PendingTimers.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using timingwheel::kafka::PendingTimer;
using timingwheel::kafka::PendingTimers;

std::vector<std::string> idsOf(std::vector<PendingTimer::Owner> const& timers) {
    std::vector<std::string> ids;
    for (auto const& timer : timers) ids.emplace_back(timer->id());
    return ids;
}

TEST(PendingTimers, KeepWhatWillBeDelivered) {
    PendingTimers timers{kNow};
    Command command = scheduleCommand("4711", kNow + 5);
    command.key = "customer";
    command.value = std::string_view{"pay\0load", 8};
    command.headers = {{"trace", "abc"}, {"empty", ""}, {"none", std::nullopt}};
    PendingTimer const& timer = *timers.schedule(command).timer;
    EXPECT_EQ(timer.id(), "4711");
    EXPECT_EQ(timer.key(), "customer");
    EXPECT_EQ(timer.value(), (std::string_view{"pay\0load", 8}));
    EXPECT_EQ(timer.headers(), command.headers);
    EXPECT_EQ(timers.topicOf(timer), "orders");
    EXPECT_THAT(timer.rule(), IsEmpty());
    // Id, key, value, and three headers: two lengths, name and value.
    EXPECT_GE(timer.size(), sizeof(PendingTimer) + 4 + 8 + 8 + 3 * 8 + 14 + 3);

    command.id = "with a rule";
    command.rule = {{"timingwheel-every", "5000"}, {"timingwheel-missed", "catch-up"}};
    PendingTimer const& recurring = *timers.schedule(command).timer;
    EXPECT_EQ(recurring.headers(), command.headers);
    EXPECT_EQ(recurring.rule(), command.rule);
    EXPECT_EQ(recurring.value(), command.value);
    EXPECT_GE(recurring.size(), timer.size() + 2 * 8 + 21 + 26);
    command.rule.clear();

    command.id = "without a value";
    command.value.reset();
    PendingTimer const& keyed = *timers.schedule(command).timer;
    EXPECT_EQ(keyed.key(), "customer");
    EXPECT_EQ(keyed.value(), std::nullopt);

    command.id = "without a key";
    std::swap(command.key, command.value);
    PendingTimer const& valued = *timers.schedule(command).timer;
    EXPECT_EQ(valued.key(), std::nullopt);
    EXPECT_EQ(valued.value(), "customer");

    command.id = "bare";
    command.key.reset();
    command.value.reset();
    command.headers.clear();
    PendingTimer const& bare = *timers.schedule(command).timer;
    EXPECT_EQ(bare.key(), std::nullopt);
    EXPECT_EQ(bare.value(), std::nullopt);
    EXPECT_THAT(bare.headers(), IsEmpty());
}

TEST(PendingTimers, HandOverWhatIsDueTheEarliestFirst) {
    PendingTimers timers{kNow};
    for (auto const& [id, delay] : {std::pair{"c", 70'000}, {"a", 1}, {"b", 300}})
        timers.schedule(scheduleCommand(id, kNow + delay));
    EXPECT_EQ(timers.nextExpiration(), kNow + 1);
    EXPECT_THAT(idsOf(timers.takeDue(kNow, 10)), IsEmpty());
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 1, 10)), ElementsAre("a"));
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 69'999, 10)), ElementsAre("b"));
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 70'000, 10)), ElementsAre("c"));
    EXPECT_EQ(timers.nextExpiration(), std::nullopt);
    EXPECT_EQ(timers.size(), 0U);
}

TEST(PendingTimers, HandOverNoMoreThanIsAskedFor) {
    PendingTimers timers{kNow};
    for (int i = 0; i < 100; ++i)
        timers.schedule(scheduleCommand(std::to_string(i), kNow + 1 + i % 3));
    std::size_t taken = 0;
    std::int64_t last = 0;
    while (true) {
        auto const due = timers.takeDue(kNow + 10, 7);
        EXPECT_LE(due.size(), 7U);
        for (auto const& timer : due) {
            EXPECT_GE(timer->at, last);
            last = timer->at;
        }
        taken += due.size();
        if (due.empty()) break;
    }
    EXPECT_EQ(taken, 100U);
}

// Ten thousand timers of a megabyte would be a transaction that no memory holds.
TEST(PendingTimers, HandOverNoMoreBytesThanIsAskedFor) {
    PendingTimers timers{kNow};
    std::string const payload(1'000, 'x');
    for (int i = 0; i < 10; ++i) {
        std::string const id = std::to_string(i);  // the command is a view
        Command command = scheduleCommand(id, kNow + 1);
        command.value = payload;
        timers.schedule(command);
    }
    EXPECT_EQ(timers.takeDue(kNow + 1, 10, 3'000).size(), 3U);
    EXPECT_EQ(timers.takeDue(kNow + 1, 10, 1).size(), 1U);  // or it would wait for ever
    EXPECT_EQ(timers.nextExpiration(), kNow + 1);
    EXPECT_EQ(timers.takeDue(kNow + 1, 10).size(), 6U);
}

TEST(PendingTimers, ReplaceATimerOfTheSameId) {
    PendingTimers timers{kNow};
    EXPECT_EQ(timers.schedule(scheduleCommand("a", kNow + 5)).replaced, nullptr);
    auto const again = timers.schedule(scheduleCommand("a", kNow + 9));
    ASSERT_NE(again.replaced, nullptr);
    EXPECT_EQ(again.replaced->at, kNow + 5);
    EXPECT_EQ(timers.size(), 1U);
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 8, 10)), IsEmpty());
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 9, 10)), ElementsAre("a"));
}

// After an outage: the log has them in the order of their commands.
TEST(PendingTimers, ThatWereDueOnArrivalAreHandedOverTheEarliestFirst) {
    PendingTimers timers{kNow};
    for (auto const& [id, late] : {std::pair{"10 s", 10'000},
                                   {"now", 0},
                                   {"5 s", 5'000},
                                   {"15 min", 900'000},
                                   {"pushed back", 600'000},
                                   {"gone", 700'000}})
        timers.schedule(scheduleCommand(id, kNow - late));
    timers.schedule(scheduleCommand("next", kNow + 1));
    timers.pushBack(*timers.find("pushed back"), kNow - 7'000);
    EXPECT_EQ(timers.remove(*timers.find("gone"))->at, kNow - 700'000);
    EXPECT_EQ(timers.nextExpiration(), kNow - 900'000);
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 1, 1)), ElementsAre("15 min"));
    EXPECT_EQ(timers.nextExpiration(), kNow - 10'000);
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 1, 10)),
                ElementsAre("10 s", "pushed back", "5 s", "now", "next"));
}

TEST(PendingTimers, KeepWhatIsDueWhileTheyOnlyFollowTheClock) {
    PendingTimers timers{kNow};
    for (char const* const id : {"30", "10", "20"})
        timers.schedule(scheduleCommand(id, kNow + std::stoi(id)));
    timers.advance(kNow + 25);
    EXPECT_EQ(timers.size(), 3U);
    EXPECT_EQ(timers.nextExpiration(), kNow + 10);
    EXPECT_TRUE(timers.takeOut("20"));
    timers.schedule(scheduleCommand("15", kNow + 15));
    timers.advance(kNow);  // set back: it waits
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 30, 10)), ElementsAre("10", "15", "30"));
    EXPECT_EQ(timers.size(), 0U);
}

TEST(PendingTimers, AreNotEarlyByAClockThatWasSetBack) {
    PendingTimers timers{kNow};
    timers.schedule(scheduleCommand("far", kNow + 100'000));
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 50'000, 10)), IsEmpty());
    EXPECT_THAT(idsOf(timers.takeDue(kNow - 3'600'000, 10)), IsEmpty());
    timers.schedule(scheduleCommand("near", kNow - 3'500'000));
    EXPECT_EQ(timers.nextExpiration() <= kNow - 3'500'000, true);
    EXPECT_THAT(idsOf(timers.takeDue(kNow - 3'500'001, 10)), IsEmpty());
    EXPECT_THAT(idsOf(timers.takeDue(kNow - 3'500'000, 10)), ElementsAre("near"));
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 99'999, 10)), IsEmpty());
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 100'000, 10)), ElementsAre("far"));
}

TEST(PendingTimers, TakeATimerBack) {
    PendingTimers timers{kNow};
    Command command = scheduleCommand("a", kNow + 5);
    command.rule = {{"timingwheel-every", "5000"}};
    timers.schedule(command);
    std::size_t const bytes = timers.bytes();
    auto due = timers.takeDue(kNow + 5, 10);
    ASSERT_EQ(due.size(), 1U);
    PendingTimer const& back = timers.putBack(std::move(due.front()), kNow + 5'005);
    EXPECT_EQ(&back, timers.find("a"));
    EXPECT_EQ(back.at, kNow + 5'005);
    EXPECT_EQ(back.rule(), command.rule);
    EXPECT_EQ(timers.bytes(), bytes);
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 5'004, 10)), IsEmpty());
    due = timers.takeDue(kNow + 5'005, 10);
    ASSERT_THAT(idsOf(due), ElementsAre("a"));
    timers.putBack(std::move(due.front()), kNow + 6);  // it is due at once
    EXPECT_EQ(timers.nextExpiration(), kNow + 6);
    EXPECT_EQ(timers.schedule(scheduleCommand("a", kNow + 9)).replaced->at, kNow + 6);
}

TEST(PendingTimers, GiveBackTheirMemory) {
    PendingTimers timers{kNow};
    std::size_t const empty = timers.bytes();
    for (int i = 0; i < 50; ++i) timers.schedule(scheduleCommand(std::to_string(i), kNow + i));
    EXPECT_GT(timers.bytes(), empty + 50 * sizeof(PendingTimer));
    timers.takeDue(kNow + 100, 100);
    EXPECT_EQ(timers.bytes(), empty);
}

// It adds a word to each, and goes to the next multiple of 16.
TEST(PendingTimers, CountWhatTheAllocatorAdds) {
    PendingTimers timers{kNow};
    for (std::size_t length = 0; length < 16; ++length) {
        std::string const value(length, 'x');
        Command command = scheduleCommand("a", kNow);
        command.value = value;
        std::size_t const asked = sizeof(PendingTimer) + command.id.size() + length;
        std::size_t const size = timers.schedule(command).timer->size();
        EXPECT_EQ(size % 16, 0U);
        EXPECT_GE(size, asked + sizeof(void*));
        EXPECT_LT(size, asked + sizeof(void*) + 16);
    }
}

// Or a million ids would share 64 buckets, and each search would go through thousands.
TEST(PendingTimers, HaveABucketOfTheirTableEach) {
    constexpr std::size_t kMany = 10'000;
    PendingTimers timers{kNow};
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kMany; ++i) {
        std::int64_t const at = i % 2 == 0 ? kNow + 5 : kNow - 5;  // of the wheel, or overdue
        bytes += timers.schedule(scheduleCommand(std::to_string(i), at)).timer->size();
    }
    EXPECT_GE(timers.bytes(), bytes + kMany * sizeof(void*));
}

// They are counted by the minute: kNow is 40 s into one.
TEST(PendingTimers, AreCountedByWhenTheyAreDue) {
    constexpr std::int64_t kMinute = 60'000;
    constexpr std::int64_t kBegin = kNow - 40'000;  // of the minute
    PendingTimers timers{kNow};
    auto const dueBy = [&timers](std::int64_t time) { return timers.minutes().dueBy(time); };
    timers.schedule(scheduleCommand("overdue", kNow - 3 * kMinute));
    timers.schedule(scheduleCommand("soon", kNow + 10'000));
    timers.schedule(scheduleCommand("later", kBegin + 5 * kMinute));
    EXPECT_EQ(dueBy(kBegin), 1U);
    EXPECT_EQ(dueBy(kBegin + kMinute), 2U);
    EXPECT_EQ(dueBy(kBegin + 6 * kMinute), 3U);
    EXPECT_EQ(timers.minutes().farthest(), kBegin + 6 * kMinute);

    timers.pushBack(*timers.find("soon"), kNow + 10 * kMinute);
    EXPECT_EQ(dueBy(kBegin + kMinute), 1U);
    EXPECT_EQ(timers.minutes().farthest(), kBegin + 11 * kMinute);
    timers.schedule(scheduleCommand("soon", kNow));  // replaces it
    EXPECT_EQ(dueBy(kBegin + kMinute), 2U);
    EXPECT_EQ(timers.minutes().farthest(), kBegin + 6 * kMinute);

    EXPECT_THAT(idsOf(timers.takeDue(kNow, 10)), ElementsAre("overdue", "soon"));
    EXPECT_EQ(dueBy(kBegin + kMinute), 0U);
    EXPECT_THAT(idsOf(timers.takeDue(kNow - 100 * kMinute, 10)), IsEmpty());  // was set back
    EXPECT_EQ(dueBy(kBegin + 5 * kMinute), 0U);
    EXPECT_EQ(dueBy(kBegin + 6 * kMinute), 1U);
    EXPECT_EQ(timers.remove(*timers.find("later"))->id(), "later");
    EXPECT_EQ(dueBy(kNow + 100 * kMinute), 0U);
    EXPECT_EQ(timers.minutes().farthest(), std::nullopt);
}

TEST(PendingTimers, StayInTheirSlotsWhileTheClockStands) {
    PendingTimers timers{kNow};
    timers.schedule(scheduleCommand("a", kNow + 300));
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 100, 10)), IsEmpty());
    auto const next = timers.nextExpiration();
    EXPECT_LT(next, kNow + 300) << "it is on a coarse level";
    EXPECT_THAT(idsOf(timers.takeDue(kNow + 100, 10)), IsEmpty());
    EXPECT_EQ(timers.nextExpiration(), next);
}

/// Any course of commands, and a clock that goes anywhere, beside a map.
TEST(PendingTimers, DoWhatAMapDoes) {
    std::uint64_t const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random{seed};
    auto const below = [&random](std::int64_t bound) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    PendingTimers timers{kNow};
    std::map<std::string, std::int64_t> expected;
    std::int64_t now = kNow;
    std::map<std::string, std::int64_t> far;  // by id, the offset
    auto const bringNear = [&](std::string const& id) {
        auto const found = far.find(id);
        if (found == far.end()) return;
        ASSERT_FALSE(timers.bringNear(scheduleCommand(id, expected[id]), found->second - 1));
        ASSERT_TRUE(timers.bringNear(scheduleCommand(id, expected[id]), found->second));
        far.erase(found);
    };
    for (int step = 0; step < 20'000; ++step) {
        std::string const id = std::to_string(below(200));
        std::int64_t const at = now + below(8) * below(100'000) - 1'000;
        ASSERT_EQ(timers.contains(id), expected.contains(id));
        if (below(2) == 0) bringNear(id);
        PendingTimer* const timer = timers.find(id);
        ASSERT_EQ(timer == nullptr, !expected.contains(id) || far.contains(id));
        ASSERT_EQ(timers.far().find(id).has_value(), far.contains(id));
        switch (below(7)) {
            case 0:
            case 1:
                ASSERT_EQ(timers.schedule(scheduleCommand(id, at)).hasReplaced,
                          expected.contains(id));
                far.erase(id);
                expected[id] = at;
                break;
            case 4:
                if (timer == nullptr) break;
                timers.putAway(*timer, step);
                far[id] = step;
                break;
            case 5:
                ASSERT_EQ(timers.takeOut(id) != nullptr, expected.contains(id));
                far.erase(id);
                expected.erase(id);
                break;
            case 2:
                if (timer == nullptr) break;
                timers.pushBack(*timer, at);
                expected[id] = at;
                break;
            case 3:
                if (timer == nullptr) break;
                EXPECT_EQ(timers.remove(*timer)->at, expected[id]);
                expected.erase(id);
                break;
            default:
                now += below(3) * below(20'000) + 2 - (below(20) == 0 ? 500'000 : 0);
                for (auto& due : timers.takeDue(now, 1 + random() % 30)) {
                    std::string const dueId{due->id()};
                    ASSERT_EQ(expected.at(dueId), due->at);
                    ASSERT_LE(due->at, now);
                    expected.erase(dueId);
                    if (below(4) != 0) continue;
                    std::int64_t const again = due->at + 1 + below(50'000);
                    timers.putBack(std::move(due), again);
                    expected[dueId] = again;
                }
        }
        ASSERT_EQ(timers.size(), expected.size());
        std::int64_t const edge = (now / 60'000 + below(3)) * 60'000;  // of a minute
        auto const isBefore = [edge](auto const& one) { return one.second < edge; };
        ASSERT_EQ(static_cast<std::ptrdiff_t>(timers.minutes().dueBy(edge)),
                  std::count_if(expected.begin(), expected.end(), isBefore));
    }
    for (auto const& [id, at] : expected) bringNear(id);
    auto const isEarlier = [](auto const& one, auto const& other) {
        return one.second < other.second;
    };
    EXPECT_EQ(timers.earliest(),
              std::min_element(expected.begin(), expected.end(), isEarlier)->second);
    now += 1'000'000'000;
    std::size_t const left = expected.size();
    EXPECT_EQ(timers.takeDue(now, 1'000).size(), left);
}

}  // namespace
}  // namespace timingwheel::test::kafka
