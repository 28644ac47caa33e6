#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Outputs.h"
#include "components/kafka/daemon/PendingTimers.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// Shows what is pending while memory holds it: the partition's metrics, and its part of the
/// worker's memory. If the partition begins anew, its metrics stay as they were: until a take-over
/// knows all, they show no less. One that ends before it knows all has failed.
class PendingGauges {
public:
    PendingGauges(Assignment& assignment, PendingTimers const& timers, Outputs const& outputs)
        : assignment_{assignment}, timers_{timers}, outputs_{outputs} {}
    PendingGauges(PendingGauges const&) = delete;
    PendingGauges& operator=(PendingGauges const&) = delete;
    ~PendingGauges();

    /// The take-over is complete.
    void allIsKnown() noexcept { isAllKnown_ = true; }
    void update();
    /// How late the earliest is: also what is being delivered.
    void updateEarliest();

private:
    void setMemory(std::size_t bytes);
    void showEarliest(std::optional<std::int64_t> next);

    Assignment& assignment_;
    PendingTimers const& timers_;
    Outputs const& outputs_;
    std::size_t memory_ = 0;  // our part of the shared one
    bool isAllKnown_ = false;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
