#pragma once

#include "core/timeout/TimeoutNode.h"

#include <timingwheel/Timeout.h>
#include <timingwheel/detail/TimeoutEntry.h>

namespace timingwheel::inline v1::detail {

/// What a task belongs to: a node, or the user's object of a hook. It is read before the task is
/// entered, so the hook itself is not needed later.
struct TaskSubject {
    explicit TaskSubject(TimeoutEntry& entry) noexcept {
        if (entry.isHook()) {
            hook = static_cast<HookOperations const*>(entry.operations);
            object = static_cast<HookEntry&>(entry).object;
        } else {
            node = static_cast<TimeoutNode*>(&entry);
        }
    }

    /// Calls `call` with a handle to the node, an empty one for a hook.
    template <class Call>
    void withHandle(Call&& call) const {
        if (node == nullptr) return call(Timeout{});
        BorrowedTimeout const self{*node};
        call(self.get());
    }

    TimeoutNode* node = nullptr;  ///< null for a hook
    HookOperations const* hook = nullptr;
    void* object = nullptr;  ///< null for a node
};

}  // namespace timingwheel::inline v1::detail
