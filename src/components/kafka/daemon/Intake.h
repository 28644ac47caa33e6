#pragma once

#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// What commands make of the timers of one partition, and what a transaction has to write for it.
/// Knows nothing of Kafka but its records.
class Intake {
public:
    struct Rules {
        std::string source;                // for dead letters: "topic/partition"
        std::vector<std::string> targets;  // names and patterns
        std::int64_t maxPast;              // ms
        std::int64_t maxDelay;             // ms
        bool hasReplies;
        /// Whether this key belongs to this partition.
        std::function<bool(std::string_view key)> isOurs;
        /// Why the command at this offset is refused, whatever it says; empty: it is not.
        std::function<std::string(std::int64_t offset)> refusalOf;
        /// Why nothing may be delivered to this topic; empty: it may.
        std::function<std::string(std::string_view topic)> refusalOfTopic;
    };

    Intake(PendingTimers& timers, Rules rules) : timers_{timers}, rules_{std::move(rules)} {}

    /// Takes a command in, by the clock `now`, and adds to the outputs what is to be written.
    /// REQUIRES: what it pushes back is not far.
    void take(Record const& record, std::int64_t now, Outputs& outputs);

private:
    void refuse(Record const& record, std::string const& reason, Outputs& outputs);
    void reply(Record const& record, std::string_view outcome, std::string const& reason,
               Outputs& outputs);

    PendingTimers& timers_;
    Rules rules_;
};

/// The record, refused or not delivered, with two headers more: where it comes from, and why.
OwnRecord deadLetter(OwnRecord record, std::string const& source, std::string const& reason);

}  // namespace timingwheel::inline v1::kafka
