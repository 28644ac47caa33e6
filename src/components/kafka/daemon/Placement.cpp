#include "components/kafka/daemon/Placement.h"

#include "components/kafka/daemon/Messages.h"

#include <stdexcept>
#include <string>

namespace timingwheel::inline v1::kafka {

namespace {

// Kafka cannot take partitions away.
constexpr char const* kWayBack =
    "Copy what is pending into new topics: docs/beyond.md, \"More partitions\"";

}  // namespace

Placement::Placement(Duty const& duty)
    : duty_{duty}, partitions_{duty.shared.topics.partitionsOf(duty.shared.options.state)} {
    Options const& options = duty.shared.options;
    Topics& topics = duty.shared.topics;
    if (partitions_ == 0)
        throw std::runtime_error{"topic " + options.state + " is not there any more"};
    require(topics.partitionsOf(options.commands));
    require(topics.partitionsOfGroup(partitions_));
}

bool Placement::isOurs(std::string_view id) const noexcept {
    return partitionOf(id, partitions_) == duty_.number;
}

void Placement::requireUnchanged() const { require(duty_.shared.topics.partitionsOfCommands()); }

void Placement::requireUnchangedSince(std::chrono::steady_clock::time_point asked) const {
    require(duty_.shared.topics.partitionsOfCommands(asked, partitions_));
}

void Placement::requireOurs(std::string_view id) const {
    if (isOurs(id)) return;
    throw std::runtime_error{"the number of partitions was changed: a timer is in partition " +
                             std::to_string(duty_.number) + " of " + duty_.shared.options.state +
                             " and belongs to " + std::to_string(partitionOf(id, partitions_)) +
                             ". " + kWayBack};
}

void Placement::require(std::int32_t partitions) const {
    if (partitions == partitions_ || partitions == 0) return;  // 0: unknown
    Options const& options = duty_.shared.options;
    throw std::runtime_error{
        "the number of partitions was changed: " + std::to_string(partitions_) + " and " +
        std::to_string(partitions) + " of " + options.commands + " or " + options.state +
        ". Nothing is taken in or delivered. " + kWayBack};
}

}  // namespace timingwheel::inline v1::kafka
