#include "apps/orders/View.h"

#include "apps/terminal/Format.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

namespace orders {

using terminal::counted;
using terminal::grouped;
using terminal::readable;
using terminal::Terminal;
using terminal::text;
using Style = Terminal::Style;

namespace {

using namespace std::chrono_literals;

/// The title, a blank, the heading; a blank, the totals, the timer, the last error.
constexpr std::size_t kOtherRows = 7;
constexpr std::size_t kMostParts = 30;

std::size_t partsFor(Terminal::Size size) {
    return std::clamp<std::size_t>(size.rows, kOtherRows + 1, kOtherRows + kMostParts) - kOtherRows;
}

/// "   27 min to    30 min"
std::string spanOf(std::size_t part, Picture const& picture) {
    auto const from = picture.part * static_cast<int>(part);
    std::string const until = readable(from + picture.part);
    if (part + 1 == picture.pending.size())
        return text("%9s or more%5s", readable(from).c_str(), "");
    if (part == 0) return text("%9s to %9s", "now", until.c_str());
    return text("%9s to %9s", readable(from).c_str(), until.c_str());
}

/// The first one that a row has room for, or the last: a sentence that is cut says something else.
std::string fitting(std::initializer_list<std::string> texts, std::size_t columns) {
    for (std::string const& one : texts)
        if (terminal::columnsOf(one) < columns) return one;
    return *(texts.end() - 1);
}

/// The blank and the totals; two rows of totals where one is too narrow.
void drawTotals(std::vector<std::string>& lines, Totals const& totals, std::size_t columns,
                Terminal const& terminal) {
    std::string const first = " placed " + grouped(totals.placed) + " = paid " +
                              terminal.styled(Style::good, grouped(totals.paid));
    std::string const second = " + cancelled " +
                               terminal.styled(Style::bad, grouped(totals.cancelled)) +
                               " + pending " + grouped(totals.pending);
    bool const isNarrow = terminal::columnsOf(first + second) >= columns;
    lines.push_back(isNarrow ? first : "");
    lines.push_back(isNarrow ? second : first + second);
}

}  // namespace

std::vector<std::string> draw(Picture const& picture, Terminal::Size size,
                              Terminal const& terminal) {
    constexpr std::size_t kBeforeBars = 33;
    std::vector<std::string> lines;
    std::string const heading = " " + terminal.heading("Orders in " + picture.file);
    std::string const limit = " after " + readable(picture.limit);
    lines.push_back(fitting({heading + ": each cancels itself" + limit + " unless it is paid",
                             heading + ": cancelled" + limit, heading},
                            size.columns));
    lines.emplace_back();
    lines.push_back(terminal.styled(Style::dim, text("%22s%10s", "cancels itself in", "pending")));
    std::uint64_t const most = std::max<std::uint64_t>(
        1, *std::max_element(picture.pending.begin(), picture.pending.end()));
    std::size_t const cells = size.columns > kBeforeBars + 1 ? size.columns - kBeforeBars - 1 : 1;
    for (std::size_t part = 0; part < picture.pending.size(); ++part) {
        std::uint64_t const count = picture.pending[part];
        double const share = static_cast<double>(count) / static_cast<double>(most);
        lines.push_back(spanOf(part, picture) + text("%10s ", grouped(count).c_str()) +
                        terminal.styled(Style::accent, terminal.bar(share, cells)));
    }
    drawTotals(lines, picture.totals, size.columns, terminal);
    std::string const timeouts = " " + counted(picture.timeouts, "timeout");
    std::string const inFile = timeouts + " in the timer's file";
    lines.push_back(
        terminal.styled(Style::dim, fitting({inFile + "; after Ctrl-C they wait for the next start",
                                             inFile + "; they outlive Ctrl-C", inFile, timeouts},
                                            size.columns)));
    if (!picture.lastError.empty())
        lines.push_back(" " + terminal.styled(Style::bad, picture.lastError));
    for (std::string& line : lines) {
        // Less than a row: what clears the rest would clear the last column of a full one.
        std::string const visible{terminal::cut(line, std::max<std::size_t>(size.columns, 1) - 1)};
        bool const isInStyle = visible.size() < line.size() && visible.find('\033') != line.npos;
        line = isInStyle ? visible + terminal::kEndOfStyle : visible;
    }
    if (lines.size() > size.rows) lines.resize(size.rows);
    return lines;
}

View::View(std::filesystem::path const& file, std::chrono::milliseconds limit, Terminal& terminal)
    : file_{file}, limit_{limit}, terminal_{terminal} {
    if (terminal_.canRedraw()) screen_.emplace();
}

void View::show(Book& book, std::uint64_t timeouts, std::string const& lastError, Time now) {
    next_ = std::chrono::steady_clock::now() + (screen_ ? 250ms : 1s);
    Terminal::Size const size = terminal_.size();
    std::size_t const parts = partsFor(size);
    // Rounded up: a new order is not beyond the limit.
    auto const ofLimit = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::nanoseconds{limit_} / static_cast<int>(std::max<std::size_t>(parts - 1, 1)));
    Picture picture{.file = file_.filename().string(),
                    .limit = limit_,
                    .part = std::max<std::chrono::milliseconds>(ofLimit, 1ms),
                    .pending = {},
                    .totals = book.totals(),
                    .timeouts = timeouts,
                    .lastError = lastError};
    if (screen_) {
        picture.pending = book.pendingByDeadline(now, picture.part, parts);
        screen_->show(draw(picture, size, terminal_), size);
        return;
    }
    Totals const& totals = picture.totals;
    terminal_.line("placed " + grouped(totals.placed) + ", paid " + grouped(totals.paid) +
                   ", cancelled " + grouped(totals.cancelled) + ", pending " +
                   grouped(totals.pending));
    if (!lastError.empty()) terminal_.line(lastError);
}

}  // namespace orders
