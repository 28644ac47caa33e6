#pragma once

namespace timingwheel::inline v1::detail {

/// The thread that runs what is due in a timer.
enum class DrivenBy : unsigned char {
    caller,  ///< the caller's: one thread at a time uses the timer, and locks are left out
    loop,    ///< a thread of the user's, while others use the timer too
    thread,  ///< a thread of the timer's own
};

}  // namespace timingwheel::inline v1::detail
