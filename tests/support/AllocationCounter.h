#pragma once

#include <cstddef>

/// Counts what `new` hands out, and lets it fail: what "allocates nothing" and "changes nothing
/// when it fails" are tested with.
///
/// Linking the source file replaces the global operators new and delete by plain ones over malloc,
/// so sanitizers see what they always see; only clang's thread sanitizer does not let itself be
/// replaced and fails to link, so g++ is what that preset uses. Nothing is counted and nothing
/// fails until one of the objects below lives.
///
///     AllocationCounter counter;
///     wheel.add(lease, deadline);
///     EXPECT_EQ(counter.allocations(), 0U);
///
///     for (std::size_t kth = 1;; ++kth) {
///         AllocationFailure failure{kth};
///         ... what is tested; expect std::bad_alloc exactly when failure.happened()
///         if (!failure.happened()) break;  // there are fewer than kth allocations
///     }
///
/// Thread safety  any number of threads; one object for Threads::all at a time, one for
///                Threads::others, which dies in the thread that made it, and one of each kind a
///                thread for Threads::thisOne (counters may be nested)
namespace timingwheel::test {

/// Whose allocations are meant: the thread's that makes the object, everybody's, or everybody's but
/// that thread's. What a driver thread allocates is told apart by the last.
enum class Threads { thisOne, all, others };

/// Counts while it lives.
class AllocationCounter {
public:
    explicit AllocationCounter(Threads threads = Threads::thisOne) noexcept;
    ~AllocationCounter();
    AllocationCounter(AllocationCounter const&) = delete;
    AllocationCounter& operator=(AllocationCounter const&) = delete;

    std::size_t allocations() const noexcept;
    std::size_t deallocations() const noexcept;

private:
    Threads threads_;
    std::size_t allocationsBefore_;
    std::size_t deallocationsBefore_;
};

/// How many blocks of all threads were allocated and not given back yet.
long long livingBlocks() noexcept;
/// Those of them that were allocated with an alignment.
long long livingAlignedBlocks() noexcept;

/// While it lives, the `kth` allocation, counted from 1, throws std::bad_alloc (returns nullptr
/// where it must not throw), and with `forEver` every later one too.
class AllocationFailure {
public:
    enum class Repeat { once, forEver };

    explicit AllocationFailure(std::size_t kth, Repeat repeat = Repeat::once,
                               Threads threads = Threads::thisOne) noexcept;
    ~AllocationFailure();
    AllocationFailure(AllocationFailure const&) = delete;
    AllocationFailure& operator=(AllocationFailure const&) = delete;

    /// True if an allocation has failed.
    bool happened() const noexcept;

private:
    Threads threads_;
};

}  // namespace timingwheel::test
