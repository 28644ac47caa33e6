#include "core/driver/book/Chunk.h"

#include <support/Threads.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

HookOperations const kNothing{{.isHook = true}, [](void*) {}};

class ChunkTest : public testing::Test {
protected:
    void add(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) chunk_.add(entries_.at(i));
    }
    std::vector<TimeoutEntry*> claimAll() {
        std::vector<TimeoutEntry*> claimed;
        while (TimeoutEntry* const entry = chunk_.claim().entry) claimed.push_back(entry);
        return claimed;
    }

    std::array<HookEntry, 3> entries_{HookEntry{kNothing, nullptr}, HookEntry{kNothing, nullptr},
                                      HookEntry{kNothing, nullptr}};
    Chunk chunk_;
};

TEST_F(ChunkTest, IsClaimedInOrder) {
    EXPECT_TRUE(chunk_.empty());
    EXPECT_EQ(chunk_.claim().entry, nullptr);
    add(3);
    EXPECT_FALSE(chunk_.empty());
    EXPECT_EQ(chunk_.size(), 3U);
    EXPECT_EQ(chunk_.claimed(), 0U);
    EXPECT_EQ(chunk_.current(), nullptr);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(chunk_.claim().entry, &entries_.at(i));
        EXPECT_EQ(chunk_.current(), &entries_.at(i));
        EXPECT_EQ(chunk_.size(), 3U);
        EXPECT_EQ(chunk_.claimed(), i + 1);
    }
    EXPECT_EQ(chunk_.claim().entry, nullptr);
    EXPECT_EQ(chunk_.current(), &entries_[2]) << "its run is not over";
    chunk_.end();
    EXPECT_TRUE(chunk_.empty());
    EXPECT_EQ(chunk_.claimed(), 0U);
    EXPECT_EQ(chunk_.current(), nullptr);
}

TEST_F(ChunkTest, IsWaitedForUntilAllThatWasClaimedIsMarked) {
    for (int time = 0; time < 2; ++time) {  // it counts anew
        add(3);
        chunk_.waitForMarks();  // nothing was claimed
        chunk_.claim();
        chunk_.noteMarked();
        chunk_.waitForMarks();
        chunk_.claim();
        std::atomic<bool> isMarked{false};
        std::thread driver{[&] {
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
            isMarked = true;
            chunk_.noteMarked();
        }};
        chunk_.waitForMarks();
        EXPECT_TRUE(isMarked);
        driver.join();
        chunk_.takeBackAny();
        chunk_.end();
    }
}

TEST_F(ChunkTest, WhatIsTakenBackIsNotClaimed) {
    add(3);
    EXPECT_TRUE(chunk_.takeBack(entries_[1]));
    EXPECT_FALSE(chunk_.takeBack(entries_[1])) << "twice";
    EXPECT_EQ(chunk_.size(), 2U);
    EXPECT_EQ(chunk_.claimed(), 0U);
    EXPECT_EQ(chunk_.claim().entry, &entries_[0]);
    EXPECT_FALSE(chunk_.takeBack(entries_[0])) << "it was claimed";
    EXPECT_EQ(chunk_.takeBackAny(), &entries_[2]);
    EXPECT_EQ(chunk_.takeBackAny(), nullptr);
    EXPECT_EQ(chunk_.claim().entry, nullptr);
    EXPECT_EQ(chunk_.claimed(), 1U);
    HookEntry stranger{kNothing, nullptr};
    EXPECT_FALSE(chunk_.takeBack(stranger));
}

TEST_F(ChunkTest, HoldsASetNumber) {
    std::vector<std::unique_ptr<HookEntry>> many;
    for (std::size_t i = 0; i < Chunk::kSize; ++i) {
        EXPECT_FALSE(chunk_.isFull());
        many.push_back(std::make_unique<HookEntry>(kNothing, nullptr));
        chunk_.add(*many.back());
    }
    EXPECT_TRUE(chunk_.isFull());
    EXPECT_EQ(claimAll().size(), Chunk::kSize);
    EXPECT_EQ(chunk_.current(), many.back().get());
}

TEST_F(ChunkTest, TheNextClaimSaysThatARunIsAwaited) {
    add(3);
    EXPECT_FALSE(chunk_.claim().isAwaited);
    chunk_.await();
    EXPECT_EQ(chunk_.current(), &entries_[0]);
    EXPECT_TRUE(chunk_.claim().isAwaited);
    EXPECT_FALSE(chunk_.claim().isAwaited) << "once";
}

TEST_F(ChunkTest, ForgetsWhatDiesInItsOwnRun) {
    add(2);
    chunk_.claim();
    chunk_.forgetCurrent();
    EXPECT_EQ(chunk_.current(), nullptr);
    EXPECT_EQ(chunk_.claimed(), 1U);
    EXPECT_EQ(chunk_.claim().entry, &entries_[1]);
}

TEST_F(ChunkTest, OfTwoThreadsOneHasAnEntry) {
    for (int round = 0; round < 2'000; ++round) {
        add(3);
        std::atomic<int> takenBack{0};
        std::size_t claimed = 0;
        together(2, [&](std::size_t thread) {
            if (thread == 0)
                claimed = claimAll().size();
            else
                for (HookEntry const& entry : entries_) takenBack += chunk_.takeBack(entry) ? 1 : 0;
        });
        ASSERT_EQ(claimed + static_cast<std::size_t>(takenBack.load()), 3U);
        ASSERT_EQ(chunk_.claimed(), claimed);
        chunk_.end();
    }
}

}  // namespace
}  // namespace timingwheel::detail
