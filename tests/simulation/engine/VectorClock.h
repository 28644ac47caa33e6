#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace timingwheel::test::simulation {

using ThreadId = std::uint8_t;
inline constexpr std::size_t kMostThreads = 8;

/// What a thread has seen of each thread: happens-before in numbers (Mattern 1989).
class VectorClock {
public:
    std::uint32_t operator[](ThreadId thread) const noexcept { return seen_[thread]; }
    void tick(ThreadId thread) noexcept { ++seen_[thread]; }
    void join(VectorClock const& other) noexcept {
        for (std::size_t i = 0; i < kMostThreads; ++i)
            seen_[i] = std::max(seen_[i], other.seen_[i]);
    }
    /// True if what `thread` did at its time `epoch` happened before.
    bool hasSeen(ThreadId thread, std::uint32_t epoch) const noexcept {
        return epoch <= seen_[thread];
    }

private:
    std::array<std::uint32_t, kMostThreads> seen_{};
};

}  // namespace timingwheel::test::simulation
