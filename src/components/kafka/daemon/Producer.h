#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Options.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// True if the record is larger than a topic takes.
bool isTooLarge(rd_kafka_resp_err_t error);
/// True if the record is at fault, not a topic, right or broker.
bool isRecordFault(rd_kafka_resp_err_t error);

/// The group has given the partition to another worker, or may have.
class TakenAway : public std::runtime_error {
public:
    TakenAway() : std::runtime_error{"the group took the partition away"} {}
};

/// The transactions of one partition. Its transactional id is the partition's, so making one ends
/// what a former owner has left open, and fences it. So only a member of the group makes one: else
/// it would fence its successor.
///
/// All that waits for the broker gives up when `isStopping` has been true for a while.
class Producer {
public:
    /// An output that no repetition will write; or, if that is not certain, one of those that a
    /// broker has refused together.
    struct Failure {
        std::size_t output;  // or kPosition
        rd_kafka_resp_err_t error;
        bool isCertain = true;
    };

    /// The offset in the state, among the numbers of outputs.
    static constexpr std::size_t kPosition = SIZE_MAX;

    /// Throws std::invalid_argument if librdkafka refuses the settings of these options.
    static void checkSettings(Options const& options);

    /// Throws TakenAway, or ClientError.
    Producer(Options const& options, std::int32_t partition, rd_kafka_t* consumer,
             std::atomic<bool> const& isStopping);

    /// Where the state ends. No broker is asked: one that was replaced a moment ago might name an
    /// old end. Instead a record is written there, whose transaction is aborted. Replicas have
    /// confirmed its offset, and nobody ever reads it.
    std::int64_t endOfState();

    void begin();
    /// Gives an output to the transaction. `number` comes back in failures(). False if the
    /// transaction has failed meanwhile, by what was written before: commit() says by what.
    [[nodiscard]] bool write(Output const& output, PendingTimers const& timers, std::size_t number);
    /// Commits, with the offset of the commands behind the last that was taken in. It is written
    /// into the state, and given to the group with the number of partitions, under the group's
    /// metadata. Throws TakenAway, or ClientError if the transaction is to be aborted or is fenced.
    void commit(std::int64_t offset, std::int32_t partitions);
    void abort();

    /// What failed for good since the last begin(). REQUIRES: the transaction is aborted.
    std::vector<Failure> failures() const;
    /// Where the state has what was written there since the last begin(): by the number of the
    /// output, the offset. REQUIRES: the transaction is committed.
    std::vector<std::pair<std::size_t, std::int64_t>> const& offsets() const { return offsets_; }

private:
    static void onDelivery(rd_kafka_t*, rd_kafka_message_t const* message, void* self);

    rd_kafka_topic_t* topic(std::string const& name);
    void send(std::string const& topic, std::int32_t partition, std::optional<std::string_view> key,
              std::optional<std::string_view> value, rd_kafka_headers_t* headers,
              std::size_t number);
    void sendTimer(Output const& output, PendingTimers const& timers, std::size_t number);
    /// Makes the call until it succeeds or fails for good.
    template <class Call>
    void repeat(char const* what, Call&& call);

    Options const& options_;
    std::int32_t partition_;
    rd_kafka_t* consumer_;
    std::atomic<bool> const& isStopping_;
    Client client_;
    using Topic = Owned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
    std::unordered_map<std::string, Topic> topics_;  // go before the client
    std::vector<Failure> failures_;
    std::vector<std::pair<std::size_t, std::int64_t>> offsets_;
    /// A broker that rejects one record rejects its whole batch.
    struct Report {
        Failure failure;
        rd_kafka_topic_t* topic;
        std::int32_t partition;
    };
    std::vector<Report> ofBatches_;
    struct Mark {
        rd_kafka_resp_err_t error;
        std::int64_t offset;
    };
    std::optional<Mark> mark_;  // once it is answered
    bool hasFailed_ = false;    // the transaction: librdkafka takes no more records for it
};

}  // namespace timingwheel::inline v1::kafka
