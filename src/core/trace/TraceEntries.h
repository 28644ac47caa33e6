#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerObserver.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::detail {

/// Gives each timeout a number. Addresses are used again, numbers never are.
///
/// Two shards may be out of step: the address of a timeout of one may belong to the other already.
/// So the shard is part of the key. A timeout is forgotten when it ends.
///
/// REQUIRES: the events of each shard come in the order in which they happened.
class TraceEntries {
public:
    /// The number of the event's timeout, from 1; 0 if it has none, or if that has ended.
    std::uint64_t numberOf(TimerEvent const& event) {
        using Stage = TimerEvent::Stage;
        if (event.entry == nullptr) return 0;
        Key const key{event.entry, event.shard};
        switch (event.stage) {
            case Stage::schedule:
                return begin(key, event.time);
            case Stage::run:
                return event.isPeriodic ? find(key).number : endRun(key, event);
            case Stage::cancel:
                return end(key);
            case Stage::expire:
                return due(key, event.deadline);
            default:
                return find(key).number;
        }
    }

    /// How many have not ended.
    std::size_t size() const noexcept { return entries_.size() + running_.size(); }

private:
    struct Key {
        void const* entry;
        std::uint32_t shard;
        friend bool operator==(Key const&, Key const&) = default;
    };
    struct Hash {
        std::size_t operator()(Key const& key) const noexcept {
            return std::hash<void const*>{}(key.entry) ^ key.shard;
        }
    };
    struct Entry {
        std::uint64_t number = 0;
        Clock::TimePoint scheduled{};
        Tick deadline{};
        bool isDue = false;
    };

    Entry find(Key const& key) const {
        auto const found = entries_.find(key);
        return found == entries_.end() ? Entry{} : found->second;
    }

    std::uint64_t begin(Key const& key, Clock::TimePoint time) {
        auto const [at, isNew] = entries_.try_emplace(key);
        // A hook was scheduled again during its run. The event of that run comes when it ends.
        if (!isNew && at->second.isDue) running_.emplace_back(key, at->second);
        at->second = Entry{.number = ++last_, .scheduled = time};
        return last_;
    }

    std::uint64_t due(Key const& key, Tick deadline) {
        auto const found = entries_.find(key);
        if (found == entries_.end()) return 0;
        found->second.deadline = deadline;
        found->second.isDue = true;
        return found->second.number;
    }

    /// Runs of a hook may end in another order than they began. Each was scheduled after the run
    /// before it had begun: so it is the last one that was scheduled before this run began.
    std::uint64_t endRun(Key const& key, TimerEvent const& run) {
        auto found = running_.end();
        for (auto each = running_.begin(); each != running_.end(); ++each)
            if (each->first == key && each->second.deadline == run.deadline &&
                (found == running_.end() || each->second.scheduled < run.time))
                found = each;
        if (found == running_.end()) return end(key);
        Entry const current = find(key);
        if (current.isDue && current.deadline == run.deadline && current.scheduled < run.time)
            return end(key);
        std::uint64_t const number = found->second.number;
        running_.erase(found);
        return number;
    }

    std::uint64_t end(Key const& key) {
        std::uint64_t const number = find(key).number;
        entries_.erase(key);
        return number;
    }

    std::uint64_t last_ = 0;
    std::unordered_map<Key, Entry, Hash> entries_;
    std::vector<std::pair<Key, Entry>> running_;
};

}  // namespace timingwheel::inline v1::detail
