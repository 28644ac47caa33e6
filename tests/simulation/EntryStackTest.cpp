// The lock-free stack of what arrives, and three threads: all that may happen.

#include "Trial.h"
#include "driver/EntryStack.h"

#include <gtest/gtest.h>

#include <thread>

namespace timingwheel::test::simulation {
namespace {

using Stack = detail::EntryStack<detail::FirstLink>;

TEST(EntryStackInterleavings, EachEntryIsTakenOnceOrRefused) {
    expectAll(
        "G3", "interleavings of two that push and one that takes with an entry lost",
        [] {
            Stack stack;
            stack.open();
            TimerTaskEntry first;
            TimerTaskEntry second;
            bool isIn = false;
            std::thread other{[&] { isIn = stack.push(second); }};
            bool const isFirstIn = stack.push(first);
            int firstTaken = 0;
            int secondTaken = 0;
            auto const take = [&](auto all) {
                while (!all.empty()) ++(&all.takeFirst() == &first ? firstTaken : secondTaken);
            };
            take(stack.takeAll());
            take(Stack::inOrder(stack.close()));
            other.join();
            if (!isIn) detail::FirstLink::setNext(second, nullptr);  // as whoever is refused does
            require(isFirstIn, "an open stack refused an entry");
            require(firstTaken == 1, "the first entry was taken twice, or never");
            require(secondTaken == (isIn ? 1 : 0), "the second was taken twice, or never");
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
