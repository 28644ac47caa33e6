#pragma once

#include <timingwheel/detail/platform/export.h>

#include <stdexcept>

namespace timingwheel::inline v1 {

/// A timer's limit of pending timeouts was reached. Executors may throw it too, to refuse a task.
class TIMINGWHEEL_API RejectedExecution : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~RejectedExecution() override;
};

}  // namespace timingwheel::inline v1
