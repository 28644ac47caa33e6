#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// An event without a number. `entry` is null for an event of a bucket.
TimerEvent makeEvent(TimerEvent::Stage stage, std::uint32_t shard, TimeoutEntry const* entry,
                     Clock::TimePoint time) noexcept;

/// The events of one keeper on their way to the observer: recorded under the keeper's lock,
/// delivered after it is released.
///
/// Thread safety  none, except nextNumber(): guarded by the keeper's lock
class EventLog {
public:
    bool empty() const noexcept { return events_.empty(); }

    /// Numbers an event and keeps it. Drops it if there is no memory.
    void record(TimerEvent event) noexcept;
    std::vector<TimerEvent> takeAll() noexcept { return std::exchange(events_, {}); }

    /// For an event that is delivered without being recorded. Any thread may call it.
    std::uint64_t nextNumber() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }

private:
    std::vector<TimerEvent> events_;
    std::atomic<std::uint64_t> next_{0};
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
