#include "core/driver/book/PendingWalk.h"
#include "unit/driver/LoneBook.h"

#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

// Shows G32.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using detail::Chunk;
using detail::FoundTimeout;
using detail::FoundTimeouts;
using detail::HookEntry;
using detail::PendingWalk;
using detail::TimeoutEntry;
using detail::TimeoutState;
using detail::TimeoutWord;

detail::TickScale const kScale{Clock::TimePoint{}, 1ms};

/// How often each entry was found, and what the holds did.
struct Findings {
    std::multiset<void const*> entries;
    std::size_t holds = 0;
    std::size_t most = 0;  ///< in one hold
    bool hasMissed = false;

    std::size_t of(TimeoutEntry const& entry) const { return entries.count(&entry); }
};

/// Walks through a book, and calls `between` after each hold.
Findings walk(
    LoneBook& lone, std::function<void()> const& between = [] {}, std::size_t notes = 10'000) {
    Findings findings;
    std::vector<FoundTimeout> found;
    FoundTimeouts all{found, kScale};
    PendingWalk pending{all, kScale, notes};
    lone.book.beginWalk(pending);
    for (bool more = true; more;) {
        pending.prepare();
        std::size_t const before = all.size();
        more = !lone.book.walkOn(pending);
        findings.most = std::max(findings.most, all.size() - before);
        ++findings.holds;
        if (more) between();
    }
    pending.prepare();
    lone.book.endWalk();
    pending.begin();
    pending.prepare();
    findings.hasMissed = pending.hasMissed();
    for (FoundTimeout const& each : found) findings.entries.insert(each.entry);
    return findings;
}

