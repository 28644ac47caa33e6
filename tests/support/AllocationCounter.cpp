#include <support/AllocationCounter.h>
#include <support/Platform.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace timingwheel::test {

namespace {

// What is watched: one for each thread, one for all together, and one for all but some.
struct Watch {
    std::atomic<int> counters{0};
    std::atomic<std::size_t> allocations{0};
    std::atomic<std::size_t> deallocations{0};

    std::atomic<bool> failing{false};
    std::atomic<bool> forEver{false};
    std::atomic<long long> untilFailure{0};
    std::atomic<bool> failed{false};

    void countAllocation() noexcept {
        if (counters.load(std::memory_order_relaxed) > 0)
            allocations.fetch_add(1, std::memory_order_relaxed);
    }

    void countDeallocation() noexcept {
        if (counters.load(std::memory_order_relaxed) > 0)
            deallocations.fetch_add(1, std::memory_order_relaxed);
    }

    bool mustFail() noexcept {
        if (!failing.load(std::memory_order_acquire)) return false;
        long long const left = untilFailure.fetch_sub(1, std::memory_order_relaxed);
        if (left > 1 || (left < 1 && !forEver.load(std::memory_order_relaxed))) return false;
        failed.store(true, std::memory_order_relaxed);
        return true;
    }
};

constinit thread_local Watch thisThread;
constinit Watch allThreads;
constinit Watch otherThreads;
constinit std::atomic<long long> living{0};
constinit std::atomic<long long> livingAligned{0};  // of these
constinit thread_local int leftOut = 0;  // how many objects leave this thread out of the last

Watch& watchOf(Threads threads) noexcept {
    if (threads == Threads::thisOne) return thisThread;
    return threads == Threads::all ? allThreads : otherThreads;
}

// Those that an allocation of this thread concerns.
template <class Use>
void forEachWatch(Use&& use) noexcept {
    use(thisThread);
    use(allThreads);
    if (leftOut == 0) use(otherThreads);
}

// Alignment 0 is malloc's own.
void* allocateOrNull(std::size_t size, std::size_t alignment = 0) noexcept {
    bool mustFail = false;
    forEachWatch([&](Watch& watch) { mustFail = watch.mustFail() || mustFail; });
    if (mustFail) return nullptr;
    forEachWatch([](Watch& watch) { watch.countAllocation(); });
    if (size == 0) size = 1;
    void* const memory =
        alignment == 0 ? std::malloc(size)
                       : allocateAligned(alignment, (size + alignment - 1) / alignment * alignment);
    if (memory == nullptr) return nullptr;
    living.fetch_add(1, std::memory_order_relaxed);
    if (alignment != 0) livingAligned.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

void* allocate(std::size_t size, std::size_t alignment = 0) {
    if (void* const memory = allocateOrNull(size, alignment)) return memory;
    throw std::bad_alloc{};
}

void countDeallocation() noexcept {
    forEachWatch([](Watch& watch) { watch.countDeallocation(); });
    living.fetch_sub(1, std::memory_order_relaxed);
}

void deallocate(void* memory) noexcept {
    if (memory == nullptr) return;
    countDeallocation();
    std::free(memory);
}

void deallocateAligned(void* memory) noexcept {
    if (memory == nullptr) return;
    countDeallocation();
    livingAligned.fetch_sub(1, std::memory_order_relaxed);
    freeAligned(memory);
}

}  // namespace

AllocationCounter::AllocationCounter(Threads threads) noexcept
    : threads_{threads},
      allocationsBefore_{watchOf(threads).allocations.load()},
      deallocationsBefore_{watchOf(threads).deallocations.load()} {
    ++watchOf(threads).counters;
    if (threads == Threads::others) ++leftOut;
}

AllocationCounter::~AllocationCounter() {
    --watchOf(threads_).counters;
    if (threads_ == Threads::others) --leftOut;
}

std::size_t AllocationCounter::allocations() const noexcept {
    return watchOf(threads_).allocations.load() - allocationsBefore_;
}

std::size_t AllocationCounter::deallocations() const noexcept {
    return watchOf(threads_).deallocations.load() - deallocationsBefore_;
}

long long livingBlocks() noexcept { return living.load(std::memory_order_relaxed); }
long long livingAlignedBlocks() noexcept { return livingAligned.load(std::memory_order_relaxed); }

AllocationFailure::AllocationFailure(std::size_t kth, Repeat repeat, Threads threads) noexcept
    : threads_{threads} {
    Watch& watch = watchOf(threads);
    watch.untilFailure = static_cast<long long>(kth);
    watch.forEver = repeat == Repeat::forEver;
    watch.failed = false;
    if (threads == Threads::others) ++leftOut;
    watch.failing.store(true, std::memory_order_release);
}

AllocationFailure::~AllocationFailure() {
    watchOf(threads_).failing = false;
    if (threads_ == Threads::others) --leftOut;
}

bool AllocationFailure::happened() const noexcept { return watchOf(threads_).failed; }

}  // namespace timingwheel::test

using timingwheel::test::allocate;
using timingwheel::test::allocateOrNull;
using timingwheel::test::deallocate;
using timingwheel::test::deallocateAligned;

// All of them, not only those that the others call by default: a sanitizer replaces each one.

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
    return allocateOrNull(size);
}
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
    return allocateOrNull(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
    return allocateOrNull(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
    return allocateOrNull(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept { deallocate(memory); }
void operator delete[](void* memory) noexcept { deallocate(memory); }
void operator delete(void* memory, std::size_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::size_t) noexcept { deallocate(memory); }
void operator delete(void* memory, std::nothrow_t const&) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::nothrow_t const&) noexcept { deallocate(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { deallocateAligned(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { deallocateAligned(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    deallocateAligned(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    deallocateAligned(memory);
}
void operator delete(void* memory, std::align_val_t, std::nothrow_t const&) noexcept {
    deallocateAligned(memory);
}
void operator delete[](void* memory, std::align_val_t, std::nothrow_t const&) noexcept {
    deallocateAligned(memory);
}
