#include "core/timeout/TimeoutNode.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace timingwheel::detail {
namespace {

template <std::size_t size, std::size_t alignment>
struct alignas(alignment) Task {
    void operator()() const noexcept {}
    std::byte bytes[size];
};

/// How far behind its node such a task lies.
template <class Task>
std::ptrdiff_t offsetOf(Periodicity const* periodicity = nullptr) {
    Task task{};
    TimeoutNode& node = *TimeoutNode::create({&kTaskOperations<Task>, &task}, periodicity);
    std::byte const* const at = static_cast<std::byte*>(node.taskAddress());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % alignof(Task), 0U);
    std::ptrdiff_t const offset = at - reinterpret_cast<std::byte const*>(&node);
    EXPECT_FALSE(node.release());
    EXPECT_TRUE(node.release());
    return offset;
}

// Its size does not matter.
TEST(TimeoutNode, HasItsTaskAtTheFirstPlaceThatIsAligned) {
    if constexpr (sizeof(void*) == 8) {
        EXPECT_EQ((offsetOf<Task<1, 1>>()), 48);
        EXPECT_EQ((offsetOf<Task<40, 8>>()), 48);
        EXPECT_EQ((offsetOf<Task<112, 16>>()), 48);
        EXPECT_EQ((offsetOf<Task<1, 64>>()), 64);
        EXPECT_EQ((offsetOf<Task<4'096, 4'096>>()), 4'096);
        Periodicity const periodicity{};
        EXPECT_EQ((offsetOf<Task<40, 8>>(&periodicity)), 80);
    }
}

}  // namespace
}  // namespace timingwheel::detail
