#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <model/WheelSimulation.h>
#include <span>
#include <vector>

namespace timingwheel::model::wheel {

/// What one of the wheels and its model are put through, written as bytes: a head and then five for
/// each operation. Any bytes are a scenario.
struct WheelScenario {
    static constexpr std::size_t kHeadBytes = 5;
    static constexpr std::size_t kOperationBytes = 5;
    static constexpr std::size_t kMostOperations = 240;

    static WheelScenario decode(std::span<std::uint8_t const> bytes);

    /// Throws std::logic_error that says where wheel and model differ.
    void run() const;

    bool isFlat;
    Setting setting;
    std::vector<Operation> operations;
};

std::ostream& operator<<(std::ostream& out, WheelScenario const& scenario);

}  // namespace timingwheel::model::wheel
