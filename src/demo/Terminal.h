#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace demo {

/// Standard output: a terminal with colours and a line that is redrawn, or a plain stream of lines.
///
/// Thread safety  none: the main thread prints
class Terminal {
public:
    enum class Style { plain, bold, dim, good, bad, accent };

    Terminal();
    ~Terminal();
    Terminal(Terminal const&) = delete;
    Terminal& operator=(Terminal const&) = delete;

    /// A line that stays. Takes the place of the live line.
    void line(std::string_view text = {});
    /// A line that the next one overwrites. Only where canRedraw().
    void live(std::string const& text);

    bool canRedraw() const noexcept { return isTerminal_; }
    bool hasUnicode() const noexcept { return hasUnicode_; }

    /// The text in a colour, where there are colours.
    std::string styled(Style style, std::string_view text) const;
    std::string heading(std::string_view text) const { return styled(Style::bold, text); }

    /// A bar of `fraction` of `cells` columns: not blank unless the fraction is 0; not padded.
    std::string bar(double fraction, std::size_t cells) const;
    /// A bar in a frame, padded to `cells` columns and the frame.
    std::string gauge(double fraction, std::size_t cells) const;

private:
    void clearLive();

    bool isTerminal_;
    bool hasColours_;
    bool hasUnicode_;
    bool hasLive_ = false;
};

/// How many columns a text takes: its UTF-8 characters, colours not counted.
std::size_t columnsOf(std::string_view text);

}  // namespace demo
