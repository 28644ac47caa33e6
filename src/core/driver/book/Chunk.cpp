#include "core/driver/book/Chunk.h"

#include <chrono>
#include <thread>

namespace timingwheel::inline v1::detail {

/// The driver marks without the lock that the caller holds. But it may be less urgent than this
/// thread, and wait for its core.
void Chunk::waitForMarks() const noexcept {
    constexpr int kYields = 64;
    constexpr std::chrono::microseconds kNap{50};
    std::size_t const upTo = claimed();
    for (int tries = 0; marked_.load(std::memory_order_acquire) < upTo; ++tries) {
        if (tries < kYields)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(kNap);
    }
}

}  // namespace timingwheel::inline v1::detail
