#include "core/timeout/NodeBlocks.h"

#include <timingwheel/detail/FreeKeptNodes.h>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// The thread has no room for it: it is the first one, or one too many, or the thread ends.
void NodeBlocks::giveBackFar(void* memory, std::size_t kind) noexcept {
    if (kMost == 0 || kind >= kKinds || kept_.isOpen) return ::operator delete(memory);
    kept_.isOpen = true;
    static thread_local AtThreadExit const atThreadExit{};
    static_cast<void>(&atThreadExit);
    kept_.room.fill(kMost);
    keep(memory, kind);
}

void NodeBlocks::freeKept() noexcept {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
        while (kept_.first[kind] != nullptr) ::operator delete(takeKept(kind));
    }
}

NodeBlocks::AtThreadExit::~AtThreadExit() {
    freeKept();
    kept_.room.fill(0);  // a handle that this thread drops later frees its node
}

void freeKeptNodes() noexcept { NodeBlocks::freeKept(); }

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
