#pragma once

#include "components/kafka/daemon/Record.h"

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <string_view>

namespace timingwheel::inline v1::kafka {

/// A view of what a consumer has read.
Record recordOf(rd_kafka_message_t const& message);

/// Where commands and state of an id are: as Java's clients do it.
std::int32_t partitionOf(std::string_view key, std::int32_t partitions) noexcept;

}  // namespace timingwheel::inline v1::kafka