TEST(PendingWalk, FindsEachEntryOnceWhereverItIs) {
    LoneBook lone;
    auto entries = lone.acceptedAt({5, 25, 400, 100'000, Tick::kMax});
    lone.book.reserve(Tick{1'000'000});
    entries.push_back(&lone.accepted(1'000'000));
    entries.push_back(&lone.accepted(0));  // due on arrival
    lone.book.admitArrivals();
    entries.push_back(&lone.accepted(0));
    TimeoutEntry& queued = lone.accepted(3);
    lone.book.catchUp(Tick{3});
    auto const due = lone.turn(3);
    ASSERT_FALSE(due.empty());
    for (TimeoutEntry* const entry : due) {
        ++lone.tasks.pending;
        lone.dispatch(*entry);
    }
    entries.push_back(&queued);

    Findings const findings = walk(lone);
    EXPECT_EQ(findings.entries.size(), entries.size());
    for (TimeoutEntry const* const entry : entries) EXPECT_EQ(findings.of(*entry), 1U);
    EXPECT_EQ(findings.holds, 1U);
    lone.book.checkInvariants(Tick{0});
}

// Bug pattern: a bound that ends only between two buckets.
TEST(PendingWalk, LooksAtNoMoreThan256EntriesInAHoldOfACrowdedBucket) {
    LoneBook lone;
    constexpr std::size_t kCount = 10'000;
    std::vector<TimeoutEntry*> entries;
    for (std::size_t i = 0; i < kCount; ++i) entries.push_back(&lone.accepted(7));
    Findings const findings = walk(lone);
    EXPECT_EQ(findings.most, PendingWalk::kPerHold);
    EXPECT_GE(findings.holds, kCount / PendingWalk::kPerHold);
    EXPECT_EQ(findings.entries.size(), kCount);
    EXPECT_EQ(std::set<void const*>(findings.entries.begin(), findings.entries.end()).size(),
              kCount);
}

// Bug pattern: a cursor to an entry that is unlinked between two holds.
TEST(PendingWalk, FindsWhatStaysInListsThatOthersEmptyFromBothEnds) {
    for (bool const isQueued : {false, true}) {
        LoneBook lone;
        std::vector<TimeoutEntry*> entries;
        for (int i = 0; i < 2'000; ++i) entries.push_back(&lone.accepted(isQueued ? 1 : 0));
        if (isQueued) {
            lone.book.catchUp(Tick{1});
            for (std::size_t taken = 0; taken < entries.size();) {
                auto const due = lone.turn(1);
                ASSERT_FALSE(due.empty());
                for (TimeoutEntry* const entry : due) {
                    ++lone.tasks.pending;
                    lone.dispatch(*entry);
                }
                taken += due.size();
            }
        }
        std::size_t front = 0;
        std::size_t back = entries.size();
        // Always the next one that the walk would come to, too.
        Findings const findings = walk(lone, [&] {
            for (int i = 0; i < 300 && front + 600 < back; ++i) {
                lone.cancel(*entries[front++]);
                lone.cancel(*entries[--back]);
            }
        });
        for (std::size_t i = front; i < back; ++i) EXPECT_EQ(findings.of(*entries[i]), 1U);
    }
}

// Bug pattern: what the driver moves from a place that is still to come to one that was visited.
TEST(PendingWalk, FindsWhatTheDriverMovesAnywhere) {
    LoneBook lone;
    lone.book.reserve(Tick{200'000});
    lone.book.expectPushBacks();
    std::vector<TimeoutEntry*> entries;
    for (int i = 0; i < 3'000; ++i) {
        TimeoutEntry& entry = lone.accepted(1 + i % 390);
        // A push-back leaves it where it is. When its bucket expires, it moves to a coarser level.
        TimeoutWord{Tick{100'000 + i}, TimeoutState::pending}.storeIn(entry);
        entries.push_back(&entry);
    }
    std::int64_t now = 0;
    Findings const findings = walk(lone, [&] {
        for (int i = 0; i < 50; ++i) EXPECT_TRUE(lone.turn(now = std::min(now + 1, 390L)).empty());
    });
    EXPECT_FALSE(findings.hasMissed);
    for (TimeoutEntry const* const entry : entries) EXPECT_GE(findings.of(*entry), 1U);
}

TEST(PendingWalk, SaysThatItHasMissedSomethingWithoutRoomForNotes) {
    LoneBook lone;
    for (int i = 0; i < 2'000; ++i) lone.accepted(25);
    auto const cascade = [&] { EXPECT_TRUE(lone.turn(20).empty()); };
    EXPECT_TRUE(walk(lone, cascade, 10).hasMissed);
}

// Bug pattern: all buckets become one list, in which what was seen stands before what was not.
TEST(PendingWalk, SaysThatItHasMissedSomethingIfTheClockIsSetBack) {
    LoneBook lone;
    lone.book.catchUp(Tick{10});
    for (int i = 0; i < 400; ++i) lone.accepted(15);
    for (int i = 0; i < 400; ++i) lone.accepted(16);
    bool isBack = false;
    EXPECT_TRUE(walk(lone, [&] {
                    if (!std::exchange(isBack, true)) lone.book.turnBack(Tick{0}, false);
                }).hasMissed);
}

// Bug pattern: what the driver has taken out to run is looked at while it may run.
TEST(PendingWalk, GivesBackWhatTheDriverHasNotClaimed) {
    LoneBook lone;
    auto const entries = lone.acceptedAt({1, 1, 1, 1});
    TimeoutEntry const& later = lone.accepted(2);
    lone.book.catchUp(Tick{1});
    detail::ShardBook::Turn turn = lone.book.begin(Tick{1});
    Chunk* const chunk = lone.book.nextChunk(turn, 8);
    ASSERT_NE(chunk, nullptr);
    TimeoutEntry* const claimed = chunk->claim().entry;
    ASSERT_EQ(claimed, entries.front());
    chunk->noteMarked();

    std::vector<FoundTimeout> found;
    FoundTimeouts all{found, kScale};
    PendingWalk pending{all, kScale, 10};
    EXPECT_EQ(lone.book.beginWalk(pending), Tick{1}) << "the driver must come for the others";
    EXPECT_EQ(chunk->claim().entry, nullptr);
    EXPECT_EQ(lone.book.endChunk(), 1U);
    pending.prepare();
    EXPECT_TRUE(lone.book.walkOn(pending));
    lone.book.endWalk();
    std::set<void const*> const expected{entries[1], entries[2], entries[3], &later};
    std::set<void const*> seen;
    for (FoundTimeout const& each : found) seen.insert(each.entry);
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(lone.turn(1), (std::vector<TimeoutEntry*>{entries[1], entries[2], entries[3]}));
}

/// Random operations between the holds, and a model: which entries stayed all the time.
class WalkModel {
public:
    explicit WalkModel(std::uint64_t seed) : random_{seed} {
        lone_.book.reserve(Tick{kFarthest});
        lone_.book.expectPushBacks();
        for (int i = 0; i < 3'000; ++i) accept();
    }

    void run() {
        for (int round = 0; round < 5; ++round) {
            stayed_.clear();
            for (auto const& [entry, isLive] : live_)
                if (isLive) stayed_.insert(entry);
            Findings const findings = walk(lone_, [this] {
                for (int i = 0; i < 40; ++i) step();
            });
            ASSERT_FALSE(findings.hasMissed);
            ASSERT_LE(findings.most, PendingWalk::kPerHold);
            for (TimeoutEntry const* const entry : stayed_) ASSERT_GE(findings.of(*entry), 1U);
            lone_.book.checkInvariants(Tick{0});
            std::size_t const counted = static_cast<std::size_t>(
                std::ranges::count_if(live_, [](auto const& each) { return each.second; }));
            ASSERT_EQ(lone_.book.pending(), counted);
        }
    }

private:
    static constexpr std::int64_t kFarthest = 10'000;

    std::int64_t upTo(std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{0, most}(random_);
    }
    TimeoutEntry& any() {
        auto at = live_.begin();
        std::advance(at, upTo(static_cast<std::int64_t>(live_.size()) - 1));
        return *at->first;
    }
    void accept() {
        // Half of them in few buckets, which are then crowded.
        std::int64_t const delay = upTo(1) == 0 ? upTo(3) * 100 : upTo(kFarthest / 2);
        live_[&lone_.accepted(now_ + delay)] = true;
    }
    void end(TimeoutEntry& entry) {
        live_[&entry] = false;
        stayed_.erase(&entry);
    }
    void step() {
        switch (upTo(6)) {
            case 0:
                return accept();
            case 1:
                if (TimeoutEntry& entry = any(); live_[&entry]) {
                    end(entry);
                    lone_.cancel(entry);
                }
                return;
            case 2:
                if (TimeoutEntry& entry = any(); live_[&entry]) {
                    stayed_.erase(&entry);
                    lone_.move(entry, now_ + upTo(kFarthest / 2));
                }
                return;
            case 3:  // a push-back, which no list notices
                if (TimeoutEntry& entry = any(); stateOf(entry) == TimeoutState::pending) {
                    stayed_.erase(&entry);
                    TimeoutWord{std::max(entry.deadline(), Tick{now_ + upTo(kFarthest / 2)}),
                                TimeoutState::pending}
                        .storeIn(entry);
                }
                return;
            case 4:
                return lone_.book.admitArrivals();
            case 5:
                if (TimeoutEntry* const queued =
                        lone_.tasks.queue.size() > 0 ? &lone_.tasks.queue.takeFirst() : nullptr) {
                    --lone_.tasks.pending;
                    end(*queued);
                    TimeoutWord{queued->deadline(), TimeoutState::expired}.storeIn(*queued);
                }
                return;
            default:
                now_ = std::min(now_ + upTo(20), kFarthest / 2);
                for (TimeoutEntry* const due : lone_.turn(now_)) {
                    ++lone_.tasks.pending;
                    lone_.dispatch(*due);
                }
        }
    }

    std::mt19937_64 random_;
    LoneBook lone_;
    std::map<TimeoutEntry*, bool> live_;
    std::set<TimeoutEntry const*> stayed_;
    std::int64_t now_ = 0;
};

TEST(PendingWalk, FindsWhatStaysAmongRandomOperations) {
    std::uint64_t const seed = seedOr(32);
    for (std::uint64_t i = 0; i < 10 && !testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE(testing::Message() << "seed " << seed + i);
        WalkModel{seed + i}.run();
    }
}

}  // namespace
}  // namespace timingwheel::test
