#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Topics that timers may be delivered to: names, or patterns in which a * stands for any letters,
/// or none.
namespace timingwheel::inline v1::kafka {

/// What is wrong with a pattern; empty: nothing.
std::string problemWithTarget(std::string const& pattern);

/// Why nothing may be delivered to this topic; empty: it matches one of the patterns.
std::string refusalOfTarget(std::vector<std::string> const& patterns, std::string_view topic);

}  // namespace timingwheel::inline v1::kafka
