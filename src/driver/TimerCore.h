#pragma once

#include "driver/RunFrame.h"
#include "driver/Shard.h"
#include "driver/TimerContext.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A whole timer behind its face: the shards, the driver that serves them in the order of their
/// expirations, and the life from the first schedule to stop().
///
/// With a driver thread it is a SystemTimer; without one, with a single shard and no locks, it is a
/// ManualTimer, whose caller is the driver.
class TimerCore final : public TimerContext {
public:
    TimerCore(TimerOptions timerOptions, bool withDriverThread);

    /// The timer is gone: what is left, for handles, hooks and claims, goes with the last of them.
    void disown() noexcept;

    // For callers.

    Timeout newTimeout(TaskSource task, Clock::TimePoint deadline, Clock::TimePoint now,
                       TimeoutOptions timeout, Periodicity const* periodicity);
    void schedule(HookEntry& hook, Clock::TimePoint deadline, Clock::TimePoint now,
                  TimeoutOptions timeout);
    std::size_t pending() const;
    TimerStatistics statistics() const;
    void checkInvariants() const;

    // For the driver.

    /// One pass: runs what is due by `limit`, at most `atMost` tasks, in the order of deadlines.
    /// Returns true if more is due, which then waits for the next pass.
    bool runDue(Tick limit, RunFrame& frame, std::size_t atMost);
    /// When there is next something to do; Tick::max() if never.
    Tick nextKey() const noexcept;
    std::optional<Clock::TimePoint> nextExpiration() const noexcept;

    /// Starts the driver thread unless it runs already. Throws what the thread factory throws.
    void start();
    enum class Caller { user, destructor };
    StoppedTimeouts stop(Caller caller);
    void drain();

private:
    enum class Phase { initial, started, stopping, stopped };
    class Listener;

    ~TimerCore() override;

    void accept(TimeoutEntry& entry, Shard& shard, Tick deadline, Tick farthest,
                Clock::TimePoint now);
    Shard& shardOfThisThread() const noexcept;
    [[noreturn]] void refuseStopped() const;
    void refuseInside(char const* function) const;
    struct Earliest {
        Shard* shard;
        Tick key;     ///< when it wants the driver
        Tick others;  ///< when the next one does
    };
    Earliest earliestShard() noexcept;
    void drive() noexcept;
    std::thread makeThread();

    std::vector<std::unique_ptr<Shard>> shards_;
    std::size_t firstShard_ = 0;  // the driver's: where the search begins, so that ties take turns
    std::atomic<bool> accepts_{true};  // the gates of the shards decide; this one asks first
    std::atomic<bool> stopRequested_{false};
    std::shared_ptr<Listener> listener_;

    mutable std::mutex lifeMutex_;  // protects what follows
    std::condition_variable stopped_;
    Phase phase_ = Phase::initial;
    std::thread thread_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
