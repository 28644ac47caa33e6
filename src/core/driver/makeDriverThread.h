#pragma once

#include <timingwheel/TimerOptions.h>

#include <functional>
#include <thread>

namespace timingwheel::inline v1::detail {

/// Makes a driver thread that runs `body`, with the user's factory if there is one. The thread
///
///   - has the timer's name,
///   - blocks all signals from its first instruction on,
///   - wakes as punctually as the system allows.
///
/// Throws what the factory or std::thread throws.
std::thread makeDriverThread(TimerOptions const& options, std::function<void()> body);

}  // namespace timingwheel::inline v1::detail
