#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <string>

namespace terminal {

/// CLI::Range lets NaN pass, as no comparison with it holds.
class Within : public CLI::Range {
public:
    template <class Number>
    Within(Number least, Number most) : CLI::Range{least, most} {
        func_ = [inRange = func_](std::string& text) {
            if (!std::isnan(std::strtod(text.c_str(), nullptr))) return inRange(text);
            return "Value " + text + " is not a number";
        };
    }
};

}  // namespace terminal
