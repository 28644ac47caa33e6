#include "core/base/OptionChecks.h"

#include <cstddef>

namespace timingwheel::inline v1::detail {

void checkThreadName(std::string const& name) {
    constexpr std::size_t kLongest = 15;
    if (name.size() > kLongest)
        refuseOption("name", "\"" + name + "\", " + std::to_string(name.size()) + " bytes long",
                     "at most " + std::to_string(kLongest) + " bytes long");
    if (name.find('\0') != std::string::npos)
        refuseOption("name", "a string with a NUL byte", "without one");
}

}  // namespace timingwheel::inline v1::detail
