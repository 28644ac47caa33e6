#pragma once

#include <timingwheel/detail/platform/export.h>

#include <stdexcept>

namespace timingwheel::inline v1::detail {

/// What a stopped timer throws. It has a type of its own, since a schedule that starts the thread
/// may throw other std::logic_errors, those of the user's factory included.
class TIMINGWHEEL_API TimerStopped : public std::logic_error {
public:
    using std::logic_error::logic_error;
    ~TimerStopped() override;
};

}  // namespace timingwheel::inline v1::detail
