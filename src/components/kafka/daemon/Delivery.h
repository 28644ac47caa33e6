#pragma once

#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace timingwheel::inline v1::kafka {

/// What one transaction delivers at most, and what it needs to know for that.
struct DeliveryRules {
    std::string source;  // for dead letters: "topic/partition"
    std::size_t atMost;
    std::size_t atMostBytes;
};

/// Delivers what is due by the clock `now`: each with its end, or with its next time if it recurs.
/// `next` is the offset behind the commands that were taken in.
///
/// A timer that recurs is pending again before anything is written. A transaction that is aborted
/// is made again from the same outputs, and a partition that begins anew forgets both.
void deliverDue(PendingTimers& timers, DeliveryRules const& rules, std::int64_t now,
                std::int64_t next, Outputs& outputs);

/// Ends a timer whose next time the state does not take, as if it had none.
void endRecurrence(Output& output, PendingTimers& timers, Outputs& outputs);

/// The dead letter of a timer that was due at `at`.
OwnRecord letterOf(PendingTimer const& timer, std::int64_t at, PendingTimers const& timers,
                   std::string const& source, std::string const& reason);

}  // namespace timingwheel::inline v1::kafka
