#include "apps/terminal/Screen.h"

#include "apps/terminal/Format.h"
#include "apps/terminal/Interrupt.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

namespace terminal {

namespace {

// The alternate screen, without cursor and without wrapping.
constexpr char kEnter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr char kLeave[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

void print(std::string const& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

}  // namespace

Screen::Screen() {
    setFarewell(kLeave);
    // Ctrl-Z would leave the shell on this screen.
    whenSuspended_ = std::signal(SIGTSTP, SIG_IGN);
    print(kEnter);
}

Screen::~Screen() {
    print(kLeave);
    setFarewell(nullptr);
    std::signal(SIGTSTP, whenSuspended_);
}

void Screen::show(std::vector<std::string> lines, Terminal::Size size) {
    std::string changes;
    if (size != size_) {
        // Nobody knows what a terminal shows after its size has changed.
        changes += "\033[2J";
        lines_.clear();
        size_ = size;
    }
    lines_.resize(std::max(lines_.size(), lines.size()));
    lines.resize(lines_.size());
    for (std::size_t row = 0; row < lines.size(); ++row)
        if (lines[row] != lines_[row])
            changes += text("\033[%zu;1H", row + 1) + lines[row] + "\033[K";
    lines_ = std::move(lines);
    print(changes);
}

}  // namespace terminal
