#include "core/timeout/TimeoutNode.h"

#include "core/base/OptionChecks.h"
#include "core/timeout/NodeBlocks.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

namespace timingwheel::inline v1::detail {

namespace {

/// An alignment is a power of two. A division would be a twelfth of a pair.
std::size_t roundedUp(std::size_t size, std::size_t alignment) noexcept {
    return (size + alignment - 1) & ~(alignment - 1);
}

}  // namespace

TimeoutNode* TimeoutNode::create(TaskSource source, Periodicity const* periodicity) {
    TaskOperations const& task = *source.operations;
    std::size_t const head =
        sizeof(TimeoutNode) + (periodicity != nullptr ? sizeof(Periodicity) : 0);
    std::size_t const taskOffset = roundedUp(head, task.alignment);
    std::size_t const alignment = std::max(task.alignment, alignof(TimeoutNode));
    // The offset is kept in 16 bits: see the layout.
    if (taskOffset > std::numeric_limits<std::uint16_t>::max())
        refuseOption("the task's alignment", std::to_string(task.alignment), "at most 32768");
    void* const block = alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                            ? ::operator new(taskOffset + task.size, std::align_val_t{alignment})
                            : NodeBlocks::take(taskOffset + task.size);
    try {
        task.construct(static_cast<std::byte*>(block) + taskOffset, source.task);
    } catch (...) {
        deallocate(block, taskOffset + task.size, alignment);
        throw;
    }
    auto* const node = new (block) TimeoutNode{task, taskOffset, periodicity != nullptr};
    if (periodicity != nullptr) new (node + 1) Periodicity{*periodicity};
    return node;
}

std::optional<NextRun> TimeoutNode::nextRun(TickScale const& scale, Tick deadline,
                                            Clock::TimePoint ended, bool mayGoBack) {
    if (task().timeAfter == nullptr) return periodicity().next(scale, deadline, ended);
    return periodicity().next(scale, deadline, ended, {task().timeAfter, taskAddress()}, mayGoBack);
}

bool TimeoutNode::release() noexcept {
    // The last one need not write, since no other thread can add one. After a write by one that was
    // not the last, the node may be gone.
    std::uint32_t references = references_.load(std::memory_order_acquire);
    while (!isLast(references)) {
        if (references_.compare_exchange_weak(references, references - 1, std::memory_order_acq_rel,
                                              std::memory_order_acquire))
            return false;
    }
    std::size_t const alignment = std::max(task().alignment, alignof(TimeoutNode));
    std::size_t const size = taskOffset_ + task().size;
    this->~TimeoutNode();
    deallocate(this, size, alignment);
    return true;
}

void TimeoutNode::deallocate(void* block, std::size_t size, std::size_t alignment) noexcept {
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
        ::operator delete(block, std::align_val_t{alignment});
    else
        NodeBlocks::giveBack(block, size);
}

}  // namespace timingwheel::inline v1::detail
