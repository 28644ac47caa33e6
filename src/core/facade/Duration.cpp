#include <timingwheel/Duration.h>

#include <stdexcept>

namespace timingwheel {
inline namespace v1 {
namespace detail {

void throwNotANumber() {
    throw std::invalid_argument{"a duration is not a number (NaN): it must be a length of time"};
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
