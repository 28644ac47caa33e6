#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

/// JSON of numbers, names and lists. The walkthrough's texts need no escapes.
namespace walkthrough::json {

template <class Number, class = std::enable_if_t<std::is_integral_v<Number>>>
std::string of(Number number) {
    return std::to_string(number);
}
inline std::string of(char const* text) { return '"' + std::string{text} + '"'; }
inline std::string of(std::string const& text) { return of(text.c_str()); }

/// JSON that a value is already.
struct Raw {
    std::string text;
};
inline std::string of(Raw const& raw) { return raw.text; }

/// Each element as `write` has it.
template <class Range, class Write>
Raw list(Range const& range, Write write) {
    std::string text;
    for (auto const& each : range) text += (text.empty() ? "" : ",") + write(each);
    return {'[' + text + ']'};
}

inline std::string members() { return {}; }
template <class Value, class... Rest>
std::string members(char const* name, Value const& value, Rest const&... rest) {
    std::string const more = members(rest...);
    return of(name) + ':' + of(value) + (more.empty() ? "" : "," + more);
}

/// Of names and values in turn.
template <class... Members>
std::string object(Members const&... all) {
    return '{' + members(all...) + '}';
}

}  // namespace walkthrough::json
