#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"

#include <cstdint>
#include <map>
#include <string>

namespace timingwheel::inline v1::kafka {

/// What becomes of a record that no broker will take: it does not hold up the rest of its
/// transaction. Stays when the partition begins anew.
class Refusals {
public:
    explicit Refusals(Assignment const& assignment) : assignment_{assignment} {}

    /// Turns the output into what stands instead: a dead letter for a delivery, nothing for a
    /// reply, or for a dead letter that is at fault itself. Throws std::runtime_error where
    /// nothing may: the state and the dead letters must be written.
    void giveUp(Output& output, rd_kafka_resp_err_t error, PendingTimers& timers, Outputs& outputs);
    /// Throws that: what is of this kind cannot be written.
    [[noreturn]] void fail(Output::Kind kind, rd_kafka_resp_err_t error) const;

    /// Why the command at this offset is refused: the state did not take its timer. Else empty.
    std::string reasonOf(std::int64_t offset) const;
    /// The commands before this offset are taken in.
    void forgetBefore(std::int64_t offset) {
        refused_.erase(refused_.begin(), refused_.lower_bound(offset));
    }

private:
    std::string const& topicOf(Output::Kind kind) const;

    Assignment const& assignment_;
    std::map<std::int64_t, std::string> refused_;  // by offset, why
};

}  // namespace timingwheel::inline v1::kafka
