#pragma once

#include "apps/orders/Book.h"
#include "apps/terminal/Screen.h"
#include "apps/terminal/Terminal.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orders {

/// What there is to see of a shop.
struct Picture {
    std::string file;
    std::chrono::milliseconds limit{0};
    std::chrono::milliseconds part{0};   // of the limit, for each count
    std::vector<std::uint64_t> pending;  // by deadline
    Totals totals;
    std::uint64_t timeouts = 0;
    std::string lastError;
};

/// The pending orders by the time that they have, and the totals. On a terminal all of it, several
/// times a second; elsewhere a line, once a second.
///
/// Thread safety  none: the main thread draws
class View {
public:
    View(std::filesystem::path const& file, std::chrono::milliseconds limit,
         terminal::Terminal& terminal);

    /// Whether to show() now. By a clock that nobody sets.
    bool isDue() const noexcept { return std::chrono::steady_clock::now() >= next_; }
    void show(Book& book, std::uint64_t timeouts, std::string const& lastError, Time now);
    /// Gives the terminal back.
    void finish() { screen_.reset(); }

private:
    std::filesystem::path file_;
    std::chrono::milliseconds limit_;
    terminal::Terminal& terminal_;
    std::chrono::steady_clock::time_point next_{};
    std::optional<terminal::Screen> screen_;
};

std::vector<std::string> draw(Picture const& picture, terminal::Terminal::Size size,
                              terminal::Terminal const& terminal);

}  // namespace orders
