#pragma once

#include "components/kafka/daemon/Assignment.h"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace timingwheel::inline v1::kafka {

/// Which timers belong to a partition. That depends on the number of partitions: if it is another
/// than before, cancels go where their timers are not, so nothing is taken in or delivered.
class Placement {
public:
    /// Asks for the number. Throws std::runtime_error if the topics have different ones, or the
    /// group has noted another.
    explicit Placement(Duty const& duty);

    std::int32_t partitions() const noexcept { return partitions_; }
    bool isOurs(std::string_view id) const noexcept;

    /// Throws std::runtime_error if the number has changed, as far as the worker knows by now.
    void requireUnchanged() const;
    /// The same, once brokers were asked after `asked`. What seems to be in the wrong partition is
    /// in the right one, if its writer knows of more partitions.
    void requireUnchangedSince(std::chrono::steady_clock::time_point asked) const;
    /// Throws std::runtime_error if the state has a timer here that belongs elsewhere.
    void requireOurs(std::string_view id) const;

private:
    void require(std::int32_t partitions) const;

    Duty const& duty_;
    std::int32_t partitions_;
};

}  // namespace timingwheel::inline v1::kafka
