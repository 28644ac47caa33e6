// From its events alone one can rebuild what a timer holds: which entry is in which bucket, and
// which buckets are armed.

#include <support/TestTimers.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;
using Bucket = std::pair<std::uint32_t, std::uint32_t>;  // level, slot

/// A wheel that knows nothing but the events of one with a single shard and no executor.
class Rebuilt final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        EXPECT_EQ(event.number, count_++);
        Bucket const bucket{event.level, event.slot};
        switch (event.stage) {
            case Stage::schedule:
                EXPECT_TRUE(entries_.emplace(event.entry, std::nullopt).second);
                break;
            case Stage::intake:
                // A periodic one that goes on was let go of by its run.
                entries_[event.entry] = std::nullopt;
                break;
            case Stage::cascade:
                EXPECT_LT(event.level, event.fromLevel);
                ++cascaded_[event.fromLevel];
                [[fallthrough]];
            case Stage::place:
                expectLoose(event);
                entries_[event.entry] = bucket;
                expirations_[bucket] = event.expiration;
                break;
            case Stage::arm:
                EXPECT_EQ(entries_[event.entry], bucket);
                EXPECT_TRUE(armed_.emplace(bucket, event.expiration).second);
                break;
            case Stage::wake:
                wake(bucket, event.expiration);
                break;
            case Stage::expire:
                expectLoose(event);
                break;
            case Stage::dispatch:
                ADD_FAILURE() << "there is no executor";
                break;
            case Stage::run:
                ran_.insert(event.entry);
                entries_.erase(event.entry);
                break;
            case Stage::cancel:
                EXPECT_TRUE(entries_.erase(event.entry) == 1 || event.isPeriodic);
                break;
            case Stage::restart:
                armed_.clear();
                for (auto& [entry, where] : entries_) where = std::nullopt;
                break;
        }
    }

    std::set<void const*> pending() const {
        std::set<void const*> pending;
        for (auto const& [entry, bucket] : entries_) pending.insert(entry);
        return pending;
    }
    /// Takes the entries that ran since the last call.
    std::set<void const*> takeRan() { return std::exchange(ran_, {}); }
    std::optional<Tick> earliest() const {
        std::optional<Tick> earliest;
        for (auto const& [bucket, expiration] : armed_)
            if (!earliest || expiration < *earliest) earliest = expiration;
        return earliest;
    }
    std::uint64_t cascadedFrom(std::uint32_t level) const {
        auto const found = cascaded_.find(level);
        return found == cascaded_.end() ? 0 : found->second;
    }

    /// Between two calls no entry is on its way: each lies in an armed bucket, or is due.
    void check() const {
        for (auto const& [entry, bucket] : entries_) {
            if (!bucket) continue;
            auto const armed = armed_.find(*bucket);
            ASSERT_NE(armed, armed_.end()) << "level " << bucket->first << ", slot "
                                           << bucket->second << " holds an entry, and is not armed";
            EXPECT_EQ(armed->second, expirations_.at(*bucket));
        }
    }

private:
    void expectLoose(TimerEvent const& event) {
        auto const found = entries_.find(event.entry);
        ASSERT_NE(found, entries_.end()) << toString(event.stage);
        EXPECT_EQ(found->second, std::nullopt) << "it is in a bucket that has not expired";
    }

    void wake(Bucket bucket, Tick expiration) {
        auto const armed = armed_.find(bucket);
        ASSERT_NE(armed, armed_.end());
        EXPECT_EQ(armed->second, expiration);
        EXPECT_EQ(expiration, *earliest());
        armed_.erase(armed);
        for (auto& [entry, where] : entries_)
            if (where == bucket) where = std::nullopt;
    }

    std::uint64_t count_ = 0;
    std::map<void const*, std::optional<Bucket>> entries_;
    std::map<Bucket, Tick> expirations_;
    std::map<Bucket, Tick> armed_;
    std::map<std::uint32_t, std::uint64_t> cascaded_;
    std::set<void const*> ran_;
};

