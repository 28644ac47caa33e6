#pragma once

#include "core/driver/Section.h"
#include "core/driver/TimeoutKeeper.h"
#include "core/timeout/TimeoutNode.h"

#include <thread>
#include <utility>

namespace timingwheel::test {

/// A keeper without a wheel, into which a test may look.
class BareKeeper final : public detail::TimeoutKeeper {
public:
    explicit BareKeeper(detail::TimerContext& context) : TimeoutKeeper{context, 0} {}

    bool cancel(detail::TimeoutNode&) noexcept override { return false; }
    bool cancelAndEnd(detail::TimeoutNode&) noexcept override { return false; }

    using TimeoutKeeper::bias_;
    using TimeoutKeeper::counters_;
    using TimeoutKeeper::drained_;
    using TimeoutKeeper::endFrame;
    using TimeoutKeeper::madeShares_;
    using TimeoutKeeper::pending_;
    using TimeoutKeeper::queue_;
    using TimeoutKeeper::record;
    using TimeoutKeeper::runEnded_;
    using TimeoutKeeper::running_;

    bool isLocked() {
        bool isFree = false;
        std::thread{[&] {
            isFree = mutex_.try_lock();
            if (isFree) mutex_.unlock();
        }}.join();
        return !isFree;
    }
};

/// A node with this task, and a handle to it.
template <class Task>
std::pair<detail::TimeoutNode&, Timeout> nodeWith(Task task) {
    detail::TimeoutNode& node =
        *detail::TimeoutNode::create({&detail::kTaskOperations<Task>, &task}, nullptr);
    return {node, detail::TimeoutAccess::adopt(node)};
}

}  // namespace timingwheel::test
