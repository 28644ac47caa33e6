#pragma once

#include "core/base/platform/Sanitizer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace timingwheel::inline v1::detail {

/// Memory for nodes. A thread that frees a node keeps its block, for the next node that it makes.
/// A server schedules and cancels on one thread, so its next block is a load and a store away, and
/// in the cache.
///
/// A thread keeps at most 256 blocks of each of four sizes: 88 bytes are for a periodic task that
/// captures a pointer, 104 for a task of 56. They are enough for a burst of cancels: the malloc of
/// glibc keeps 7, and looks into the block behind each further one that it frees. The thread frees
/// them when it ends. One that has made no node keeps none: to be cancelled and to expire must not
/// allocate, and what frees the blocks at the end has to be registered. Larger nodes, and all under
/// a sanitizer, come from `operator new` and go back to it.
///
/// Complexity     O(1)
/// Thread safety  any thread, without a lock: each has its own blocks
class NodeBlocks {
public:
    static constexpr std::uint32_t kMost = kIsMemoryWatched ? 0 : 256;

    /// At least `size` bytes, aligned as `operator new` does. Throws std::bad_alloc.
    static void* take(std::size_t size) {
        std::size_t const kind = kindOf(size);
        if (kind >= kKinds) [[unlikely]]
            return ::operator new(size);
        return kept_.first[kind] == nullptr ? takeNew(kind) : takeKept(kind);
    }
    /// Gives back what take() returned for `size`.
    static void giveBack(void* memory, std::size_t size) noexcept {
        std::size_t const kind = kindOf(size);
        if (kind >= kKinds || kept_.room[kind] == 0) [[unlikely]]
            return ::operator delete(memory);
        --kept_.room[kind];
        kept_.first[kind] = new (memory) Block{kept_.first[kind]};
    }
    /// Frees what the calling thread keeps.
    static void freeKept() noexcept;

private:
    struct Block {
        Block* next;
    };
    struct Kept {
        std::array<Block*, 4> first;
        std::array<std::uint32_t, 4> room;  // zeros before the first block is taken, and at the end
        bool isOpen;                        // or was
    };
    /// Frees what a thread has kept when it ends.
    struct AtThreadExit {
        ~AtThreadExit();
    };

    static constexpr std::size_t kKinds = 4;
    static constexpr std::size_t kStep = 16;
    static constexpr std::size_t kLargestOfFirst = 56;

    /// Of sizes that differ by less than a step. Too large for those that are not kept.
    static std::size_t kindOf(std::size_t size) noexcept {
        return (size + kStep - 1 - kLargestOfFirst) / kStep;
    }
    static std::size_t sizeOf(std::size_t kind) noexcept { return kLargestOfFirst + kind * kStep; }
    static void* takeKept(std::size_t kind) noexcept {
        Block* const block = kept_.first[kind];
        kept_.first[kind] = block->next;
        ++kept_.room[kind];
        return block;
    }
    static void* takeNew(std::size_t kind);

    static inline constinit thread_local Kept kept_{};
};

}  // namespace timingwheel::inline v1::detail
