#include "core/base/OptionChecks.h"

#include <timingwheel/Duration.h>

namespace timingwheel {
inline namespace v1 {
namespace detail {

void throwNotANumber() { refuseOption("a duration", "not a number (NaN)", "a length of time"); }

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
