#include "apps/demo/Occupancy.h"

#include <algorithm>

namespace demo {

using timingwheel::TimerEvent;

void Occupancy::Shard::enter(TimerEvent const& event) {
    if (!leave(event) || event.expiration <= clock) return;
    Key const key{event.expiration, event.level};
    Content& content = armed[key];
    content.slot = event.slot;
    ++content.timeouts;
    places[event.entry].bucket = key;
}

/// False if a later event of the entry came before this one. Remembers entries that are gone too,
/// since an earlier event may still come.
bool Occupancy::Shard::leave(TimerEvent const& event) {
    Place& place = places[event.entry];
    if (place.since > event.number) return false;
    place.since = event.number;
    if (!place.bucket) return true;
    // After its wake a bucket is gone, and its timeouts go one by one.
    auto const bucket = armed.find(*place.bucket);
    if (bucket != armed.end()) --bucket->second.timeouts;
    place.bucket.reset();
    return true;
}

void Occupancy::Shard::wake(TimerEvent const& event, std::chrono::nanoseconds tick) {
    clock = std::max(clock, event.expiration);
    start = std::min(start, event.time - tick * event.expiration.value());
    while (!armed.empty() && armed.begin()->first.expiration <= clock) armed.erase(armed.begin());
}

void Occupancy::onEvent(TimerEvent const& event) noexcept {
    using Stage = TimerEvent::Stage;
    if (event.stage == Stage::schedule || event.stage == Stage::arm ||
        event.stage == Stage::dispatch || event.stage == Stage::run)
        return;
    Shard& shard = shards_[event.shard];
    std::lock_guard const lock{shard.mutex};
    if (event.stage == Stage::wake)
        shard.wake(event, tick_);
    else if (event.stage == Stage::place || event.stage == Stage::cascade)
        shard.enter(event);
    else
        shard.leave(event);
}

Occupancy::Snapshot Occupancy::snapshot() const {
    std::map<Key, Content> all;
    TimePoint start = TimePoint::max();
    for (Shard const& shard : shards_) {
        std::lock_guard const lock{shard.mutex};
        start = std::min(start, shard.start);
        for (auto const& [key, content] : shard.armed) {
            Content& sum = all[key];
            sum.slot = content.slot;
            sum.timeouts += content.timeouts;
        }
    }
    Snapshot snapshot;
    if (start != TimePoint::max()) snapshot.start = start;
    for (auto const& [key, content] : all)
        snapshot.buckets.push_back({key.expiration, key.level, content.slot, content.timeouts});
    return snapshot;
}

}  // namespace demo
