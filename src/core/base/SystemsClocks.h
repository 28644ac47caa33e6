#pragma once

namespace timingwheel::inline v1 {
class Clock;

namespace detail {

/// True for Clock::steady() and Clock::continuous(), which nobody can set back.
bool neverGoesBack(Clock const& clock) noexcept;

}  // namespace detail
}  // namespace timingwheel::inline v1
