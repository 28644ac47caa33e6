#pragma once

#include <chrono>
#include <iosfwd>

namespace timingwheel::inline v1::detail {

/// A length of time as a person says it: "1 h 30 min", "12.5 s", "3.25 ms", "800 ns". From a minute
/// up two units, below that at most three digits after the point. Rounded up, so that what is left
/// is never shown as nothing.
struct ReadableTime {
    std::chrono::nanoseconds time;

    friend std::ostream& operator<<(std::ostream& out, ReadableTime const& readable);
};

}  // namespace timingwheel::inline v1::detail
