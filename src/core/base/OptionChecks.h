#pragma once

#include <string>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Throws std::invalid_argument: "<option> is <value>: it must be <bound>".
[[noreturn]] void refuseOption(std::string const& option, std::string const& value,
                               std::string const& bound);

/// Refuses a name that no thread can have: on Linux a name has at most 15 bytes and no NUL.
void checkThreadName(std::string const& name);

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
