#pragma once

#include "core/driver/context/TimerClock.h"

#include <timingwheel/Clock.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::detail {

/// The events of one keeper on their way to the observer: recorded under the keeper's lock,
/// delivered after it is released. Without an observer it costs a load, a test and a jump, and
/// reads no clock.
///
/// Thread safety  none: guarded by the keeper's lock
class EventLog {
public:
    using Stage = TimerEvent::Stage;

    /// Without an observer.
    EventLog() = default;
    EventLog(TimerObserver const* observer, TimerClock const& clock, std::uint32_t shard) noexcept
        : observer_{observer}, clock_{&clock}, shard_{shard} {}

#ifdef TIMINGWHEEL_UNOBSERVED  // to count what it costs: ./dev bench --check
    static constexpr bool kIsCompiled = false;
#else
    static constexpr bool kIsCompiled = true;
#endif

    /// Each operation asks this once.
    bool isObserved() const noexcept { return kIsCompiled && observer_ != nullptr; }
    bool empty() const noexcept { return events_.empty(); }
    std::uint32_t shard() const noexcept { return shard_; }

    // REQUIRES: isObserved().

    /// An event of now, without a number. `entry` is null for an event of a bucket.
    TimerEvent eventOf(Stage stage, TimeoutEntry const* entry) const noexcept;
    /// Numbers an event and keeps it. Drops it if there is no memory.
    void record(TimerEvent event) noexcept;
    void record(Stage stage, TimeoutEntry const& entry) noexcept;

    std::vector<TimerEvent> takeAll() noexcept { return std::exchange(events_, {}); }

private:
    TimerObserver const* observer_ = nullptr;
    TimerClock const* clock_ = nullptr;
    std::uint32_t shard_ = 0;
    std::uint64_t next_ = 0;
    std::vector<TimerEvent> events_;
};

}  // namespace timingwheel::inline v1::detail
