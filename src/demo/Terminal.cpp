#include "demo/Terminal.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace demo {

namespace {

bool isSet(char const* variable) {
    char const* const value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

bool isDumb() {
    char const* const term = std::getenv("TERM");
    return term == nullptr || *term == '\0' || std::strcmp(term, "dumb") == 0;
}

bool isUtf8() {
    std::setlocale(LC_CTYPE, "");
    return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

std::size_t terminalColumns() {
    winsize size{};
    bool const known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

/// Calls `see(position, isPrinted)` for each byte that begins a character; escapes print nothing.
template <class See>
void forEachCharacter(std::string_view text, See see) {
    bool inEscape = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const isContinuation = (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
        if (isContinuation) continue;
        if (text[i] == '\033') inEscape = true;
        if (!see(i, !inEscape)) return;
        if (inEscape && text[i] == 'm') inEscape = false;
    }
}

/// A line that wraps cannot be redrawn, so it is cut.
std::string_view cut(std::string_view text, std::size_t columns) {
    std::size_t used = 0;
    std::size_t end = text.size();
    forEachCharacter(text, [&](std::size_t position, bool isPrinted) {
        if (isPrinted && used++ == columns) {
            end = position;
            return false;
        }
        return true;
    });
    return text.substr(0, end);
}

constexpr char kReset[] = "\033[0m";
constexpr char kBeginLine[] = "\r\033[K";

}  // namespace

Terminal::Terminal()
    : isTerminal_{isatty(STDOUT_FILENO) == 1 && !isDumb()},
      hasColours_{isTerminal_ && !isSet("NO_COLOR")},
      hasUnicode_{isUtf8()} {}

Terminal::~Terminal() { clearLive(); }

void Terminal::clearLive() {
    if (!hasLive_) return;
    std::fputs(kBeginLine, stdout);
    std::fflush(stdout);
    hasLive_ = false;
}

void Terminal::line(std::string_view text) {
    clearLive();
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
}

void Terminal::live(std::string const& text) {
    std::string_view const visible = cut(text, terminalColumns() - 1);
    std::fputs(kBeginLine, stdout);
    std::fwrite(visible.data(), 1, visible.size(), stdout);
    if (hasColours_) std::fputs(kReset, stdout);
    std::fflush(stdout);
    hasLive_ = true;
}

std::string Terminal::styled(Style style, std::string_view text) const {
    static constexpr std::array<char const*, 6> kCodes{"",           "\033[1m",    "\033[2m",
                                                       "\033[1;32m", "\033[1;31m", "\033[36m"};
    if (!hasColours_ || style == Style::plain) return std::string{text};
    return kCodes[static_cast<std::size_t>(style)] + std::string{text} + kReset;
}

std::string Terminal::bar(double fraction, std::size_t cells) const {
    if (!(fraction > 0)) return {};
    double const length = std::min(fraction, 1.0) * static_cast<double>(cells);
    std::string bar;
    if (!hasUnicode_) {
        auto const whole = static_cast<std::size_t>(std::lround(length));
        return whole == 0 ? "." : std::string(whole, '#');
    }
    static constexpr std::array<char const*, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    auto const eighths = static_cast<std::size_t>(std::max(1L, std::lround(length * 8)));
    for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
    return bar + kEighths[eighths % 8];
}

std::string Terminal::gauge(double fraction, std::size_t cells) const {
    std::string filled = bar(fraction, cells);
    std::size_t const padding = cells - std::min(cells, columnsOf(filled));
    filled = styled(Style::accent, filled) + std::string(padding, ' ');
    return hasUnicode_ ? "▕" + filled + "▏" : "[" + filled + "]";
}

std::size_t columnsOf(std::string_view text) {
    std::size_t columns = 0;
    forEachCharacter(text, [&](std::size_t, bool isPrinted) {
        columns += isPrinted ? 1 : 0;
        return true;
    });
    return columns;
}

}  // namespace demo
