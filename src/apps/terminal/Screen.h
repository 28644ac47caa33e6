#pragma once

#include "apps/terminal/Terminal.h"

#include <string>
#include <vector>

namespace terminal {

/// Owns the whole terminal while it lives. What the terminal showed before comes back afterwards.
/// REQUIRES: Terminal::canRedraw().
///
/// Thread safety  none: the main thread draws
class Screen {
public:
    Screen();
    ~Screen();
    Screen(Screen const&) = delete;
    Screen& operator=(Screen const&) = delete;

    /// Shows the lines from the top. Writes only those that have changed, so nothing flickers.
    void show(std::vector<std::string> lines, Terminal::Size size);

private:
    void (*whenSuspended_)(int);
    Terminal::Size size_;
    std::vector<std::string> lines_;
};

}  // namespace terminal
