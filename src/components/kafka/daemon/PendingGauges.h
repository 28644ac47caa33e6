#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/StateCopy.h"

#include <cstdint>
#include <optional>

namespace timingwheel::inline v1::kafka {

/// Shows what is pending while memory holds it, in the partition's metrics. If the partition begins
/// anew, its metrics stay as they were: until a take-over knows all, they show no less. One that
/// ends before it knows all has failed.
class PendingGauges {
public:
    PendingGauges(Assignment& assignment, StateCopy& copy, Outputs const& outputs)
        : assignment_{assignment}, copy_{copy}, outputs_{outputs} {}
    PendingGauges(PendingGauges const&) = delete;
    PendingGauges& operator=(PendingGauges const&) = delete;
    ~PendingGauges();

    /// The take-over is complete.
    void allIsKnown() noexcept { isAllKnown_ = true; }
    void update();
    /// How late the earliest is: also what is being delivered.
    void updateEarliest();

private:
    void showEarliest(std::optional<std::int64_t> next);

    Assignment& assignment_;
    StateCopy& copy_;
    Outputs const& outputs_;
    bool isAllKnown_ = false;
};

}  // namespace timingwheel::inline v1::kafka
