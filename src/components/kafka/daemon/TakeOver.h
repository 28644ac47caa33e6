#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/CommandReader.h"
#include "components/kafka/daemon/Horizon.h"
#include "components/kafka/daemon/PendingGauges.h"
#include "components/kafka/daemon/PendingTimers.h"
#include "components/kafka/daemon/Placement.h"
#include "components/kafka/daemon/Producer.h"

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What is pending takes more memory than there is.
class DoesNotFit : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a new owner begins with, beside the timers.
struct TakenOver {
    std::unique_ptr<Producer> producer;
    std::int64_t next;  // the offset behind the commands that the state has taken in
    CommandReader::Range commands;
};

/// Fences the former owner, and reads into `timers` what is pending, within the horizon and beyond.
/// The order of the steps is what the model in tests/protocol found to be necessary: decision 0011.
TakenOver takeOver(Assignment& assignment, Placement const& placement, PendingTimers& timers,
                   Horizon const& horizon, PendingGauges& gauges);

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
