#pragma once

#include "core/timeout/Periodicity.h"

#include <timingwheel/Timeout.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace timingwheel::inline v1::detail {

/// The entry behind a handle, with its task in the same block of memory.
///
/// References are counted: the driver has one until the timeout has ended, and each handle has one.
/// The thread that ends the timeout destroys the task, exactly once, and drops the driver's
/// reference.
///
/// Memory         48 bytes and the task; 32 more if it is periodic
class TimeoutNode final : public TimeoutEntry {
public:
    /// Allocates a node with two references, the driver's and a handle's, and moves the task into
    /// it. Strong exception safety.
    static TimeoutNode* create(TaskSource source, Periodicity const* periodicity);

    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    /// Drops a reference. Returns true if it was the last one: it has freed the node, and the
    /// caller owes the keeper a share. See Keeper::release.
    bool release() noexcept;
    /// Gives up the driver's reference without counting. For a cancel(): its caller has a handle,
    /// and the last handle then knows that it is the last. REQUIRES: isTaskGone(), and !wasLent()
    /// before that.
    void giveUpDriversReference() noexcept {
        gone_.store(Gone::taskAndDriver, std::memory_order_release);
    }

    /// Notes that a handle is made of the driver's reference, while the timeout may still be
    /// cancelled: from now on another handle may come while the last one goes.
    void noteLent() noexcept {
        Gone expected = Gone::nothing;
        gone_.compare_exchange_strong(expected, Gone::nothingAndLent, std::memory_order_relaxed);
    }
    bool wasLent() const noexcept {
        return gone_.load(std::memory_order_relaxed) == Gone::nothingAndLent;
    }

    TaskOperations const& task() const noexcept {
        return *static_cast<TaskOperations const*>(operations);
    }
    void run(Timeout const& self) { task().run(taskAddress(), self); }
    /// False for most tasks: what they capture needs no destructor.
    bool hasDestructor() const noexcept { return task().destroy != nullptr; }
    /// False for most tasks: a cancel() ends them without the user noticing.
    bool callsUserWhenCancelled() const noexcept {
        return hasDestructor() || task().cancelled != nullptr;
    }
    /// May throw what the task's destructor throws. REQUIRES: hasDestructor().
    void destroyTask() { task().destroy(taskAddress()); }
    void setTaskGone() noexcept { gone_.store(Gone::task, std::memory_order_release); }
    bool isTaskGone() const noexcept { return gone_.load(std::memory_order_acquire) >= Gone::task; }
    void* taskAddress() noexcept { return reinterpret_cast<std::byte*>(this) + taskOffset_; }

    bool isPeriodic() const noexcept { return isPeriodic_; }
    /// REQUIRES: isPeriodic().
    Periodicity& periodicity() noexcept { return *reinterpret_cast<Periodicity*>(this + 1); }
    /// The run that follows one that was due at `deadline` and returned at `ended`; none if that
    /// was the last. Throws what the task's function throws. Outside every lock. REQUIRES:
    /// isPeriodic().
    std::optional<NextRun> nextRun(TickScale const& scale, Tick deadline, Clock::TimePoint ended,
                                   bool mayGoBack);

private:
    TimeoutNode(TaskOperations const& taskOperations, std::size_t taskOffset,
                bool periodic) noexcept
        : TimeoutEntry{taskOperations},
          taskOffset_{static_cast<std::uint16_t>(taskOffset)},
          isPeriodic_{periodic} {}
    ~TimeoutNode() = default;

    enum class Gone : std::uint8_t { nothing, nothingAndLent, task, taskAndDriver };

    /// True if the caller's reference is the last of `references`: the only one, or one of two if
    /// the other is the driver's and was given up. With two, nobody else has a handle to cancel
    /// by, and none was ever lent, so the answer stays true.
    bool isLast(std::uint32_t references) const noexcept {
        return references == 1 ||
               (references == 2 && gone_.load(std::memory_order_acquire) == Gone::taskAndDriver);
    }
    static void deallocate(void* block, std::size_t size, std::size_t alignment) noexcept;

    std::atomic<std::uint32_t> references_{2};
    std::uint16_t taskOffset_;
    bool isPeriodic_;
    std::atomic<Gone> gone_{Gone::nothing};
};

/// The node of a periodic timeout; null for all other entries.
inline TimeoutNode* periodicNode(TimeoutEntry& entry) noexcept {
    if (entry.isHook()) return nullptr;
    auto& node = static_cast<TimeoutNode&>(entry);
    return node.isPeriodic() ? &node : nullptr;
}

static_assert(sizeof(TimeoutNode) == 48 || sizeof(void*) != 8);

/// Turns nodes into handles and back.
struct TimeoutAccess {
    /// A handle that takes over a reference that is already counted.
    static Timeout adopt(TimeoutNode& node) noexcept { return Timeout{&node}; }
    static TimeoutNode* node(Timeout const& timeout) noexcept { return timeout.node_; }
    /// Gives up a handle without dropping its reference.
    static void forget(Timeout& timeout) noexcept { timeout.node_ = nullptr; }
};

/// A handle that borrows the reference of the code that runs or ends the timeout. Counts nothing.
class BorrowedTimeout {
public:
    explicit BorrowedTimeout(TimeoutNode& node) noexcept : timeout_{TimeoutAccess::adopt(node)} {}
    BorrowedTimeout(BorrowedTimeout const&) = delete;
    BorrowedTimeout& operator=(BorrowedTimeout const&) = delete;
    ~BorrowedTimeout() { TimeoutAccess::forget(timeout_); }

    Timeout const& get() const noexcept { return timeout_; }

private:
    Timeout timeout_;
};

}  // namespace timingwheel::inline v1::detail
