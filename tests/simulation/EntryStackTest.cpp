// The lock-free stack of what is cancelled, and three threads: all that may happen.

#include "Trial.h"
#include "driver/EntryStack.h"

#include <gtest/gtest.h>

#include <thread>

// Shows G3.

namespace timingwheel::test::simulation {
namespace {

TEST(EntryStackInterleavings, EachEntryIsTakenOnce) {
    expectAll(
        "G3", "interleavings of two that push and one that takes with an entry lost",
        [] {
            detail::EntryStack stack;
            TimerTaskEntry first;
            TimerTaskEntry second;
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
