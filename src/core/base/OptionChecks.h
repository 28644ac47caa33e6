#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace timingwheel::inline v1::detail {

// Every option and argument is refused in one form, here and in the libraries beside: "<option> is
// <value>: it must be <bound>". Inline, as a shared library would hide them from those.

/// Throws std::invalid_argument.
[[noreturn]] inline void refuseOption(std::string_view option, std::string_view value,
                                      std::string_view bound) {
    throw std::invalid_argument{
        std::string{option}.append(" is ").append(value).append(": it must be ").append(bound)};
}

/// A number in its unit: `unit` is empty, or begins with a space.
template <std::integral Number>
void requireAtLeast(std::string_view option, Number value, std::type_identity_t<Number> least,
                    char const* unit = "") {
    if (value < least)
        refuseOption(option, std::to_string(value) + unit,
                     "at least " + std::to_string(least) + unit);
}
template <std::integral Number>
void requireAtMost(std::string_view option, Number value, std::type_identity_t<Number> most,
                   char const* unit = "") {
    if (value > most)
        refuseOption(option, std::to_string(value) + unit,
                     "at most " + std::to_string(most) + unit);
}
template <std::integral Number>
void requireWithin(std::string_view option, Number value, std::type_identity_t<Number> least,
                   std::type_identity_t<Number> most, char const* unit = "") {
    if (value < least || value > most)
        refuseOption(option, std::to_string(value) + unit,
                     std::to_string(least) + " to " + std::to_string(most) + unit);
}

/// Refuses a name that no thread can have: on Linux a name has at most 15 bytes and no NUL.
void checkThreadName(std::string const& name);

}  // namespace timingwheel::inline v1::detail
