#include <timingwheel/RejectedExecution.h>

namespace timingwheel::inline v1 {

RejectedExecution::~RejectedExecution() = default;

}  // namespace timingwheel::inline v1
