#pragma once

#include <timingwheel/Tick.h>
#include <timingwheel/wheel/TimerTaskEntry.h>

#include <atomic>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// Where a timeout is in its life: the owner's bits of its entry's word. docs/decisions/0001 says
/// who may change it, and who owns what in each state.
enum class TimeoutState : unsigned {
    idle,        ///< a hook that no timer has accepted
    pending,     ///< in the wheel
    ready,       ///< due on arrival, or when the clock was set back: waits for its turn
    taken,       ///< taken out of the wheel into the driver's chunk: waits for its turn
    queued,      ///< handed to an executor as a claim
    handedOver,  ///< the same, but cancel() cannot win any more (HashedWheelTimer)
    running,     ///< inside its task (handles only)
    expired,     ///< its task was entered, or ended
    cancelling,  ///< a cancel() or cancelAll() won; the first thread to come ends it
    cancelled,   ///< a cancel() won
    returned,    ///< returned by stop()
    rejected,    ///< refused by the executor
};

/// A deadline and a state: what one word holds.
class TimeoutWord {
public:
    explicit TimeoutWord(std::uint64_t bits) noexcept : bits_{bits} {}
    TimeoutWord(Tick deadline, TimeoutState state) noexcept
        : bits_{TimerTaskEntry::pack(deadline, static_cast<unsigned>(state))} {}

    static TimeoutWord of(TimerTaskEntry const& entry) noexcept {
        return TimeoutWord{entry.word().load(std::memory_order_acquire)};
    }

    Tick deadline() const noexcept { return TimerTaskEntry::deadlineOf(bits_); }
    TimeoutState state() const noexcept {
        return static_cast<TimeoutState>(TimerTaskEntry::ownerBitsOf(bits_));
    }
    std::uint64_t bits() const noexcept { return bits_; }

    void storeIn(TimerTaskEntry& entry) const noexcept {
        entry.word().store(bits_, std::memory_order_release);
    }

    /// Makes this the entry's word if it still is `expected`, which is updated if not.
    bool replace(TimerTaskEntry& entry, TimeoutWord& expected) const noexcept {
        return entry.word().compare_exchange_strong(
            expected.bits_, bits_, std::memory_order_acq_rel, std::memory_order_acquire);
    }

private:
    std::uint64_t bits_;
};

/// A cancel() won.
inline bool isCancelled(TimeoutState state) noexcept {
    return state == TimeoutState::cancelling || state == TimeoutState::cancelled;
}

/// Accepted, not entered, not cancelled.
inline bool isPending(TimeoutState state) noexcept {
    return state == TimeoutState::pending || state == TimeoutState::ready ||
           state == TimeoutState::taken || state == TimeoutState::queued;
}

}  // namespace timingwheel::inline v1::detail
