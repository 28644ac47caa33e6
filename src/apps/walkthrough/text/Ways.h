#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace walkthrough {

/// What it took to run some tasks, each at its deadline.
struct Cost {
    char const* way;
    std::size_t tasks;
    std::size_t cancelled = 0;
    std::size_t onTime = 0;        ///< tasks that ran exactly when they were due
    std::size_t slots = 0;         ///< of all rings
    std::int64_t comparisons = 0;  ///< of two times, to find a place or the earliest
    std::int64_t lookedAt = 0;     ///< times a task was looked at, but was not due and stayed there
    std::int64_t moves = 0;        ///< times a task was put somewhere else
    std::int64_t wakeUps = 0;      ///< times the thread woke
};

/// Tasks that are scheduled at time 0 and due after `delays`, in milliseconds, at least 1. Then all
/// are cancelled except every `keepOneIn`th.
struct Load {
    std::vector<std::int64_t> delays;
    std::size_t keepOneIn = 1;

    bool isCancelled(std::size_t task) const { return task % keepOneIn != 0; }
};

/// The ways to run many tasks later, from the obvious one to levels. Each schedules the tasks of a
/// load, then moves time on from wake-up to wake-up until all have run. Nothing sleeps: everything
/// is counted.

/// A list in the order of deadlines; a new task looks for its place from the end.
Cost sortedList(Load const& load);
/// A std::priority_queue. It cannot remove, so what was cancelled stays until it comes to the top.
Cost heap(Load const& load);
/// A slot for each millisecond and tasks with rounds to go: the library's HashedWheel, whose slots
/// are rounded up to a power of two.
Cost ringWithRounds(Load const& load, std::int64_t slots);
/// The library's TimingWheel, called at every millisecond.
Cost levelsThatTick(Load const& load, std::int64_t wheelSize);
/// The library's TimingWheel, called when its delay heap says so. The heap's comparisons are those
/// of a std::priority_queue that is given the same buckets.
Cost levels(Load const& load, std::int64_t wheelSize);

/// All of them, in the order in which the text has them.
std::vector<Cost> allWays(Load const& load);

/// `count` delays from 1 to `longest`, spread evenly at random, the same each time.
std::vector<std::int64_t> spreadDelays(std::size_t count, std::int64_t longest);

}  // namespace walkthrough
