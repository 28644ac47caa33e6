#include "driver/EntryStack.h"

#include <gtest/gtest.h>

namespace timingwheel::detail {
namespace {

using Queue = EntryQueue<FirstLink>;

// A worker puts back what it finds no memory for, the only one too.
TEST(EntryQueue, TheOnlyEntryMayBePutBackAndOthersFollowIt) {
    TimerTaskEntry first;
    TimerTaskEntry second;
    Queue queue{&first, &first};
    ASSERT_EQ(&queue.takeFirst(), &first);
    ASSERT_TRUE(queue.empty());
    queue.putBack(first);
    queue.append(Queue{&second, &second});
    ASSERT_FALSE(queue.empty());
    EXPECT_EQ(&queue.takeFirst(), &first);
    ASSERT_FALSE(queue.empty());
    EXPECT_EQ(&queue.takeFirst(), &second);
    EXPECT_TRUE(queue.empty());
}

TEST(EntryQueue, AnotherEntryMayBePutIntoAnEmptyOne) {
    TimerTaskEntry first;
    TimerTaskEntry second;
    Queue queue;
    queue.putBack(first);
    queue.append(Queue{&second, &second});
    EXPECT_EQ(&queue.takeFirst(), &first);
    EXPECT_EQ(&queue.takeFirst(), &second);
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace timingwheel::detail
