#pragma once

#include "components/kafka/daemon/Inbox.h"
#include "components/kafka/daemon/Intake.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/Options.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"
#include "components/kafka/daemon/Producer.h"
#include "components/kafka/daemon/Topics.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What all partitions of a worker share.
struct Shared {
    Options const& options;
    Topics& topics;
    Metrics& metrics;
    rd_kafka_t* consumer;
    /// What is pending in all of them.
    std::atomic<std::size_t> memory{0};

    bool isFull() const noexcept { return memory.load() > options.memory * 1'000'000; }
};

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
    std::shared_ptr<Metrics::OfPartition> metrics() const noexcept { return metrics_; }

    /// Begins to stop. The destructor waits.
    void stop() noexcept;

private:
    using Steady = std::chrono::steady_clock;

    void run();
    void forget();
    void takeOver();
    bool isOurs(std::string_view key) const noexcept;
    bool isMisplaced();
    void requireUnchanged(std::int32_t partitions) const;
    struct Range {
        std::int64_t low;
        std::int64_t high;
    };
    Range rangeOfCommands() const;
    std::int64_t offsetOfGroup() const;
    std::int64_t readState();
    std::int64_t firstUnread(std::int64_t offset, Range commands) const;
    void work();
    using Gaps = std::vector<std::pair<std::int64_t, std::int64_t>>;  // from, to
    bool countLost(Gaps const& gaps);
    void lostToRetention(std::int64_t from, std::int64_t to) const;
    using Chosen = std::vector<std::size_t>;  // outputs, by number
    enum class Ending {
        committed,
        isClosed,  // one of the topics may not be written to, and no broker says which
        isMixed,   // a broker has refused several records: for one of them, or for their sum
    };
    void commit();
    void write(Chosen const& chosen, std::int64_t next);
    [[nodiscard]] Ending tryToCommit(Chosen const& chosen, std::int64_t next);
    std::vector<Producer::Failure> abort();
    void renew();
    void writeEachTargetAlone(Chosen const& all, std::int64_t next);
    void writeInHalves(Chosen const& chosen, std::int64_t next);
    bool isOneStep(Chosen const& chosen);
    bool giveUpWhatIsGone(Chosen const& chosen);
    void giveUp(Producer::Failure const& failure);
    OwnRecord letterOf(Output const& output, std::string const& reason) const;
    void account();
    void showEarliest(std::optional<std::int64_t> next);
    void showLag();
    void report(int level, std::exception const& error) const;
    void pause(std::chrono::milliseconds length);

    Shared& shared_;
    std::int32_t const number_;
    Inbox inbox_;
    std::shared_ptr<Metrics::OfPartition> metrics_;
    std::atomic<bool> isStopping_{false};

    std::optional<PendingTimers> timers_;
    std::optional<Intake> intake_;
    std::unique_ptr<Producer> producer_;  // none after an abort
    std::int32_t partitions_ = 1;
    std::int64_t next_ = 0;    // all before this offset is taken in
    Steady::time_point read_;  // when the commands that are taken in were read
    Outputs outputs_;
    /// Commands that the state did not take, by offset, and why.
    std::map<std::int64_t, std::string> refused_;
    Tally tally_;
    std::size_t memory_ = 0;  // our part of the shared one

    std::thread thread_;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
