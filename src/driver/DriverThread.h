#pragma once

#include <timingwheel/TimerOptions.h>

#include <functional>
#include <thread>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Makes a driver thread that runs `body`: with the user's factory if there is one, named after the
/// timer, all signals blocked from its first instruction on, and with the least timer slack the
/// platform offers, so that it wakes on time. Throws what the factory or std::thread throws.
std::thread makeDriverThread(TimerOptions const& options, std::function<void()> body);

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
