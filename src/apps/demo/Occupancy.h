#pragma once

#include "apps/demo/Ledger.h"

#include <timingwheel/Tick.h>
#include <timingwheel/TimerObserver.h>

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace demo {

/// Which buckets of a timer are armed and how many timeouts each holds, from its events alone.
///
/// Events may come out of order:
/// - A timeout is only put into a bucket that expires after the wheel's clock. If an event names a
///   bucket that does not, the bucket has expired meanwhile and is not armed again.
/// - An event of a timeout is stale if an event with a higher number came before it.
///
/// Memory         for each address that a timeout ever had
/// Thread safety  every function from any thread; a lock for each shard
class Occupancy final : public timingwheel::TimerObserver {
public:
    struct Bucket {
        timingwheel::Tick expiration;
        std::uint32_t level = 0;
        std::uint32_t slot = 0;
        std::size_t timeouts = 0;  ///< 0 when all of them were cancelled: it stays armed

        friend bool operator==(Bucket const&, Bucket const&) noexcept = default;
    };

    struct Snapshot {
        /// Of all shards together, the earliest first; of equally early ones the finest first.
        std::vector<Bucket> buckets;
        /// When the timer began to count ticks, as exactly as its driver is punctual. Unknown until
        /// the first bucket has expired.
        std::optional<TimePoint> start;
    };

    explicit Occupancy(std::chrono::nanoseconds tick) noexcept : tick_{tick} {}

    void onEvent(timingwheel::TimerEvent const& event) noexcept override;
    Snapshot snapshot() const;

private:
    static constexpr std::size_t kMostShards = 64;

    /// Names an armed bucket: a level has one for each expiration.
    struct Key {
        timingwheel::Tick expiration;
        std::uint32_t level = 0;
        friend auto operator<=>(Key const&, Key const&) noexcept = default;
    };
    struct Content {
        std::uint32_t slot = 0;
        std::size_t timeouts = 0;
    };

    struct Place {
        std::optional<Key> bucket;
        std::uint64_t since = 0;  ///< the number of the event that put it there
    };

    struct alignas(64) Shard {
        void enter(timingwheel::TimerEvent const& event);
        bool leave(timingwheel::TimerEvent const& event);
        void wake(timingwheel::TimerEvent const& event, std::chrono::nanoseconds tick);

        mutable std::mutex mutex;  // protects what follows
        timingwheel::Tick clock = timingwheel::Tick::min();
        TimePoint start = TimePoint::max();
        std::map<Key, Content> armed;
        std::unordered_map<void const*, Place> places;
    };

    std::chrono::nanoseconds const tick_;
    std::array<Shard, kMostShards> shards_;
};

}  // namespace demo
