#pragma once

#include "components/kafka/client/Client.h"

#include <cstdint>
#include <stdexcept>
#include <string>

/// Requests to brokers about topics and groups.
namespace timingwheel::inline v1::kafka {

inline constexpr int kRequestTimeout = 10'000;  // ms

using AdminOptions = Owned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;
using Queue = Owned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using Event = Owned<rd_kafka_event_t, rd_kafka_event_destroy>;

inline AdminOptions adminOptions(rd_kafka_t* client, rd_kafka_admin_op_t operation) {
    AdminOptions options{rd_kafka_AdminOptions_new(client, operation)};
    char reason[256];
    check(rd_kafka_AdminOptions_set_request_timeout(options.get(), kRequestTimeout, reason,
                                                    sizeof reason),
          "a time-out");
    return options;
}

/// The answer. `what` is what was asked for, in errors.
inline Event await(Queue const& queue, char const* what) {
    Event event{rd_kafka_queue_poll(queue.get(), 2 * kRequestTimeout)};
    if (!event) throw ClientError{what, RD_KAFKA_RESP_ERR__TIMED_OUT};
    if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error{std::string{what} + ": " +
                                 rd_kafka_event_error_string(event.get())};
    return event;
}

/// The offsets of a partition: where it begins, and behind its last record; for a client that reads
/// committed records, behind the last of these. Of its two requests librdkafka may drop the error
/// of the first: `low` is then `high`.
struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
};

inline Range rangeOf(rd_kafka_t* client, std::string const& topic, std::int32_t partition) {
    Range range;
    check(rd_kafka_query_watermark_offsets(client, topic.c_str(), partition, &range.low,
                                           &range.high, kRequestTimeout),
          "to ask where " + topic + " ends");
    return range;
}

}  // namespace timingwheel::inline v1::kafka
