#include <timingwheel/detail/TimerStopped.h>

namespace timingwheel {
inline namespace v1 {
namespace detail {

TimerStopped::~TimerStopped() = default;

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
