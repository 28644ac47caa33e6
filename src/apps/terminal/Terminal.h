#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace terminal {

/// Standard output: a terminal with colours and a line that is redrawn, or a plain stream of lines.
///
/// Thread safety  none: the main thread prints
class Terminal {
public:
    enum class Style { plain, bold, dim, good, bad, accent };

    struct Size {
        std::size_t columns = 0;
        std::size_t rows = 0;
        friend bool operator==(Size, Size) noexcept = default;
    };

    struct Abilities {
        bool hasUnicode = false;
        bool hasColours = false;
    };

    Terminal();
    ~Terminal();
    Terminal(Terminal const&) = delete;
    Terminal& operator=(Terminal const&) = delete;

    /// A line that stays. Replaces the live line.
    void line(std::string_view text = "");
    /// A line that the next one overwrites. Only where canRedraw().
    void live(std::string const& text);

    bool canRedraw() const noexcept { return isTerminal_; }
    bool hasUnicode() const noexcept { return hasUnicode_; }
    Abilities abilities() const noexcept { return {hasUnicode_, hasColours_}; }
    /// The size now; 80 x 24 if unknown.
    Size size() const noexcept;

    /// The text in a colour, where there are colours.
    std::string styled(Style style, std::string_view text) const;
    std::string heading(std::string_view text) const { return styled(Style::bold, text); }

    /// A bar of `fraction` of `cells` columns: not blank unless the fraction is 0; not padded.
    std::string bar(double fraction, std::size_t cells) const;

private:
    void clearLive();

    bool isTerminal_;
    bool hasColours_;
    bool hasUnicode_;
    bool hasLive_ = false;
};

/// What begins a style on a terminal with colours. All of them end with kEndOfStyle.
char const* beginningOf(Terminal::Style style) noexcept;
inline constexpr char kEndOfStyle[] = "\033[0m";

/// How many columns a text takes: its UTF-8 characters, without colours.
std::size_t columnsOf(std::string_view text);

/// The beginning of a text, in at most `columns` columns: a line that wraps cannot be redrawn.
std::string_view cut(std::string_view text, std::size_t columns);

}  // namespace terminal
