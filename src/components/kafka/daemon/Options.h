#pragma once

#include "components/kafka/daemon/Operation.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// What the command line and the configuration file say.
struct Options {
    std::string brokers;
    std::string group = "timingwheel";
    std::string commands = "timers.commands";
    std::string state = "timers.state";
    std::string deadLetters = "timers.dead-letters";
    std::string replies;  // empty: none
    std::vector<std::string> targets{"*"};

    std::chrono::milliseconds sessionTimeout{10'000};
    std::chrono::milliseconds transactionTimeout{10'000};
    std::size_t batch = 10'000;  // records of a transaction
    std::size_t memory = 1'024;  // MB for what is pending
    std::chrono::milliseconds horizon{3'600'000};
    int standby = 1;  // workers that follow a partition of another: none, or all
    std::int64_t maxDelayDays = 3'660;
    std::int64_t maxPastDays = 3'660;

    std::string metrics;  // address:port; empty: none
    std::string logLevel = "info";
    std::map<std::string, std::string> librdkafka;

    std::int32_t createTopics = 0;  // partitions; 0: they are there
    std::int16_t replication = 1;

    /// All of these by name, as activeOptions() has them.
    std::map<std::string, std::string> active;

    /// Each partition has a transactional id of its own, the same for each worker, so
    /// that a new owner ends what the former has left open.
    std::string transactionalId(std::int32_t partition) const {
        return group + "-" + std::to_string(partition);
    }
};

/// What main should do: exit with a status, answer a subcommand, or run as a worker.
struct CommandLine {
    Options options;
    std::optional<Operation> operation;
    std::optional<int> exitStatus;
};

inline constexpr int kFailed = 1;
inline constexpr int kBadConfiguration = 2;

/// Prints help, version and errors itself. An error names the option, its value and the bound.
CommandLine parse(int argc, char const* const* argv);

}  // namespace timingwheel::inline v1::kafka
