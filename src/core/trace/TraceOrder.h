#pragma once

#include <timingwheel/TimerObserver.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace timingwheel::inline v1::detail {

/// An event, and the thread that delivered it.
struct TracedEvent {
    TimerEvent event;
    std::uint32_t thread;
};

/// Puts the events of each shard into the order in which they happened. It holds back an event that
/// comes too early until those before it have come. When it holds back too many, it gives up the
/// missing ones; it drops one that comes after all, since later ones were passed on already.
///
/// Memory         128 bytes for each event that it holds back, at most kMostHeld a shard
class TraceOrder {
public:
    /// How many events, at most, wait for a thread that does not deliver its own.
    static constexpr std::size_t kMostHeld = 65'536;

    /// Calls `append` with the event and those that waited for it, or not at all. Strong exception
    /// safety, except for what `append` throws.
    template <class Append>
    void add(TracedEvent const& traced, Append&& append) {
        Shard& shard = shardOf(traced.event.shard);
        if (traced.event.number < shard.next) return;
        if (traced.event.number > shard.next) {
            shard.held.emplace(traced.event.number, traced);
            if (shard.held.size() <= kMostHeld) return;
            shard.next = shard.held.begin()->first;
        } else {
            ++shard.next;
            append(traced);
        }
        while (!shard.held.empty() && shard.held.begin()->first == shard.next) {
            TracedEvent const next = shard.held.begin()->second;
            shard.held.erase(shard.held.begin());
            ++shard.next;
            append(next);
        }
    }

    /// Calls `append` with all that is left.
    template <class Append>
    void finish(Append&& append) {
        for (Shard& shard : shards_) {
            for (auto const& [number, traced] : shard.held) append(traced);
            shard.held.clear();
        }
    }

private:
    struct Shard {
        std::uint64_t next = 0;
        std::map<std::uint64_t, TracedEvent> held;
    };

    Shard& shardOf(std::uint32_t number) {
        if (number >= shards_.size()) shards_.resize(std::size_t{number} + 1);
        return shards_[number];
    }

    std::vector<Shard> shards_;
};

}  // namespace timingwheel::inline v1::detail
