#include "apps/terminal/Terminal.h"

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

namespace terminal {

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

constexpr char kBeginLine[] = "\r\033[K";

}  // namespace

Terminal::Terminal()
    : isTerminal_{isatty(STDOUT_FILENO) == 1 && !isDumb()},
      hasColours_{isTerminal_ && !isSet("NO_COLOR")},
      hasUnicode_{isUtf8()} {}

Terminal::~Terminal() { clearLive(); }

Terminal::Size Terminal::size() const noexcept {
    winsize size{};
    bool const isKnown =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return isKnown ? Size{size.ws_col, size.ws_row} : Size{80, 24};
}

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
    std::string_view const visible = cut(text, size().columns - 1);
    std::fputs(kBeginLine, stdout);
    std::fwrite(visible.data(), 1, visible.size(), stdout);
    if (hasColours_) std::fputs(kEndOfStyle, stdout);
    std::fflush(stdout);
    hasLive_ = true;
}

std::string Terminal::styled(Style style, std::string_view text) const {
    if (!hasColours_ || style == Style::plain) return std::string{text};
    return beginningOf(style) + std::string{text} + kEndOfStyle;
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

char const* beginningOf(Terminal::Style style) noexcept {
    static constexpr std::array<char const*, 6> kCodes{"",           "\033[1m",    "\033[2m",
                                                       "\033[1;32m", "\033[1;31m", "\033[36m"};
    return kCodes[static_cast<std::size_t>(style)];
}

std::size_t columnsOf(std::string_view text) {
    std::size_t columns = 0;
    forEachCharacter(text, [&](std::size_t, bool isPrinted) {
        columns += isPrinted ? 1 : 0;
        return true;
    });
    return columns;
}

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

}  // namespace terminal
