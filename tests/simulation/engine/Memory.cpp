#include "Memory.h"

#include "Report.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/mman.h>

namespace timingwheel::test::simulation {

namespace {

// ---- the heap of a run, and what is known of each of its words ---------------------------------

constexpr std::size_t kHeap = std::size_t{1} << 25;
constexpr std::size_t kGranule = 4;
constexpr int kMostStaleInARow = 3;
// The same address in each run and process, wherever the system puts other things.
constexpr std::uintptr_t kHeapAt = 0x5000'0000'0000;

struct Shadow {
    std::uint32_t wroteAt;
    ThreadId wroteBy;
    bool isFreed;
    std::array<std::uint32_t, kMostThreads> readAt;
};

void* reserve(void* at, std::size_t size) noexcept {
    void* const memory =
        mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || (at != nullptr && memory != at))
        fail("no memory for the simulation's heap");
    return memory;
}

std::uintptr_t heapEnd = kHeapAt;
Shadow* shadows = nullptr;

bool isOnHeap(void const* where) noexcept {
    auto const address = reinterpret_cast<std::uintptr_t>(where);
    return address >= kHeapAt && address < kHeapAt + kHeap;
}

template <class Do>
void forEachShadow(void const* where, std::size_t size, Do&& act) {
    std::uintptr_t const offset = reinterpret_cast<std::uintptr_t>(where) - kHeapAt;
    for (std::size_t i = offset / kGranule; i <= (offset + size - 1) / kGranule; ++i)
        act(shadows[i]);
}

bool isReleasing(Order order) noexcept {
    return order == Order::release || order == Order::acquireRelease || order == Order::sequential;
}
bool isAcquiring(Order order) noexcept {
    return order == Order::consume || order == Order::acquire || order == Order::acquireRelease ||
           order == Order::sequential;
}

std::uint64_t valueAt(void const* where, std::size_t size) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, where, size);
    return value;
}

}  // namespace

void* Memory::allocate(std::size_t size, std::size_t alignment) noexcept {
    if (shadows == nullptr) {
        reserve(reinterpret_cast<void*>(kHeapAt), kHeap);
        shadows = static_cast<Shadow*>(reserve(nullptr, kHeap / kGranule * sizeof(Shadow)));
    }
    // A gap behind each block, which nobody owns.
    std::uintptr_t const at = (heapEnd + alignment - 1) / alignment * alignment;
    heapEnd = at + std::max<std::size_t>(size, 1) + kGranule;
    if (heapEnd > kHeapAt + kHeap) fail("the simulation's heap is full");
    return std::memset(reinterpret_cast<void*>(at), 0xA5, size);
}

bool Memory::owns(void const* where) noexcept { return isOnHeap(where); }

void Memory::allocated(Actor self, void* where, std::size_t size) {
    size = std::max<std::size_t>(size, 1);
    sizes_[reinterpret_cast<std::uintptr_t>(where)] = size;
    forEachShadow(where, size, [self](Shadow& shadow) {
        shadow = {self.clock[self.thread], self.thread, false, {}};
    });
}

void Memory::free(Actor self, void* where) {
    auto const known = sizes_.find(reinterpret_cast<std::uintptr_t>(where));
    if (known == sizes_.end()) fail("frees what is no block, or was freed");
    write(self, where, known->second);
    forEachShadow(where, known->second, [](Shadow& shadow) { shadow.isFreed = true; });
    sizes_.erase(known);
}

void Memory::read(Actor self, void const* where, std::size_t size) {
    if (!isOnHeap(where)) return;
    forEachShadow(where, size, [self](Shadow& shadow) {
        if (shadow.isFreed) fail("reads memory that was freed");
        if (!self.clock.hasSeen(shadow.wroteBy, shadow.wroteAt))
            fail("a race: reads what thread " + std::to_string(shadow.wroteBy) + " wrote");
        shadow.readAt[self.thread] = self.clock[self.thread];
    });
}

void Memory::write(Actor self, void* where, std::size_t size) {
    if (!locations_.empty()) forgetAtomics(where, size);
    if (!isOnHeap(where)) return;
    forEachShadow(where, size, [self](Shadow& shadow) {
        if (shadow.isFreed) fail("writes to memory that was freed");
        if (!self.clock.hasSeen(shadow.wroteBy, shadow.wroteAt))
            fail("a race: writes what thread " + std::to_string(shadow.wroteBy) + " wrote");
        for (ThreadId reader = 0; reader < kMostThreads; ++reader)
            if (!self.clock.hasSeen(reader, shadow.readAt[reader]))
                fail("a race: writes what thread " + std::to_string(reader) + " read");
        shadow.wroteBy = self.thread;
        shadow.wroteAt = self.clock[self.thread];
        shadow.readAt = {};
    });
}

// ---- atomics ----------------------------------------------------------------------------------