/// Shows a time; whoever owns the timer advances it.
class StillClock final : public Clock {
public:
    TimePoint now() const noexcept override { return now_; }
    std::unique_ptr<Waiter> makeWaiter() override { return steady().makeWaiter(); }
    void add(std::chrono::nanoseconds duration) { now_ += duration; }

private:
    TimePoint now_{};
};

class Driven {
public:
    Driven(std::uint64_t seed, std::int64_t wheelSize)
        : random_{seed}, timer_{{.wheelSize = wheelSize, .clock = clock_, .observer = &rebuilt_}} {}

    void step() {
        std::size_t const what = below(100);
        if (what < 35) {
            add(timer_.newTimeout([] {}, delay()));
        } else if (what < 37) {
            add(timer_.scheduleAtFixedRate([] {}, delay(), delay() + 1ms));
        } else if (!timeouts_.empty() && what < 60) {
            Timeout const timeout = any();
            EXPECT_EQ(timeout.cancel(), timeouts_.erase(TimerObserver::entryOf(timeout)) == 1);
        } else if (!timeouts_.empty() && what < 85) {
            EXPECT_TRUE(timer_.reschedule(any(), delay()));  // earlier or later
        } else {
            // Time goes by, and the timer hears of it at once, or after the next calls.
            clock_.add(below(20) == 0 ? delay() : std::chrono::milliseconds{below(9)});
            if (below(3) > 0) advance();
        }
        compare();
    }

    void advance() {
        timer_.advanceTo(clock_.now());
        for (void const* const entry : rebuilt_.takeRan()) {
            auto const found = timeouts_.find(entry);
            if (found != timeouts_.end() && found->second.isExpired()) timeouts_.erase(found);
        }
        std::optional<Tick> const earliest = rebuilt_.earliest();
        EXPECT_TRUE(!earliest || Clock::TimePoint{earliest->value() * 1ms} > clock_.now());
    }

    void stop() {
        static_cast<void>(timer_.stop());
        EXPECT_TRUE(rebuilt_.pending().empty());
    }

private:
    std::size_t below(std::size_t bound) { return random_() % bound; }
    std::chrono::milliseconds delay() {
        std::size_t const longest = std::size_t{1} << below(14);
        return std::chrono::milliseconds{below(longest + 1)};
    }
    void add(Timeout timeout) {
        void const* const entry = TimerObserver::entryOf(timeout);
        EXPECT_TRUE(timeouts_.emplace(entry, std::move(timeout)).second);
    }
    Timeout any() {
        auto at = timeouts_.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(below(timeouts_.size())));
        return at->second;
    }

    void compare() {
        rebuilt_.check();
        std::set<void const*> pending;
        for (auto const& [entry, timeout] : timeouts_) pending.insert(entry);
        ASSERT_EQ(rebuilt_.pending(), pending);
        EXPECT_EQ(timer_.pendingTimeouts(), pending.size());
        std::optional<Tick> const earliest = rebuilt_.earliest();
        if (earliest) {
            auto const next = timer_.nextExpiration();
            ASSERT_TRUE(next);
            EXPECT_LE(*next, Clock::TimePoint{earliest->value() * 1ms});
        }
        auto const cascaded = timer_.statistics().cascaded;
        for (std::uint32_t level = 0; level < cascaded.size(); ++level)
            EXPECT_EQ(rebuilt_.cascadedFrom(level), cascaded[level]);
    }

    std::mt19937_64 random_;
    StillClock clock_;
    Rebuilt rebuilt_;
    ManualTimer timer_;
    std::map<void const*, Timeout> timeouts_;
};

TEST(ObserverModel, IsRebuiltFromTheEventsAlone) {
    std::uint64_t const seed = seedOr(1);
    for (std::int64_t const wheelSize : {2, 3, 20, 64}) {
        SCOPED_TRACE(testing::Message()
                     << "TIMINGWHEEL_SEED=" << seed << ", wheelSize " << wheelSize);
        Driven driven{seed, wheelSize};
        for (int i = 0; i < 3'000 && !testing::Test::HasFailure(); ++i) driven.step();
        driven.advance();
        driven.stop();
    }
}

}  // namespace
}  // namespace timingwheel::test
