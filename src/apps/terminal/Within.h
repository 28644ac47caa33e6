#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <string>

namespace terminal {

/// CLI::Range lets NaN pass, as no comparison with it holds. It refuses what is no number.
class Within : public CLI::Range {
public:
    template <class Number>
    Within(Number least, Number most) : CLI::Range{least, most} {
        func_ = [inRange = func_](std::string& text) {
            std::string quoted = '"' + text + '"';
            return inRange(std::isnan(std::strtod(text.c_str(), nullptr)) ? quoted : text);
        };
    }
};

}  // namespace terminal
