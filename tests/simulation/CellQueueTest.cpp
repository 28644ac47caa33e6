// New timeouts between callers and the worker: who has each of them, whoever comes when.

#include "Trial.h"
#include "driver/CellQueue.h"

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
            TimerTaskEntry first;
            TimerTaskEntry second;
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
            TimerTaskEntry first;
            TimerTaskEntry second;
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
