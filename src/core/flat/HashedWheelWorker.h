#pragma once

#include "core/driver/keeper/Keeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/flat/CellQueue.h"
#include "core/flat/EntryStack.h"
#include "core/timeout/FoundTimeouts.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/wheel/RawHashedWheel.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace timingwheel::inline v1::detail {

/// What the lock guards beside the TaskBook.
struct FlatBook {
    bool isClosed = false;
};
class FlatHold;

/// Netty's worker: the flat wheel, its two queues, and what a tick does.
///
/// Callers and worker share no lock. Callers add a new timeout to `added_`. One compare-and-set
/// of its word decides who has it: pending becomes
///
///   - cancelling: a cancel() won, and the worker will end the task,
///   - cancelled: the same, and the canceller ends it,
///   - handedOver: its tick has come,
///   - returned: stop() has it.
///
/// Only the worker changes the wheel, so a visit blocks nobody. The keeper's lock guards only what
/// runs, what waits for an executor, and a FlatBook. The worker holds `looking_` while it changes
/// the wheel or takes entries out of their cells: pending() looks at both. No user's code is called
/// under it.
///
/// A canceller that ends the task takes the node back from `added_` if it is still there. Any
/// other cancelled node goes to `cancelled_`, and the worker unlinks it.
///
/// The driver's reference to a node moves with it: from `added_` to the wheel, or to the thread
/// that takes it back. `cancelled_` holds references of its own, since a node may be there too.
///
/// At tick t the worker unlinks what was cancelled, moves at most kMostTransferred new timeouts
/// into their slots, and visits the slot of t.
class HashedWheelWorker final : public Keeper {
public:
    static constexpr std::size_t kMostTransferred = 100'000;

    HashedWheelWorker(TimerContext& context, HashedWheelOptions options);

    // For callers, from any thread.

    /// True once it was opened, even if it was closed since.
    bool wasOpened() const noexcept { return wasOpened_.load(std::memory_order_acquire); }
    /// Accepts a node that nobody else knows yet. `nextTick` is the first tick after now. Returns
    /// false once the worker is closed. Throws std::bad_alloc if there is no memory for its cell.
    bool schedule(TimeoutNode& node, Tick deadline, Tick nextTick);
    /// Runs a node's task before it returns, or dispatches it. Returns false once the worker is
    /// closed.
    bool runNow(TimeoutNode& node, Tick now);
    bool cancel(TimeoutNode& node) noexcept override;
    bool cancelAndEnd(TimeoutNode& node) noexcept override;
    void runQueued() noexcept override;

    // For the worker's thread.

    /// The next tick to wake for; Tick::max() if there is nothing to do.
    Tick nextTick() noexcept;
    /// Does what a tick does, in the order above.
    void wake(Tick tick, RunFrame& frame) noexcept;

    // For starting, stopping and looking.

    void open() noexcept;
    /// Accepts nothing more.
    void close() noexcept;
    /// Takes out all that is pending and waits for runs on other threads. REQUIRES: the worker has
    /// ended, or calls this itself.
    void collect(StoppedTimeouts& stopped) noexcept;
    /// Ends what was cancelled, and calls cancelled() of what stop() returns. It calls the user's
    /// code, which may destroy the timer and its clock. REQUIRES: collect() is over.
    void tellStopped(StoppedTimeouts const& stopped) noexcept;
    void readInto(TimerStatistics& statistics);
    std::int64_t ticksPerWheel() const noexcept { return wheel_.ticksPerWheel(); }
    /// Adds each timeout that is pending all the time, and some of the others, perhaps several
    /// times. Throws std::bad_alloc.
    void findPending(FoundTimeouts& found);

private:
    friend class FlatHold;
    using Stage = TimerEvent::Stage;

    CellQueue::Added addObserved(TimeoutNode& node) noexcept;
    void ringBy(Tick tick) noexcept;
    void unlinkAndEnd(TimeoutNode& node) noexcept;
    void askToUnlink(TimeoutNode& node) noexcept;
    void ringUnlessClosed() noexcept;
    void unlink(EntryQueue all) noexcept;
    void unlinkCancelled() noexcept { unlink(cancelled_.takeAll()); }
    void letCopyEnd(TimeoutNode& node) noexcept;
    void endTask(TimeoutNode& node) noexcept;
    void countCancelled(std::size_t count) noexcept;
    bool cancelPending(TimeoutNode& node, TimeoutState state) noexcept;
    bool markCancelled(TimeoutNode& node, TimeoutWord& seen, TimeoutState state) noexcept;
    bool cancelQueued(TimeoutNode& node) noexcept;
    void transfer(Tick tick) noexcept;
    using Looking = std::unique_lock<std::mutex>;
    bool place(TimeoutNode& node, Tick tick, Looking& looking) noexcept;
    /// Where findPending() stands.
    struct LookPlace {
        CellQueue::LookPlace cell = {};
        bool isThroughCells = false;
        std::size_t slot = 0;
        std::size_t end = SIZE_MAX;  ///< of what it has not seen in the slot
    };
    bool lookOn(FoundTimeouts& found, LookPlace& place) noexcept;
    bool lookIntoSlots(LookPlace& place, std::size_t& left, FoundTimeouts& found) noexcept;
    bool takeDue() noexcept;
    void expire(Hold& hold, TimeoutNode& node, RunFrame& frame) noexcept;
    void settle(Tick tick) noexcept;
    std::size_t returnAll(StoppedTimeouts& stopped) noexcept;
    void returnQueuedAndWait(StoppedTimeouts& stopped) noexcept;
    void waitForOtherThreads(Hold& hold) noexcept;
    void returnPending(TimeoutNode& node, StoppedTimeouts& stopped, Looking& looking) noexcept;
    // Deliver an event before they return. REQUIRES: there is an observer.
    void observe(Stage stage, TimeoutNode const& node) noexcept;
    void observePlace(TimeoutNode const& node) noexcept;
    void observeWake(Tick tick) noexcept;

    // Where callers meet the worker, each on its own cache line.
    alignas(kCacheLine) std::atomic<bool> wasOpened_{false};
    CellQueue added_;
    alignas(kCacheLine) EntryStack cancelled_;
    std::atomic<std::uint64_t> cancelledCount_{0};
    std::atomic<bool> hasEnded_{false};  // callers that cancel from now on unlink by themselves

    // The worker's own.
    alignas(kCacheLine) RawHashedWheel wheel_;
    std::mutex looking_;
    std::array<TimeoutNode*, 16> due_{};  // taken out of the visited slot
    std::size_t nextDue_ = 0;             // those before it have had their turn
    std::size_t endOfDue_ = 0;
    std::int64_t accepted_ = 0;
    EntryQueue cancelledBefore_;  // collect(), for tellStopped()

    Guarded<FlatBook, FlatHold> book_;
};

/// A hold of a worker's lock.
class FlatHold final : public Hold {
public:
    explicit FlatHold(HashedWheelWorker& worker) noexcept
        : Hold{worker}, book_{worker.book_.data_} {}

    FlatBook* operator->() const noexcept { return &book_; }

private:
    FlatBook& book_;
};

}  // namespace timingwheel::inline v1::detail
