#include "components/kafka/daemon/Targets.h"

#include "components/kafka/client/Headers.h"

#include <algorithm>
#include <cstddef>

namespace timingwheel::inline v1::kafka {

namespace {

/// If what follows the last * does not match, that * takes a letter more.
bool matches(std::string_view pattern, std::string_view name) {
    std::size_t at = 0;
    std::size_t star = std::string_view::npos;
    std::size_t afterStar = 0;  // in the name
    for (std::size_t i = 0; i < name.size();) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            afterStar = i;
        } else if (at < pattern.size() && pattern[at] == name[i]) {
            ++at;
            ++i;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            i = ++afterStar;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

std::string problemWithTarget(std::string const& pattern) {
    std::string name = pattern;
    std::replace(name.begin(), name.end(), '*', '_');
    if (isTopic(name)) return {};
    return "is " + kafka::quoted(pattern) + ": it must be " + kTopicBound + "; or have a *";
}

std::string refusalOfTarget(std::vector<std::string> const& patterns, std::string_view topic) {
    auto const isMatch = [topic](std::string const& pattern) { return matches(pattern, topic); };
    if (std::any_of(patterns.begin(), patterns.end(), isMatch)) return {};
    std::string allowed;
    for (std::string const& pattern : patterns) allowed += (allowed.empty() ? "" : ", ") + pattern;
    return "timingwheel-to is " + std::string{topic} + ": --targets allows " + allowed;
}

}  // namespace timingwheel::inline v1::kafka
