// New timeouts between callers and the worker: who has each of them, whoever comes when.

#include "Trial.h"
#include "core/flat/CellQueue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

// Shows G3, G4.

namespace timingwheel::test::simulation {
namespace {

using detail::CellQueue;

/// The worker's side: what it has taken, in order, and how many were taken back.
struct Taken {
    explicit Taken(CellQueue& from) : queue{from} {}

    auto visit() {
        return [this](TimerTaskEntry& entry) {
            // Written by who added it: a race if that is not seen.
            require(detail::EntryLinks::cell(entry) != nullptr, "it is there too early");
            entries.push_back(&entry);
            return true;
        };
    }
    void take() { takenBack += queue.take(SIZE_MAX, visit()); }
    void takeRest() { takenBack += queue.takeRest(visit()); }
    std::size_t timesOf(TimerTaskEntry const& entry) const {
        std::size_t times = 0;
        for (TimerTaskEntry const* each : entries) times += each == &entry ? 1 : 0;
        return times;
    }

    CellQueue& queue;
    std::vector<TimerTaskEntry*> entries;
    std::size_t takenBack = 0;
};

TEST(CellQueueInterleavings, EachEntryIsTakenOnceOrRefused) {
    expectAll(
        "G3", "interleavings of an addition and a worker that stops with an entry lost",
        [] {
            CellQueue queue;
            queue.open();
            std::vector<TimerTaskEntry> entries(2);  // on the heap, where races are seen
            TimerTaskEntry& first = entries[0];
            TimerTaskEntry& second = entries[1];
            CellQueue::Added added{};
            std::thread caller{[&] { added = queue.add(second); }};
            require(queue.add(first) == CellQueue::Added::yes, "an open queue refused an entry");
            Taken taken{queue};
            taken.take();
            taken.take();
            queue.close();
            taken.takeRest();
            caller.join();
            require(taken.timesOf(first) == 1, "the first entry was taken twice, or never");
            require(taken.timesOf(second) == (added == CellQueue::Added::yes ? 1U : 0U),
                    "the second was taken twice, or never");
        },
        4);
}

TEST(CellQueueInterleavings, AnEntryIsTakenOrTakenBack) {
    expectAll(
        "G4", "interleavings of a take-back and a worker with an entry lost, or with two",
        [] {
            CellQueue queue;
            queue.open();
            std::vector<TimerTaskEntry> entries(2);  // on the heap, where races are seen
            TimerTaskEntry& first = entries[0];
            TimerTaskEntry& second = entries[1];
            bool isBack = false;
            std::thread caller{[&] {
                require(queue.add(first) == CellQueue::Added::yes, "it is refused");
                isBack = CellQueue::takeBack(first);
                require(queue.add(second) == CellQueue::Added::yes, "it is refused");
            }};
            Taken taken{queue};
            taken.take();
            taken.take();
            caller.join();
            queue.close();
            taken.takeRest();
            require(taken.timesOf(first) == (isBack ? 0U : 1U), "it has two owners, or none");
            require(taken.takenBack == (isBack ? 1U : 0U), "it is counted wrongly");
            require(taken.timesOf(second) == 1, "the second was taken twice, or never");
        },
        5);
}

TEST(CellQueueInterleavings, AnEntryComesAfterThoseThatWereAddedBefore) {
    expectAll(
        "G12", "interleavings of two callers and a worker that change the order",
        [] {
            CellQueue queue;
            queue.open();
            std::vector<TimerTaskEntry> entries(3);
            std::thread other{[&] { static_cast<void>(queue.add(entries[2])); }};
            std::thread caller{[&] {
                for (std::size_t i : {0U, 1U})
                    require(queue.add(entries[i]) == CellQueue::Added::yes, "it is refused");
            }};
            Taken taken{queue};
            taken.take();
            taken.take();
            other.join();
            caller.join();
            queue.close();
            taken.takeRest();
            require(taken.entries.size() == 3, "an entry is lost");
            std::erase(taken.entries, &entries[2]);
            require(taken.entries.front() == &entries[0], "a later one overtook an earlier one");
        },
        3);
}

// G2
TEST(CellQueueInterleavings, WhatWasAddedBeforeIsTakenWhoeverAddsMeanwhile) {
    expectAll(
        "G2", "interleavings of an addition and a worker that leaves an earlier one for later",
        [] {
            CellQueue queue;
            queue.open();
            std::vector<TimerTaskEntry> entries(2);  // on the heap, where races are seen
            TimerTaskEntry& first = entries[0];
            TimerTaskEntry& second = entries[1];
            require(queue.add(first) == CellQueue::Added::yes, "it is refused");
            std::thread caller{[&] { static_cast<void>(queue.add(second)); }};
            Taken taken{queue};
            taken.take();
            require(taken.timesOf(first) == 1, "it is left for later");
            caller.join();
            queue.close();
            taken.takeRest();
            require(taken.timesOf(second) == 1, "the second was taken twice, or never");
        },
        4);
}

// The cells of the first segment are part of the row, those of the next are made when needed.
TEST(CellQueueInterleavings, TwoCallersMayNeedTheSameNewSegment) {
    expectAll(
        "G3", "interleavings of two callers that make one segment with an entry lost, or a race",
        [] {
            auto const queue = std::make_unique<CellQueue>();
            queue->open();
            std::vector<TimerTaskEntry> entries(66);
            auto const add = [&](std::size_t i) {
                require(queue->add(entries[i]) == CellQueue::Added::yes, "it is refused");
            };
            for (std::size_t i = 0; i < 64; ++i) add(i);
            std::thread caller{[&] { add(64); }};
            add(65);
            caller.join();
            Taken taken{*queue};
            taken.take();
            require(taken.entries.size() == entries.size(), "an entry is lost");
        },
        4);
}

// Bug pattern: a caller finds the segment that was refused in the row's last turn, and the worker
// waits for ever for one that is made.
TEST(CellQueueInterleavings, WhatWasRefusedForWantOfMemoryIsTriedAgainInTheNextTurn) {
    expectAll("G3", "interleavings of a caller and a row's next turn that wait for ever", [] {
        CellQueue queue;
        queue.open();
        std::vector<TimerTaskEntry> entries(65 + 1 + 65);
        std::size_t added = 0;
        auto const add = [&](std::size_t upTo) {
            CellQueue::Added last = CellQueue::Added::yes;
            while (added < upTo) last = queue.add(entries[added++]);
            return last;
        };
        add(64);
        {
            NoMemory const none;
            require(add(65) == CellQueue::Added::noMemory, "there is no memory");
        }
        Taken taken{queue};
        taken.take();
        add(66);  // in the other row
        std::thread caller{[&] { add(entries.size()); }};
        taken.take();  // gives callers the first row again
        caller.join();
        queue.close();
        taken.takeRest();
    });
}

// Bug pattern: the worker has read what it puts back, and the canceller frees it too early.
TEST(CellQueueInterleavings, WhatIsPutBackMayBeTakenBackAndFreed) {
    expectAll(
        "G11", "interleavings of a worker that puts an entry back and a caller that frees it first",
        [] {
            CellQueue queue;
            queue.open();
            auto entry = std::make_unique<TimerTaskEntry>();
            require(queue.add(*entry) == CellQueue::Added::yes, "it is refused");
            std::thread caller{[&] {
                if (CellQueue::takeBack(*entry)) entry.reset();
            }};
            Taken taken{queue};
            taken.takenBack = queue.take(SIZE_MAX, [](TimerTaskEntry& each) {
                static_cast<void>(each.deadline());
                return false;  // as if there were no memory for its slot
            });
            caller.join();
            queue.close();
            taken.takeRest();
            require(taken.entries.size() + taken.takenBack == 1, "it is lost, or there twice");
        },
        5);
}

}  // namespace
}  // namespace timingwheel::test::simulation
