#pragma once

#include "Choices.h"
#include "VectorClock.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace timingwheel::test::simulation {

enum class Order { relaxed, consume, acquire, release, acquireRelease, sequential };

/// A thread, as far as memory knows it.
struct Actor {
    ThreadId thread;
    VectorClock& clock;
};

/// What atomics may hold, and what plain memory may not be used for.
///
/// An atomic keeps its past stores. A load may read any of them that is not hidden: by a later
/// store that happened before the load, or by what was read before it (Lidbury and Donaldson,
/// "Dynamic race detection for C++11", 2017). So what is stale on some processor is stale here. The
/// order of an atomic's stores is that in which they were made, and no load reads what is stored
/// later: of what C++ allows, these two are left out. What a thread asks for again and again it
/// sees in the end.
///
/// Plain memory, as far as it is on the heap, is checked: two accesses, one of them a write, that
/// are not ordered by happens-before are a race (Flanagan and Freund, "FastTrack", 2009), and what
/// was freed must not be touched. It is not used again within a run.
class Memory {
public:
    explicit Memory(Choices& choices) noexcept : choices_{choices} {}

    std::uint64_t load(Actor self, void const* where, std::size_t size, Order order);
    void store(Actor self, void* where, std::size_t size, std::uint64_t value, Order order);
    /// Returns what was there before `change(before)`.
    template <class Change>
    std::uint64_t modify(Actor self, void* where, std::size_t size, Order order, Change&& change) {
        Location& location = locationOf(self, where, size);
        std::uint64_t const before = newest(self, location, order);
        append(self, location, change(before), order, true);
        return before;
    }
    /// True if `expected` was there, and is `desired` now.
    bool compareExchange(Actor self, void* where, std::size_t size, std::uint64_t& expected,
                         std::uint64_t desired, bool weak, Order success, Order failure);

    /// membarrier(2): what was stored so far, no thread misses from now on. It orders nothing else.
    void barrierOfAllThreads() noexcept;

    void read(Actor self, void const* where, std::size_t size);
    void write(Actor self, void* where, std::size_t size);

    static void* allocate(std::size_t size, std::size_t alignment) noexcept;
    void allocated(Actor self, void* where, std::size_t size);
    static bool owns(void const* where) noexcept;
    void free(Actor self, void* where);
    /// How many blocks were not freed so far.
    std::size_t livingBlocks() const noexcept { return sizes_.size(); }

private:
    struct Store {
        std::uint64_t value = 0;
        ThreadId thread = 0;
        std::uint32_t epoch = 0;  // 0: everybody has seen it
        VectorClock released{};   // what an acquiring load of it learns
    };
    struct Reading {
        std::uint32_t epoch;
        std::uint64_t store;
    };
    struct Location {
        void* where = nullptr;
        std::size_t size = 0;
        std::vector<Store> stores;
        std::vector<Reading> readings[kMostThreads];
        int staleInARow[kMostThreads] = {};
        std::uint64_t sequential = 0;  // the newest store that a seq_cst operation knew
        std::uint64_t atBarrier = 0;   // the newest one at the last barrier of all threads
    };

    Location& locationOf(Actor self, void const* where, std::size_t size);
    static std::uint64_t oldestVisible(Actor self, Location const& location, Order order) noexcept;
    std::uint64_t choose(Actor self, Location const& location, Order order);
    std::uint64_t readFrom(Actor self, Location& location, std::uint64_t index, Order order);
    std::uint64_t newest(Actor self, Location& location, Order order);
    void append(Actor self, Location& location, std::uint64_t value, Order order, bool modifies);
    void forgetAtomics(void const* where, std::size_t size);

    Choices& choices_;
    std::map<std::uintptr_t, Location> locations_;
    std::unordered_map<std::uintptr_t, std::size_t> sizes_;  // of what lives
};

}  // namespace timingwheel::test::simulation
