#include "core/driver/keeper/Keeper.h"
#include "core/timeout/TimeoutNode.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <utility>

namespace timingwheel::inline v1 {

using detail::Keeper;
using detail::TimeoutNode;

namespace {

using Circle = TimerTaskList::List::node_algorithms;
using Links = TimerTaskList::List::value_traits;

auto* linksOf(TimeoutNode& node) noexcept { return Links::to_node_ptr(node); }

TimeoutNode& nextInCircle(TimeoutNode& node) noexcept {
    return static_cast<TimeoutNode&>(*Links::to_value_ptr(linksOf(node)->next_));
}

}  // namespace

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

StoppedTimeouts::Iterator& StoppedTimeouts::Iterator::operator++() noexcept {
    TimeoutNode* const next = &nextInCircle(*node_);
    node_ = next == first_ ? nullptr : next;
    return *this;
}

StoppedTimeouts::StoppedTimeouts(StoppedTimeouts&& other) noexcept
    : first_{std::exchange(other.first_, nullptr)},
      size_{std::exchange(other.size_, 0)},
      hooks_{std::exchange(other.hooks_, 0)} {}

StoppedTimeouts& StoppedTimeouts::operator=(StoppedTimeouts&& other) noexcept {
    if (this == &other) return *this;
    clear();
    first_ = std::exchange(other.first_, nullptr);
    size_ = std::exchange(other.size_, 0);
    hooks_ = std::exchange(other.hooks_, 0);
    return *this;
}

StoppedTimeouts::~StoppedTimeouts() { clear(); }

void StoppedTimeouts::add(TimeoutNode& node) noexcept {
    if (first_ == nullptr) {
        Circle::init_header(linksOf(node));
        first_ = &node;
    } else {
        Circle::link_before(linksOf(*first_), linksOf(node));
    }
    ++size_;
}

void StoppedTimeouts::clear() noexcept {
    while (first_ != nullptr) {
        TimeoutNode& node = *first_;
        TimeoutNode& next = nextInCircle(node);
        first_ = &next == &node ? nullptr : &next;
        TimerTaskList::remove(node);
        Keeper const& keeper = *node.keeper.load(std::memory_order_relaxed);
        Keeper::discard(keeper.context(), node);
    }
}

}  // namespace timingwheel::inline v1
