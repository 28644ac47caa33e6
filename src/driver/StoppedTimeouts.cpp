#include "driver/Shard.h"
#include "driver/TimeoutNode.h"

#include <timingwheel/StoppedTimeouts.h>

#include <utility>

namespace timingwheel {
inline namespace v1 {

using detail::TimeoutNode;

Timeout StoppedTimeout::timeout() const noexcept {
    node_->retain();
    return detail::TimeoutAccess::adopt(*node_);
}

std::shared_ptr<TimerTask> StoppedTimeout::task() const {
    auto const shared = node_->task().shared;
    return shared == nullptr ? nullptr : shared(node_->taskAddress());
}

void* StoppedTimeout::targetIf(detail::TaskOperations const* operations) const noexcept {
    return &node_->task() == operations ? node_->taskAddress() : nullptr;
}

StoppedTimeout StoppedTimeouts::Iterator::operator*() const noexcept {
    // The range owns the node: only its links are const here.
    auto& entry = const_cast<TimerTaskEntry&>(*position_);
    return StoppedTimeout{static_cast<TimeoutNode&>(entry)};
}

StoppedTimeouts::StoppedTimeouts(StoppedTimeouts&& other) noexcept
    : size_{std::exchange(other.size_, 0)}, hooks_{std::exchange(other.hooks_, 0)} {
    timeouts_.takeAll(other.timeouts_);
}

StoppedTimeouts& StoppedTimeouts::operator=(StoppedTimeouts&& other) noexcept {
    if (this == &other) return *this;
    clear();
    timeouts_.takeAll(other.timeouts_);
    size_ = std::exchange(other.size_, 0);
    hooks_ = std::exchange(other.hooks_, 0);
    return *this;
}

StoppedTimeouts::~StoppedTimeouts() { clear(); }

void StoppedTimeouts::clear() noexcept {
    while (!timeouts_.empty()) {
        auto& node = static_cast<TimeoutNode&>(timeouts_.takeFirst());
        node.shard.load(std::memory_order_relaxed)->destroy(node);
    }
    size_ = 0;
    hooks_ = 0;
}

}  // namespace v1
}  // namespace timingwheel
