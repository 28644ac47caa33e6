#pragma once

#include "Script.h"
#include "Timers.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

/// What is measured.
namespace timingwheel::choosing {

enum class Kind { levelled, bare, flat, heap, tree };

struct Run {
    Kind kind = Kind::levelled;
    Mix const* mix = nullptr;
    std::size_t count = 0;
    Setting setting;
    /// Taken in every round; otherwise only counted, once.
    bool isTimed = false;
};

struct Plan {
    int rounds = 0;
    /// How many timers: few, the number that everything is measured with, many.
    std::array<std::size_t, 3> counts{};
    std::vector<Run> runs;
};

/// The coarsest tick measured that makes no timeout late by more than a hundredth of its delay.
nanoseconds fittingTick(Mix const& mix);

/// `size` is full, quick or smoke. No run is there twice.
Plan plan(std::string const& size);

}  // namespace timingwheel::choosing
