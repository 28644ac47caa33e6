#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/CommandReader.h"
#include "components/kafka/daemon/Horizon.h"
#include "components/kafka/daemon/PendingGauges.h"
#include "components/kafka/daemon/Placement.h"
#include "components/kafka/daemon/Producer.h"
#include "components/kafka/daemon/StateCopy.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace timingwheel::inline v1::kafka {

/// What is pending takes more memory than there is, though not all of it is near.
class DoesNotFit : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a new owner begins with, beside the timers.
struct TakenOver {
    std::unique_ptr<Producer> producer;
    std::int64_t next;  // the offset behind the commands that the state has taken in
    Range commands;
    std::size_t read;  // records of the state that the copy did not have
};

/// Fences the former owner, and has the copy read on until it knows all that is pending. If this
/// throws a ClientError, the copy is as right as before. The order of the steps is what the model
/// in tests/protocol found to be necessary: decision 0011.
TakenOver takeOver(Assignment& assignment, Placement const& placement, StateCopy& copy,
                   Horizon const& horizon, PendingGauges& gauges);

}  // namespace timingwheel::inline v1::kafka
