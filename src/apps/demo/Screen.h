#pragma once

#include "apps/demo/Terminal.h"

#include <string>
#include <vector>

namespace demo {

/// The whole terminal, as long as this lives; what it showed before comes back afterwards. Only
/// where Terminal::canRedraw().
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

}  // namespace demo
