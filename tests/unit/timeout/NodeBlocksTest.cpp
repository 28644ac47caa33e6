#include "core/timeout/NodeBlocks.h"

#include <support/AllocationCounter.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

// In threads of their own: what other tests have freed is kept by theirs.

namespace timingwheel::detail {
namespace {

constexpr std::size_t kAll = NodeBlocks::kMost;  // none under a sanitizer

template <class Work>
void inAThread(Work work) {
    std::thread{work}.join();
}

/// `count` blocks at once, each written to its last byte.
std::vector<void*> takeAll(std::size_t count, std::size_t size) {
    std::vector<void*> blocks;
    blocks.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(NodeBlocks::take(size));
        static_cast<std::byte*>(blocks.back())[size - 1] = std::byte{1};
    }
    return blocks;
}

void giveBackAll(std::vector<void*> const& blocks, std::size_t size) {
    for (void* const block : blocks) NodeBlocks::giveBack(block, size);
}

TEST(NodeBlocks, ComeAgainToTheThreadThatFreedThem) {
    inAThread([] {
        for (std::size_t const size : {49U, 56U, 57U, 72U, 73U, 88U, 104U}) {
            giveBackAll(takeAll(kAll, size), size);
            test::AllocationCounter const counter;
            for (std::size_t i = 0; i < kAll; ++i)
                NodeBlocks::giveBack(NodeBlocks::take(size), size);
            EXPECT_EQ(counter.allocations(), 0U) << size;
            EXPECT_EQ(counter.deallocations(), 0U) << size;
        }
    });
}

TEST(NodeBlocks, OfOneSizeServeNoOther) {
    inAThread([] {
        std::vector<void*> const blocks = takeAll(2, 56);
        giveBackAll(blocks, 56);
        void* const larger = NodeBlocks::take(57);
        for (void* const block : blocks) EXPECT_TRUE(kAll == 0 || larger != block);
        NodeBlocks::giveBack(larger, 57);
    });
}

TEST(NodeBlocks, AreKeptUpToABound) {
    inAThread([] {
        std::vector<void*> const blocks = takeAll(kAll + 3, 56);
        test::AllocationCounter const counter;
        giveBackAll(blocks, 56);
        EXPECT_EQ(counter.deallocations(), 3U);
        // What is taken makes room.
        NodeBlocks::giveBack(NodeBlocks::take(56), 56);
        EXPECT_EQ(counter.deallocations(), kAll == 0 ? 4U : 3U);
    });
}

// Cancelling and expiring allocate nothing, so they must not register what frees kept blocks.
TEST(NodeBlocks, AreNotKeptByAThreadThatHasTakenNone) {
    void* const block = NodeBlocks::take(56);
    inAThread([block] {
        test::AllocationCounter const counter;
        NodeBlocks::giveBack(block, 56);
        EXPECT_EQ(counter.deallocations(), 1U);
    });
}

TEST(NodeBlocks, AreNotKeptWhenTheyAreSmallOrLarge) {
    inAThread([] {
        for (std::size_t const size : {1U, 40U, 105U, 4'096U}) {
            test::AllocationCounter const counter;
            giveBackAll(takeAll(1, size), size);
            EXPECT_EQ(counter.deallocations(), 2U) << size;  // the vector's, too
        }
    });
}

TEST(NodeBlocks, AreFreedWhenTheirThreadEnds) {
    long long const before = test::livingBlocks();
    inAThread([] {
        for (std::size_t const size : {56U, 72U, 104U}) giveBackAll(takeAll(5, size), size);
    });
    EXPECT_EQ(test::livingBlocks(), before);
}

/// Its destructor runs after that of what a thread keeps.
struct Late {
    ~Late() {
        if (block != nullptr) NodeBlocks::giveBack(block, 56);
        NodeBlocks::giveBack(NodeBlocks::take(56), 56);
    }
    void* block = nullptr;
};

TEST(NodeBlocks, AreNotKeptByAThreadThatEnds) {
    long long const before = test::livingBlocks();
    inAThread([] {
        static thread_local Late late;  // before the first block is kept
        late.block = NodeBlocks::take(56);
        giveBackAll(takeAll(3, 56), 56);
    });
    EXPECT_EQ(test::livingBlocks(), before);
}

}  // namespace
}  // namespace timingwheel::detail
