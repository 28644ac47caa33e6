#pragma once

#include "components/kafka/client/Client.h"

#include <spdlog/spdlog.h>

namespace timingwheel::inline v1::kafka {

/// Sends librdkafka's messages to the daemon's log.
inline void logTo(Configuration& configuration) {
    rd_kafka_conf_set_log_cb(configuration.get(),
                             [](rd_kafka_t const*, int level, char const*, char const* message) {
                                 constexpr int kError = 3;  // as syslog counts
                                 constexpr int kWarning = 4;
                                 spdlog::log(level <= kError     ? spdlog::level::warn
                                             : level == kWarning ? spdlog::level::info
                                                                 : spdlog::level::debug,
                                             "librdkafka: {}", message);
                             });
}

}  // namespace timingwheel::inline v1::kafka
