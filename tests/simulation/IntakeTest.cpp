// New timeouts between callers and the worker: who has each of them, whoever comes when.

#include "Trial.h"
#include "driver/Intake.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace timingwheel::test::simulation {
namespace {

using detail::Intake;

/// The worker's side: what it has taken, in order, and how many were taken back.
struct Taken {
    explicit Taken(Intake& queue) : intake{queue} {}

    auto visit() {
        return [this](TimerTaskEntry& entry) {
            entries.push_back(&entry);
            return true;
        };
    }
    void take() { takenBack += intake.take(SIZE_MAX, visit()); }
    void takeRest() { takenBack += intake.takeRest(visit()); }
    std::size_t timesOf(TimerTaskEntry const& entry) const {
        std::size_t times = 0;
        for (TimerTaskEntry const* each : entries) times += each == &entry ? 1 : 0;
        return times;
    }

    Intake& intake;
    std::vector<TimerTaskEntry*> entries;
    std::size_t takenBack = 0;
};

TEST(IntakeInterleavings, EachEntryIsTakenOnceOrRefused) {
    expectAll(
        "G3", "interleavings of an addition and a worker that stops with an entry lost",
        [] {
            Intake intake;
            intake.open();
            TimerTaskEntry first;
            TimerTaskEntry second;
            Intake::Added added{};
            std::thread caller{[&] { added = intake.add(second); }};
            require(intake.add(first) == Intake::Added::yes, "an open intake refused an entry");
            Taken taken{intake};
            taken.take();
            taken.take();
            intake.close();
            taken.takeRest();
            caller.join();
            require(taken.timesOf(first) == 1, "the first entry was taken twice, or never");
            require(taken.timesOf(second) == (added == Intake::Added::yes ? 1U : 0U),
                    "the second was taken twice, or never");
        },
        4);
}

TEST(IntakeInterleavings, AnEntryIsTakenOrTakenBack) {
    expectAll(
        "G4", "interleavings of a take-back and a worker with an entry lost, or with two",
        [] {
            Intake intake;
            intake.open();
            TimerTaskEntry first;
            TimerTaskEntry second;
            bool isBack = false;
            std::thread caller{[&] {
                require(intake.add(first) == Intake::Added::yes, "it is refused");
                isBack = Intake::takeBack(first);
                require(intake.add(second) == Intake::Added::yes, "it is refused");
            }};
            Taken taken{intake};
            taken.take();
            taken.take();
            caller.join();
            intake.close();
            taken.takeRest();
            require(taken.timesOf(first) == (isBack ? 0U : 1U), "it has two owners, or none");
            require(taken.takenBack == (isBack ? 1U : 0U), "it is counted wrongly");
            require(taken.timesOf(second) == 1, "the second was taken twice, or never");
        },
        5);
}

TEST(IntakeInterleavings, AnEntryComesAfterThoseThatWereAddedBefore) {
    expectAll(
        "G12", "interleavings of two callers and a worker that change the order",
        [] {
            Intake intake;
            intake.open();
            std::vector<TimerTaskEntry> entries(3);
            std::thread other{[&] { static_cast<void>(intake.add(entries[2])); }};
            std::thread caller{[&] {
                for (std::size_t i : {0U, 1U})
                    require(intake.add(entries[i]) == Intake::Added::yes, "it is refused");
            }};
            Taken taken{intake};
            taken.take();
            taken.take();
            other.join();
            caller.join();
            intake.close();
            taken.takeRest();
            require(taken.entries.size() == 3, "an entry is lost");
            std::erase(taken.entries, &entries[2]);
            require(taken.entries.front() == &entries[0], "a later one overtook an earlier one");
        },
        3);
}

// Bug pattern: the worker has read what it puts back, and the canceller frees it too early.
TEST(IntakeInterleavings, WhatIsPutBackMayBeTakenBackAndFreed) {
    expectAll(
        "G11", "interleavings of a worker that puts an entry back and a caller that frees it first",
        [] {
            Intake intake;
            intake.open();
            auto entry = std::make_unique<TimerTaskEntry>();
            require(intake.add(*entry) == Intake::Added::yes, "it is refused");
            std::thread caller{[&] {
                if (Intake::takeBack(*entry)) entry.reset();
            }};
            Taken taken{intake};
            taken.takenBack = intake.take(SIZE_MAX, [](TimerTaskEntry& each) {
                static_cast<void>(each.deadline());
                return false;  // as if there were no memory for its slot
            });
            caller.join();
            intake.close();
            taken.takeRest();
            require(taken.entries.size() + taken.takenBack == 1, "it is lost, or there twice");
        },
        5);
}

}  // namespace
}  // namespace timingwheel::test::simulation
