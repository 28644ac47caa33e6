#include "core/driver/book/RunningTasks.h"

#include <timingwheel/detail/TimeoutEntry.h>

#include <gtest/gtest.h>

#include <vector>

namespace timingwheel::detail {
namespace {

class RunningTasksTest : public testing::Test {
protected:
    RunningTask& add(RunningTask& task, TimeoutEntry* entry) {
        task.entry = entry;
        running_.add(task);
        return task;
    }
    std::vector<TimeoutEntry*> entries() const {
        std::vector<TimeoutEntry*> all;
        running_.forEach([&](TimeoutEntry& entry) { all.push_back(&entry); });
        return all;
    }

    static constexpr HookOperations kOperations{{true}, nullptr};
    HookEntry one_{kOperations, nullptr};
    HookEntry other_{kOperations, nullptr};
    int here_ = 0;  // threads are addresses
    int there_ = 0;
    RunningTask first_{&here_};
    RunningTask second_{&there_};
    RunningTask third_{&here_};
    RunningTasks running_;
};

TEST_F(RunningTasksTest, KnowsWhatRunsUntilItIsRemoved) {
    EXPECT_TRUE(running_.empty());
    add(first_, &one_);
    add(second_, &other_);
    add(third_, &one_);
    EXPECT_EQ(running_.runs(), 3U);
    running_.remove(second_);  // from the middle
    EXPECT_EQ(second_.entry, nullptr);
    EXPECT_FALSE(running_.runs(other_));
    EXPECT_EQ(entries(), (std::vector<TimeoutEntry*>{&one_, &one_}));
    running_.remove(first_);
    EXPECT_TRUE(running_.runs(one_));
    running_.remove(third_);
    EXPECT_FALSE(running_.runs(one_));
    EXPECT_TRUE(running_.empty());
    EXPECT_EQ(running_.runs(), 3U);
}

TEST_F(RunningTasksTest, ARunElsewhereIsOfAnotherThreadAndOfThisEntryAndHasBegun) {
    add(first_, &one_);
    add(second_, &one_);
    EXPECT_TRUE(running_.runsElsewhere(one_, 2, &here_));
    EXPECT_FALSE(running_.runsElsewhere(one_, 1, &here_));  // it has begun later
    EXPECT_TRUE(running_.runsElsewhere(one_, 1, &there_));
    EXPECT_FALSE(running_.runsElsewhere(one_, 0, &there_));
    EXPECT_FALSE(running_.runsElsewhere(other_, 2, &here_));
}

TEST_F(RunningTasksTest, AForgottenEntryRunsNoMoreButItsRunGoesOn) {
    add(first_, &one_);
    add(second_, &other_);
    add(third_, &one_);
    running_.forget(one_);
    EXPECT_FALSE(running_.runs(one_));
    EXPECT_EQ(entries(), std::vector<TimeoutEntry*>{&other_});
    EXPECT_FALSE(running_.empty());
}

TEST_F(RunningTasksTest, TellsTheRunsOfOtherThreads) {
    EXPECT_FALSE(running_.hasOfOtherThread(&here_));
    add(first_, nullptr);
    EXPECT_FALSE(running_.hasOfOtherThread(&here_));
    EXPECT_TRUE(running_.hasOfOtherThread(&there_));
    add(second_, nullptr);
    EXPECT_TRUE(running_.hasOfOtherThread(&here_));
}

}  // namespace
}  // namespace timingwheel::detail
