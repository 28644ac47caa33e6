#include "core/timeout/NodeBlocks.h"

#include <timingwheel/detail/FreeKeptNodes.h>

namespace timingwheel::inline v1::detail {

void* NodeBlocks::takeNew(std::size_t kind) {
    void* const block = ::operator new(sizeOf(kind));
    if (!kept_.isOpen) {
        kept_.isOpen = true;
        static thread_local AtThreadExit const atThreadExit{};
        static_cast<void>(&atThreadExit);
        kept_.room.fill(kMost);
    }
    return block;
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

}  // namespace timingwheel::inline v1::detail
