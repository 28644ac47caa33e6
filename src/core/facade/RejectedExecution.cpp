#include <timingwheel/RejectedExecution.h>

namespace timingwheel {
inline namespace v1 {

RejectedExecution::~RejectedExecution() = default;

}  // namespace v1
}  // namespace timingwheel
