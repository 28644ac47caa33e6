// The lock-free stack of what is cancelled, and three threads: all that may happen.

#include "Trial.h"
#include "core/flat/EntryStack.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

// Shows G3.

namespace timingwheel::test::simulation {
namespace {

TEST(EntryStackInterleavings, EachEntryIsTakenOnce) {
    expectAll(
        "G3", "interleavings of two that push and one that takes with an entry lost",
        [] {
            detail::EntryStack stack;
            std::vector<TimerTaskEntry> entries(2);  // on the heap, where races are seen
            TimerTaskEntry& first = entries[0];
            TimerTaskEntry& second = entries[1];
            std::thread other{[&] { stack.push(second); }};
            stack.push(first);
            int firstTaken = 0;
            int secondTaken = 0;
            auto const take = [&](auto all) {
                while (!all.empty()) ++(&all.takeFirst() == &first ? firstTaken : secondTaken);
            };
            take(stack.takeAll());
            other.join();
            take(stack.takeAll());
            require(firstTaken == 1, "the first entry was taken twice, or never");
            require(secondTaken == 1, "the second was taken twice, or never");
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
