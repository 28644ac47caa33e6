#include "core/base/ReadableTime.h"
#include "core/driver/keeper/Keeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskEnd.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/Timeout.h>

#include <algorithm>
#include <ostream>

namespace timingwheel::inline v1 {

using detail::Keeper;
using detail::TimeoutNode;
using detail::TimeoutState;
using detail::TimeoutWord;

namespace {

Keeper& keeperOf(TimeoutNode const& node) noexcept {
    return *node.keeper.load(std::memory_order_relaxed);
}

TimeoutState stateOf(TimeoutNode const* node) noexcept {
    return node == nullptr ? TimeoutState::idle : TimeoutWord::of(*node).state();
}

}  // namespace

Timeout::Timeout(Timeout const& other) noexcept : node_{other.node_} {
    if (node_ != nullptr) node_->retain();
}

void Timeout::release() noexcept { Keeper::release(*node_); }

bool Timeout::cancel() const noexcept {
    return node_ != nullptr && keeperOf(*node_).cancel(*node_);
}

bool Timeout::cancelAndWait() const noexcept {
    if (node_ == nullptr) return false;
    Timeout const self{*this};  // a capture that dies may own the object that holds this handle
    TimeoutNode& node = *self.node_;
    bool const cancelled = keeperOf(node).cancelAndEnd(node);
    if (detail::RunFrame::isRunningHere(node)) return cancelled;
    keeperOf(node).waitForRun(node);
    // If another thread's cancel() won, it may still be destroying the captures.
    if (!cancelled && stateOf(&node) == TimeoutState::cancelled) detail::awaitEnd(node);
    return cancelled;
}

bool Timeout::isPending() const noexcept {
    TimeoutState const state = stateOf(node_);
    return detail::isPending(state);
}

bool Timeout::isExpired() const noexcept {
    TimeoutState const state = stateOf(node_);
    return state == TimeoutState::expired || state == TimeoutState::handedOver ||
           (state == TimeoutState::running && !node_->isPeriodic());
}

bool Timeout::isDone() const noexcept { return stateOf(node_) == TimeoutState::expired; }

bool Timeout::isCancelled() const noexcept {
    TimeoutState const state = stateOf(node_);
    return state == TimeoutState::cancelled || state == TimeoutState::cancelling ||
           state == TimeoutState::returned;
}

bool Timeout::isReturned() const noexcept { return stateOf(node_) == TimeoutState::returned; }

bool Timeout::isRejected() const noexcept { return stateOf(node_) == TimeoutState::rejected; }

Clock::TimePoint Timeout::deadline() const noexcept {
    if (node_ == nullptr) return Clock::TimePoint::max();
    return keeperOf(*node_).context().scale.timeOf(node_->deadline());
}

std::chrono::nanoseconds Timeout::remaining() const noexcept {
    using std::chrono::nanoseconds;
    if (node_ == nullptr) return nanoseconds{0};
    Clock::TimePoint const end = deadline();
    if (end == Clock::TimePoint::max()) return nanoseconds::max();
    auto const left = detail::timeBetween(keeperOf(*node_).context().clock.nowOrFrozen(), end);
    return std::max(nanoseconds{0}, left);
}

Timer* Timeout::timer() const noexcept {
    if (node_ == nullptr) return nullptr;
    return keeperOf(*node_).context().owner.load(std::memory_order_acquire);
}

std::shared_ptr<TimerTask> Timeout::task() const {
    return node_ == nullptr ? nullptr : keeperOf(*node_).sharedTask(*node_);
}

std::ostream& operator<<(std::ostream& out, Timeout const& timeout) {
    if (timeout.node_ == nullptr) return out << "timeout(empty)";
    out << "timeout(";
    switch (stateOf(timeout.node_)) {
        case TimeoutState::running:
            out << (timeout.node_->isPeriodic() ? "periodic, running" : "running");
            break;
        case TimeoutState::handedOver:
            out << "expired, waits for its executor";
            break;
        case TimeoutState::expired:
            out << "expired";
            break;
        case TimeoutState::returned:
            out << "returned by stop()";
            break;
        case TimeoutState::cancelling:
        case TimeoutState::cancelled:
            out << "cancelled";
            break;
        case TimeoutState::rejected:
            out << "rejected";
            break;
        default: {
            auto const left = timeout.remaining();
            if (left == std::chrono::nanoseconds::max()) {
                out << "pending, never due";
            } else {
                out << "pending, due in " << detail::ReadableTime{left};
            }
        }
    }
    return out << ')';
}

}  // namespace timingwheel::inline v1
