#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/StateCopy.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

namespace timingwheel::inline v1::kafka {

/// A partition that another worker owns, or none does, and the thread that follows its state: so
/// that this worker, if the group assigns it, has little left to read. It never writes, and is in
/// no group. What fails is begun anew.
///
/// Memory         what the timers take of their owner; it counts in the worker's. If that is tight,
///                the copy is dropped, and begun anew later: owners come first
class Follower {
public:
    Follower(Shared& shared, std::int32_t number);
    Follower(Follower const&) = delete;
    Follower& operator=(Follower const&) = delete;
    ~Follower();

    /// It has been at the end of the log; or it has failed, and is not worth waiting for.
    bool isReady() const noexcept { return isReady_; }
    /// Begins to stop.
    void stop() noexcept { duty_.isStopping = true; }
    /// Ends it. Returns what it has read; null if that is nothing.
    std::unique_ptr<StateCopy> handOver();

private:
    void run();
    void follow();

    Duty duty_;
    Metrics::OfStandby metrics_;
    std::unique_ptr<StateCopy> copy_;
    std::atomic<bool> isReady_{false};
    int failures_ = 0;  // since it was at the end
    std::thread thread_;
};

}  // namespace timingwheel::inline v1::kafka
