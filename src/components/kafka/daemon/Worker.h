#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Follower.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/Options.h"
#include "components/kafka/daemon/Partition.h"
#include "components/kafka/daemon/ServiceNotifier.h"
#include "components/kafka/daemon/Topics.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// A member of the group: reads commands, and hands them to the partitions that it owns. It follows
/// those that it does not own, since nobody knows which the group will assign to it.
class Worker {
public:
    Worker(Options const& options, Topics& topics, Metrics& metrics);
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;
    /// Leaves the group, if run() did not.
    ~Worker();

    /// Works until `isStopping` is true: it follows what others own, and then joins them. At the
    /// end it ends the transactions that are under way, and leaves the group, so that others take
    /// over at once. Throws what this process cannot mend.
    void run(std::atomic<bool> const& isStopping);

private:
    static void onRebalance(rd_kafka_t*, rd_kafka_resp_err_t what,
                            rd_kafka_topic_partition_list_t* partitions, void* self);
    void assign(rd_kafka_topic_partition_list_t* partitions);
    void warmUp(std::atomic<bool> const& isStopping);
    bool hasOthers() const;
    void followTheRest();
    void stop();
    void revoke(rd_kafka_topic_partition_list_t* partitions);
    void put(Message message);
    void attend();
    void wakeClient() const;
    void sayAlive();
    std::string status() const;

    Options const& options_;
    Client consumer_;
    Shared shared_;
    std::exception_ptr failure_;  // of a rebalance
    std::map<std::int32_t, std::unique_ptr<Follower>> followers_;
    std::map<std::int32_t, std::unique_ptr<Partition>> partitions_;  // go before the consumer
    std::int32_t count_ = 0;                                         // of all partitions
    bool isStopping_ = false;
    /// Those of lost partitions, shown until the group, which may be out of reach, assigns anew.
    std::vector<std::shared_ptr<Metrics::OfPartition>> lost_;
    ServiceNotifier service_;
};

}  // namespace timingwheel::inline v1::kafka
