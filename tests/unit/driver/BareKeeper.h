#pragma once

#include "core/driver/keeper/Keeper.h"
#include "core/driver/keeper/Runner.h"
#include "core/driver/run/RunFrame.h"
#include "core/timeout/TimeoutNode.h"

#include <utility>

namespace timingwheel::inline v1::detail {

/// Looks into a keeper.
struct KeeperProbe {
    static bool isBiased(Keeper const& keeper) noexcept { return keeper.lock_.isBiased(); }
    static DroppedShares const& shares(Keeper const& keeper) noexcept {
        return keeper.droppedShares_;
    }
};

}  // namespace timingwheel::inline v1::detail

namespace timingwheel::test {

/// A keeper without a wheel.
class BareKeeper final : public detail::Keeper {
public:
    explicit BareKeeper(detail::TimerContext& context) : Keeper{context, 0} {}

    bool cancel(detail::TimeoutNode&) noexcept override { return false; }
    bool cancelAndEnd(detail::TimeoutNode&) noexcept override { return false; }
    void runQueued() noexcept override {
        detail::RunFrame frame{context()};
        detail::Hold hold{*this};
        detail::TimeoutEntry* const entry = hold.tasks().queue.useClaim();
        if (entry == nullptr) return;
        --hold.tasks().pending;
        detail::Runner{hold, frame}.runOnce(*entry);
    }

    /// Whether its lock favours a thread now.
    bool isBiased() const noexcept { return detail::KeeperProbe::isBiased(*this); }
    /// Whether a thread gives shares back without an atomic instruction.
    bool areSharesBiased() const noexcept { return detail::KeeperProbe::shares(*this).isBiased(); }
};

/// A node with this task, and a handle to it.
template <class Task>
std::pair<detail::TimeoutNode&, Timeout> nodeWith(Task task) {
    detail::TimeoutNode& node =
        *detail::TimeoutNode::create({&detail::kTaskOperations<Task>, &task}, nullptr);
    return {node, detail::TimeoutAccess::adopt(node)};
}

}  // namespace timingwheel::test
