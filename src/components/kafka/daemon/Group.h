#pragma once

#include "components/kafka/daemon/Options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// The group of workers, as brokers describe it.
struct Group {
    struct Member {
        std::string id;
        std::string host;
    };
    struct Partition {
        std::optional<Member> worker = {};
        std::optional<std::int64_t> offset = {};  // none: nothing was taken in yet
        std::int64_t lag = 0;                     // to the end of the commands, committed or not
    };

    std::string state;                  // Stable, PreparingRebalance, Empty ...
    std::vector<Partition> partitions;  // by number

    /// Throws std::runtime_error.
    static Group of(Options const& options, std::int32_t partitions);
};

}  // namespace timingwheel::inline v1::kafka
