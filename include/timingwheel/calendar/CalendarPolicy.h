#pragma once

#include <timingwheel/detail/platform/Standard.h>

namespace timingwheel::inline v1::calendar {

/// What becomes of local times that do not exist, because the clocks go forward.
enum class Gap {
    atItsEnd,  ///< one run at the end of the gap, however many times fell into it
    skip       ///< no run
};

/// Which run is meant by a local time that comes twice, because the clocks go back.
enum class Overlap { first, last, both };

/// What an expression with a fixed time of day does where the clocks change.
///
/// Expressions that run by elapsed time ignore it: see CalendarExpression.
struct CalendarPolicy {
    Gap gap = Gap::atItsEnd;
    Overlap overlap = Overlap::first;
};

}  // namespace timingwheel::inline v1::calendar
