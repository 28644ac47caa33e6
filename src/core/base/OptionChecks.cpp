#include "core/base/OptionChecks.h"

#include <cstddef>
#include <stdexcept>

namespace timingwheel {
inline namespace v1 {
namespace detail {

void refuseOption(std::string const& option, std::string const& value, std::string const& bound) {
    throw std::invalid_argument{option + " is " + value + ": it must be " + bound};
}

void checkThreadName(std::string const& name) {
    constexpr std::size_t kLongest = 15;
    if (name.size() > kLongest)
        refuseOption("name", "\"" + name + "\", " + std::to_string(name.size()) + " bytes long",
                     "at most " + std::to_string(kLongest) + " bytes long");
    if (name.find('\0') != std::string::npos)
        refuseOption("name", "a string with a NUL byte", "without one");
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
