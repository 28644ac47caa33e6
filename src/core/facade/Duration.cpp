#include "core/base/OptionChecks.h"

#include <timingwheel/Duration.h>

namespace timingwheel::inline v1::detail {

void throwNotANumber() { refuseOption("a duration", "not a number (NaN)", "a length of time"); }

}  // namespace timingwheel::inline v1::detail
