#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Follower.h"
#include "components/kafka/daemon/Inbox.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/Refusals.h"
#include "components/kafka/daemon/StateCopy.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

namespace timingwheel::inline v1::kafka {

/// A partition that this worker owns, and the thread that works for it: takes the partition over,
/// takes commands in, delivers what is due. What fails is begun again from what is committed:
/// memory holds nothing that the log does not. A copy of the state stays what it is until the
/// partition is taken over with it.
class Partition {
public:
    /// `follower` is null if there was none.
    Partition(Shared& shared, std::int32_t number, std::unique_ptr<Follower> follower);
    Partition(Partition const&) = delete;
    Partition& operator=(Partition const&) = delete;
    /// Ends the transaction that is under way, and waits for the thread.
    ~Partition();

    /// What the consumer's thread puts commands into.
    Inbox& inbox() noexcept { return inbox_; }
    /// For the consumer's thread only: whether it has paused the partition.
    bool isPaused = true;

    /// Its metrics, which may outlive it.
    std::shared_ptr<Metrics::OfPartition> metrics() const noexcept { return assignment_.metrics; }

    /// Begins to stop. The destructor waits.
    void stop() noexcept;
    /// Until the transaction that is under way is ended: another worker may go on. Freeing the
    /// timers takes longer. REQUIRES: stop() was called.
    void awaitEnd() noexcept { hasEnded_.wait(false); }

private:
    void run();
    void own();
    void end() noexcept;
    void report(int level, std::exception const& error) const;

    Assignment assignment_;
    Inbox inbox_;
    Refusals refusals_;
    std::unique_ptr<Follower> follower_;
    std::unique_ptr<StateCopy> copy_;  // until it is taken over
    std::atomic<bool> hasEnded_{false};
    std::chrono::milliseconds waitForMemory_;
    std::thread thread_;
};

}  // namespace timingwheel::inline v1::kafka
