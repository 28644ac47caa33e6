#include <support/AllocationCounter.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <thread>

// A counter that sees nothing would pass every test of "allocates nothing".

namespace timingwheel::test {
namespace {

using Repeat = AllocationFailure::Repeat;

// A compiler may leave out a new and its delete when nobody sees what comes between.
template <class T>
T* kept(T* memory) {
    static T* volatile sink;
    sink = memory;
    return sink;
}

TEST(AllocationCounter, CountsEveryFormOfNewAndDelete) {
    std::size_t allocations = 0;
    std::size_t deallocations = 0;
    {
        AllocationCounter const counter;
        delete kept(new int);
        delete[] kept(new int[10]);
        delete kept(new (std::nothrow) int);
        delete[] kept(new (std::nothrow) int[3]);
        ::operator delete(kept(::operator new(0)));
        allocations = counter.allocations();
        deallocations = counter.deallocations();
    }
    EXPECT_EQ(allocations, 5U);
    EXPECT_EQ(deallocations, 5U);
}

TEST(AllocationCounter, CountsEveryFormOfNewAndDeleteWithAlignment) {
    struct alignas(64) Wide {
        char bytes[64];
    };
    std::size_t allocations = 0;
    std::size_t deallocations = 0;
    {
        AllocationCounter const counter;
        delete kept(new Wide);
        delete[] kept(new Wide[3]);
        delete kept(new (std::nothrow) Wide);
        delete[] kept(new (std::nothrow) Wide[3]);
        allocations = counter.allocations();
        deallocations = counter.deallocations();
    }
    EXPECT_EQ(allocations, 4U);
    EXPECT_EQ(deallocations, 4U);
}

TEST(AllocationCounter, CountsOnlyWhileItLives) {
    AllocationCounter const outer;
    delete kept(new int);
    {
        AllocationCounter const inner;
        delete kept(new int);
        EXPECT_EQ(inner.allocations(), 1U);
    }
    EXPECT_EQ(outer.allocations(), 2U);
}

TEST(AllocationCounter, CountsWhatOtherThreadsAllocateOnlyWhenAskedTo) {
    std::size_t own = 0;
    std::size_t all = 0;
    std::size_t ofOthers = 0;
    std::thread{[&] {
        // Beside what the other threads of the program do, which here is to wait.
        AllocationCounter const everyone{Threads::all};
        AllocationCounter const others{Threads::others};
        AllocationCounter const counter;
        delete kept(new int);
        std::thread{[] { delete kept(new int); }}.join();
        own = counter.allocations();
        all = everyone.allocations();
        ofOthers = others.allocations();
    }}.join();
    EXPECT_EQ(ofOthers, 1U);
    EXPECT_EQ(all, own + ofOthers);
}

TEST(AllocationCounter, KeepsTheAlignmentThatWasAskedFor) {
    struct alignas(256) Aligned {
        char bytes[256];
    };
    Aligned* const aligned = kept(new Aligned);
    EXPECT_EQ(reinterpret_cast<std::size_t>(aligned) % 256, 0U);
    delete aligned;
}

TEST(AllocationFailure, FailsTheKthAllocationOnly) {
    void* first = nullptr;
    void* second = nullptr;
    void* third = nullptr;
    bool happenedAfterTheFirst = true;
    bool happened = false;
    {
        AllocationFailure const failure{2};
        first = kept(::operator new(8));
        happenedAfterTheFirst = failure.happened();
        second = kept(::operator new(8, std::nothrow));
        happened = failure.happened();
        third = kept(::operator new(8, std::nothrow));
    }
    EXPECT_NE(first, nullptr);
    EXPECT_FALSE(happenedAfterTheFirst);
    EXPECT_EQ(second, nullptr);
    EXPECT_TRUE(happened);
    EXPECT_NE(third, nullptr);
    ::operator delete(first);
    ::operator delete(third);
}

TEST(AllocationFailure, FailsFromTheKthAllocationOnForEver) {
    void* first = nullptr;
    void* second = nullptr;
    void* third = nullptr;
    {
        AllocationFailure const failure{2, Repeat::forEver};
        first = kept(::operator new(8));
        second = kept(::operator new(8, std::nothrow));
        third = kept(::operator new(8, std::nothrow));
    }
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(second, nullptr);
    EXPECT_EQ(third, nullptr);
    ::operator delete(first);
    delete kept(new int);  // fails no longer
}

TEST(AllocationFailure, ThrowsBadAlloc) {
    bool threw = false;
    {
        AllocationFailure const failure{1};
        try {
            delete kept(new int);
        } catch (std::bad_alloc const&) {
            threw = true;
        }
    }
    EXPECT_TRUE(threw);
}

// Starts the thread first, so that it is its own allocation that fails.
bool failsInAnotherThread(Threads threads) {
    std::atomic<bool> go{false};
    bool failed = false;
    std::thread other{[&] {
        while (!go) std::this_thread::yield();
        void* const memory = kept(::operator new(8, std::nothrow));
        failed = memory == nullptr;
        ::operator delete(memory);
    }};
    AllocationFailure const failure{1, Repeat::once, threads};
    go = true;
    other.join();
    EXPECT_EQ(failure.happened(), failed);
    return failed;
}

TEST(AllocationFailure, FailsInTheThreadThatMadeItUnlessThatIsLeftOut) {
    for (Threads const threads : {Threads::thisOne, Threads::all, Threads::others}) {
        void* memory = nullptr;
        {
            AllocationFailure const failure{1, Repeat::forEver, threads};
            memory = kept(::operator new(8, std::nothrow));
        }
        EXPECT_EQ(memory != nullptr, threads == Threads::others);
        ::operator delete(memory);
    }
}

TEST(AllocationFailure, FailsInOtherThreadsOnlyWhenAskedTo) {
    EXPECT_TRUE(failsInAnotherThread(Threads::all));
    EXPECT_TRUE(failsInAnotherThread(Threads::others));
    EXPECT_FALSE(failsInAnotherThread(Threads::thisOne));
}

}  // namespace
}  // namespace timingwheel::test
