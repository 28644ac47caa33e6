#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Inbox.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/Refusals.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// A partition that this worker owns, and the thread that works for it: takes the partition over,
/// takes commands in, delivers what is due. What fails is begun again from what is committed:
/// memory holds nothing that the log does not.
class Partition {
public:
    Partition(Shared& shared, std::int32_t number);
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

private:
    void run();
    void own();
    void report(int level, std::exception const& error) const;

    Assignment assignment_;
    Inbox inbox_;
    Refusals refusals_;
    std::chrono::milliseconds waitForMemory_;
    std::thread thread_;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
