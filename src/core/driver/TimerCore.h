#pragma once

#include "core/driver/Lifecycle.h"
#include "core/driver/Shard.h"
#include "core/driver/run/RunFrame.h"

#include <timingwheel/Duration.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace timingwheel::inline v1::detail {

/// How much a pass of the driver does at most.
struct PassBounds {
    std::size_t tasks = (std::numeric_limits<std::size_t>::max)();
    Duration time = (Duration::max)();  ///< it starts no further task then
};

/// A whole timer behind its interface: the shards, and the driver that serves them in the order of
/// their expirations.
///
/// With a driver thread it is a SystemTimer. Without one it has a single shard: its caller is the
/// driver, of a LoopTimer, or of a ManualTimer, which leaves the locks out.
class TimerCore final : private TimerContext::Whole, private Lifecycle::Engine {
public:
    TimerCore(TimerOptions timerOptions, DrivenBy driver);

    TimerContext& context() noexcept { return context_; }
    TimerContext const& context() const noexcept { return context_; }
    Lifecycle& life() noexcept { return life_; }

    // For callers.

    Timeout newTimeout(TaskSource task, Clock::TimePoint deadline, Clock::TimePoint now,
                       TimeoutOptions timeout, Periodicity const* periodicity);
    /// Schedules a hook, or moves it if it is pending.
    void schedule(HookEntry& hook, Clock::TimePoint deadline, Clock::TimePoint now,
                  TimeoutOptions timeout);
    /// The same for hooks of one shard of this timer. REQUIRES: at most kPerHold.
    void schedule(Shard& shard, std::span<HookEntry* const> hooks, Clock::TimePoint deadline,
                  Clock::TimePoint now, TimeoutOptions timeout);
    /// Cancels what is pending in all shards, then ends it.
    std::size_t cancelAll() noexcept;
    /// As Lifecycle::stop.
    StoppedTimeouts stop(Lifecycle::Caller caller);
    std::size_t pending() const;
    /// Makes `found` what is pending in a shard. Returns false behind the last one.
    bool findPending(std::size_t shard, std::vector<FoundTimeout>& found);
    TimerStatistics statistics() const;
    void checkInvariants() const;

    // For the driver.

    /// The milliseconds from now until the caller must advance, rounded up; -1 if never.
    int pollTimeout() const noexcept;
    /// The bounds of a call that may run `atMost` tasks.
    PassBounds boundsOf(std::size_t atMost) const noexcept {
        return {atMost, context_.options.passBudget};
    }
    /// The caller is the driver of a ManualTimer: makes one pass.
    bool advance(Tick limit, PassBounds bounds);
    /// The caller is the loop that drives: makes one pass, up to now, and sets the descriptor.
    /// Returns false at once if another thread is in it.
    bool runDueInLoop(PassBounds bounds);
    /// One pass: runs what is due by `limit`, in the order of deadlines. Returns true if more is
    /// due; that waits for the next pass.
    bool runDue(Tick limit, RunFrame& frame, PassBounds bounds = {});

    void drain();

private:
    void destroy() noexcept override { delete this; }
    Tick nextWake() const noexcept override;
    void followClockBack() noexcept override;
    void open() noexcept override;
    void drive() noexcept override;
    void runDueHere() override;
    void close(StoppedTimeouts& stopped) noexcept override;
    void collect(StoppedTimeouts& stopped) noexcept override;
    void endGivenUp() noexcept override;
    void orphanKeepers() noexcept override;

    bool makePass(RunFrame& pass, PassBounds bounds);
    void accept(TimeoutNode& node, Tick deadline, Tick farthest, Clock::TimePoint now);
    void refuseBusy(Shard& former, HookEntry const& hook) const;
    template <class Schedule>
    void scheduleOpen(Schedule&& schedule);
    Shard& shardOfThisThread() const noexcept;
    [[noreturn]] void refuseStopped() const;
    struct Earliest {
        Shard* shard;
        Tick wake;    ///< when it needs the driver
        Tick others;  ///< when the next one does
    };
    Earliest earliestShard() noexcept;

    ~TimerCore() = default;

    TimerContext context_;
    Lifecycle life_;
    std::vector<std::unique_ptr<Shard>> shards_;
    std::mutex pass_;                  // held by the thread that drives a LoopTimer
    std::mutex walk_;                  // held by the thread that looks for what is pending
    std::atomic<bool> accepts_{true};  // asked first; the gates of the shards decide
    /// Where the driver's search begins: equals take turns. On a line that callers do not read.
    alignas(kCacheLine) std::size_t firstShard_ = 0;
};

}  // namespace timingwheel::inline v1::detail
