#pragma once

#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace timingwheel::inline v1::detail {

/// The two rare cases in which a shard takes all that is pending out of its buckets in one hold,
/// and then deals with it a chunk a hold:
///
///   - cancelAll(). From then on what was gathered can only be cancelled: it does not expire, and a
///     move cancels it. So it becomes only less, whatever is scheduled meanwhile.
///   - A clock was set back. The driver places everything again. Until all has its place the wheel
///     stands still and nothing expires, so the order of deadlines stays.
///
/// A cancelAll() takes over what was gathered for a clock; what is gathered for a clock during a
/// cancelAll() goes to that call. The wheel keeps what was in buckets (RawTimingWheel::gatherAll),
/// this what was due.
///
/// Thread safety  none: a part of the ShardBook
class Gathering {
public:
    // What was due, or due on arrival.

    TimerTaskList const& ready() const noexcept { return ready_; }
    void gather(TimerTaskList& list) noexcept { ready_.takeAll(list); }
    /// Null if there is none.
    TimeoutEntry* takeReady() noexcept {
        return ready_.empty() ? nullptr : &static_cast<TimeoutEntry&>(ready_.takeFirst());
    }

    // A clock that was set back.

    /// Something waits to be placed again.
    bool isTurningBack() const noexcept { return isTurningBack_; }
    /// And timeouts that compute their times must do so anew.
    bool isCorrection() const noexcept { return isCorrection_; }
    void beginTurnBack(bool isCorrection) noexcept {
        // What an earlier step has left to be placed is corrected with it.
        isCorrection_ = isCorrection || (isCorrection_ && isTurningBack_);
        isTurningBack_ = !isCancelling();
    }
    void endTurnBack() noexcept {
        isTurningBack_ = false;
        isCorrection_ = false;
    }

    // cancelAll().

    /// A call is under way.
    bool isCancelling() const noexcept { return calls_ > 0; }
    void beginCancelAll() noexcept {
        ++calls_;
        isTurningBack_ = false;  // what that has gathered is to be cancelled, too
    }
    void endCancelAll() noexcept { --calls_; }
    /// Counts one that was cancelled.
    void countCancelled() noexcept { ++cancelled_; }
    /// The same for a node, which the call will end.
    void addCancelled(TimeoutEntry& node) noexcept {
        nodes_.add(node);
        ++cancelled_;
    }
    /// Returns how many were cancelled since the last time, and adds those that are to be ended.
    std::size_t takeCancelled(TimerTaskList& ended) noexcept {
        ended.takeAll(nodes_);
        return std::exchange(cancelled_, 0);
    }

private:
    TimerTaskList ready_;
    TimerTaskList nodes_;
    std::size_t cancelled_ = 0;
    std::uint32_t calls_ = 0;
    bool isTurningBack_ = false;
    bool isCorrection_ = false;
};

}  // namespace timingwheel::inline v1::detail
