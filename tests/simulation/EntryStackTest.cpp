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
            std::size_t taken = 0;
            for (auto all = stack.takeAll(); !all.empty(); ++taken) all.takeFirst();
            auto rest = Stack::inOrder(stack.close());
            for (; !rest.empty(); ++taken) rest.takeFirst();
            other.join();
            if (!isIn) detail::FirstLink::setNext(second, nullptr);  // as whoever is refused does
            require(isFirstIn, "an open stack refused an entry");
            require(taken == 1 + std::size_t{isIn}, "an entry was taken twice, or never");
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