/// A plain write begins the life of another object.
void Memory::forgetAtomics(void const* where, std::size_t size) {
    auto const begin = reinterpret_cast<std::uintptr_t>(where);
    auto const first = locations_.lower_bound(begin);
    locations_.erase(first, locations_.lower_bound(begin + size));
}

Memory::Location& Memory::locationOf(Actor self, void const* where, std::size_t size) {
    read(self, where, size);  // races with plain writes, and with free
    Location& location = locations_[reinterpret_cast<std::uintptr_t>(where)];
    if (location.stores.empty()) {
        location.where = const_cast<void*>(where);
        location.size = size;
        location.stores.push_back({.value = valueAt(where, size)});
    }
    return location;
}

std::uint64_t Memory::oldestVisible(Actor self, Location const& location, Order order) noexcept {
    std::uint64_t oldest = location.atBarrier;
    if (order == Order::sequential) oldest = std::max(oldest, location.sequential);
    for (std::uint64_t i = location.stores.size(); i-- > oldest;) {
        Store const& store = location.stores[i];
        if (self.clock.hasSeen(store.thread, store.epoch)) {
            oldest = i;
            break;
        }
    }
    // What somebody read, and told of, is known as well.
    for (ThreadId reader = 0; reader < kMostThreads; ++reader) {
        auto const& readings = location.readings[reader];
        for (auto reading = readings.rbegin(); reading != readings.rend(); ++reading) {
            if (!self.clock.hasSeen(reader, reading->epoch)) continue;
            oldest = std::max(oldest, reading->store);
            break;
        }
    }
    return oldest;
}

void Memory::barrierOfAllThreads() noexcept {
    for (auto& [where, location] : locations_) location.atBarrier = location.stores.size() - 1;
}

/// Which store a load reads.
std::uint64_t Memory::choose(Actor self, Location const& location, Order order) {
    std::uint64_t const last = location.stores.size() - 1;
    if (location.staleInARow[self.thread] == kMostStaleInARow) return last;
    return last - choices_.whichStore(last - oldestVisible(self, location, order) + 1);
}

std::uint64_t Memory::readFrom(Actor self, Location& location, std::uint64_t index, Order order) {
    if (isAcquiring(order)) self.clock.join(location.stores[index].released);
    if (order == Order::sequential) location.sequential = std::max(location.sequential, index);
    auto& readings = location.readings[self.thread];
    if (readings.empty() || readings.back().store < index)
        readings.push_back({self.clock[self.thread], index});
    bool const isStale = index + 1 < location.stores.size();
    if (isStale) ++report().staleLoads;
    location.staleInARow[self.thread] = isStale ? location.staleInARow[self.thread] + 1 : 0;
    return location.stores[index].value;
}

std::uint64_t Memory::newest(Actor self, Location& location, Order order) {
    return readFrom(self, location, location.stores.size() - 1, order);
}

std::uint64_t Memory::load(Actor self, void const* where, std::size_t size, Order order) {
    Location& location = locationOf(self, where, size);
    return readFrom(self, location, choose(self, location, order), order);
}

/// `modifies`: it is part of a read-modify-write, which goes on with the release sequence that it
/// read from. A store of its own ends that.
void Memory::append(Actor self, Location& location, std::uint64_t value, Order order,
                    bool modifies) {
    Store store{.value = value, .thread = self.thread, .epoch = self.clock[self.thread]};
    if (modifies) store.released = location.stores.back().released;
    if (isReleasing(order)) store.released.join(self.clock);
    location.stores.push_back(store);
    if (order == Order::sequential) location.sequential = location.stores.size() - 1;
    std::memcpy(location.where, &value, location.size);
    self.clock.tick(self.thread);
}

void Memory::store(Actor self, void* where, std::size_t size, std::uint64_t value, Order order) {
    append(self, locationOf(self, where, size), value, order, false);
}

bool Memory::compareExchange(Actor self, void* where, std::size_t size, std::uint64_t& expected,
                             std::uint64_t desired, bool weak, Order success, Order failure) {
    Location& location = locationOf(self, where, size);
    std::uint64_t const last = location.stores.size() - 1;
    std::uint64_t index = last;
    if (location.stores[last].value != expected || (weak && choices_.isSpurious())) {
        // It fails, which is a load.
        index = choose(self, location, failure);
        if (!weak && location.stores[index].value == expected) index = last;
        expected = readFrom(self, location, index, failure);
        return false;
    }
    // It finds what it expects, unless it reads an older store that is something else.
    index = choose(self, location, failure);
    if (location.stores[index].value != expected) {
        expected = readFrom(self, location, index, failure);
        return false;
    }
    readFrom(self, location, last, success);
    append(self, location, desired, success, true);
    return true;
}

}  // namespace timingwheel::test::simulation
