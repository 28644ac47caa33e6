#include "apps/demo/Drawing.h"

#include "apps/terminal/Format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace demo {

namespace {

using Style = Terminal::Style;
using Level = Picture::Level;

/// From 0, the next to expire, to 1, a whole turn away.
std::string_view soonness(double distance) {
    static constexpr std::array<char const*, 10> kCodes{
        "\033[38;5;220m", "\033[38;5;184m", "\033[38;5;148m", "\033[38;5;113m", "\033[38;5;78m",
        "\033[38;5;43m",  "\033[38;5;38m",  "\033[38;5;32m",  "\033[38;5;68m",  "\033[38;5;98m"};
    return kCodes[std::min(static_cast<std::size_t>(distance * 10), kCodes.size() - 1)];
}

/// A line under construction, from left to right.
class Row {
public:
    explicit Row(bool hasColours) noexcept : hasColours_{hasColours} {}

    Row& add(std::string_view what) { return add("", what); }
    Row& add(Style style, std::string_view what) { return add(beginningOf(style), what); }
    Row& add(std::string_view code, std::string_view what) {
        if (hasColours_ && code != code_) {
            if (!code_.empty()) text_ += kEndOfStyle;
            text_ += code;
            code_ = code;
        }
        text_ += what;
        return *this;
    }
    std::size_t columns() const { return columnsOf(text_); }

    std::string cutTo(std::size_t columns) const {
        std::string line{cut(text_, columns)};
        bool const isInStyle = !code_.empty() || line.size() < text_.size();
        line.erase(line.find_last_not_of(' ') + 1);
        return isInStyle && hasColours_ ? line + kEndOfStyle : line;
    }

private:
    bool hasColours_;
    std::string text_;
    std::string code_;
};

/// The slots of a level side by side: a cell each, or a cell for several if there are more slots
/// than columns.
class Ring {
public:
    Ring(Level const& level, std::size_t wheelSize, std::size_t columns, bool hasUnicode)
        : perCell_{(wheelSize + columns - 1) / columns},
          cells_((wheelSize + perCell_ - 1) / perCell_),
          hand_{level.hand / perCell_},
          full_{std::max<std::size_t>(level.fullest, 1)},
          width_{std::min<std::size_t>(columns / cells_.size(), 8)},
          gap_{width_ > 1 ? 1U : 0U},
          hasUnicode_{hasUnicode} {
        for (Picture::Slot const& slot : level.armed) {
            std::size_t& cell = cells_[slot.slot / perCell_];
            cell = std::max(cell, slot.timeouts);
        }
    }

    std::size_t perCell() const noexcept { return perCell_; }

    /// Row `row` of `rows`, counted from below, of the bars.
    void addBars(Row& line, std::size_t row, std::size_t rows) const {
        static constexpr std::array<char const*, 9> kBlocks{" ", "▁", "▂", "▃", "▄",
                                                            "▅", "▆", "▇", "█"};
        static constexpr std::array<char const*, 9> kAscii{" ", ".", ".", ":", ":",
                                                           "+", "+", "#", "#"};
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            std::size_t const height = heightOf(cells_[i], rows * 8);
            std::size_t const here = std::min<std::size_t>(height - std::min(height, row * 8), 8);
            addCell(line, here == 0 ? "" : soonness(distanceOf(i)),
                    (hasUnicode_ ? kBlocks : kAscii)[here]);
        }
    }

    /// The rim below the bars, on which the hand moves.
    void addRim(Row& line) const {
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            if (i != hand_) {
                addCell(line, beginningOf(Style::dim), hasUnicode_ ? "─" : "-");
                continue;
            }
            std::size_t const before = (width_ - gap_ - 1) / 2;
            line.add(std::string(before, ' ')).add(Style::bold, hasUnicode_ ? "▲" : "^");
            line.add(std::string(width_ - 1 - before, ' '));
        }
    }

private:
    double distanceOf(std::size_t cell) const noexcept {
        std::size_t const ahead = (cell + cells_.size() - hand_) % cells_.size();
        return static_cast<double>(std::max<std::size_t>(ahead, 1) - 1) /
               static_cast<double>(cells_.size());
    }

    std::size_t heightOf(std::size_t timeouts, std::size_t most) const noexcept {
        if (timeouts == 0) return 0;
        double const share = static_cast<double>(timeouts) / static_cast<double>(full_);
        // The root: otherwise one crowded bucket would make all others of its level look alike.
        double const part = std::sqrt(std::min(share, 1.0));
        auto const height = std::lround(part * static_cast<double>(most));
        return static_cast<std::size_t>(std::max(height, 1L));
    }

    void addCell(Row& line, std::string_view code, char const* character) const {
        for (std::size_t i = gap_; i < width_; ++i) line.add(code, character);
        if (gap_ > 0) line.add(" ");
    }

    std::size_t perCell_;
    std::vector<std::size_t> cells_;  // timeouts in the fullest slot of each
    std::size_t hand_;
    std::size_t full_;
    std::size_t width_;  // columns of a cell, with the gap behind it
    std::size_t gap_;
    bool hasUnicode_;
};

/// Draws one picture.
class Drawing {
public:
    Drawing(Picture const& picture, Terminal::Size size, Terminal::Abilities abilities)
        : picture_{picture}, size_{size}, abilities_{abilities} {
        constexpr std::size_t kOther = 7;  // title, two expirations, rates, lateness, legend
        std::size_t room = std::max(size.rows, kOther + 3) - kOther;
        levels_ = std::min(picture.levels.size(), room / 3);
        if (levels_ == 0) return;
        hasBlanks_ = room >= 5 * levels_ + 3;
        if (hasBlanks_) room -= 3 + levels_;
        barRows_ = std::min<std::size_t>(room / levels_ - 2, 8);
        expirations_ = std::min<std::size_t>(2 + room - levels_ * (barRows_ + 2), 6);
    }

    std::vector<std::string> lines() && {
        addTitle();
        for (std::size_t level = levels_; level-- > 0;) addLevel(level);
        blank();
        addExpirations();
        blank();
        addRates();
        blank();
        addLegend();
        if (lines_.size() > size_.rows) lines_.resize(size_.rows);
        return std::move(lines_);
    }

private:
    Row row() const {
        Row row{abilities_.hasColours};
        row.add(" ");
        return row;
    }
    void keep(Row const& row) { lines_.push_back(row.cutTo(size_.columns)); }
    void blank() {
        if (hasBlanks_) lines_.emplace_back();
    }
    void addTitle();
    void addLevel(std::size_t number);
    void addExpirations();
    void addRates();
    void addLegend();

    Picture const& picture_;
    Terminal::Size size_;
    Terminal::Abilities abilities_;
    std::size_t levels_;  // how many are drawn, the finest
    bool hasBlanks_ = false;
    std::size_t barRows_ = 1;
    std::size_t expirations_ = 2;  // how many of the next are listed
    std::vector<std::string> lines_;
};

void Drawing::addTitle() {
    Row title = row();
    title.add(Style::bold, grouped(picture_.pending) + " timeouts pending");
    title.add(text("   %.1f of %.6g s", toSeconds(picture_.elapsed), toSeconds(picture_.duration)));
    std::size_t const left = picture_.levels.size() - levels_;
    if (left > 0) title.add(Style::dim, "   " + counted(left, "level") + " not shown");
    title.add(Style::dim,
              "   " + readable(picture_.tick) + text(" x %zu slots", picture_.wheelSize));
    keep(title);
}

void Drawing::addLevel(std::size_t number) {
    Level const& level = picture_.levels[number];
    std::size_t const columns = std::max<std::size_t>(size_.columns, 3) - 2;
    Ring const ring{level, picture_.wheelSize, columns, abilities_.hasUnicode};
    std::size_t timeouts = 0;
    for (Picture::Slot const& slot : level.armed) timeouts += slot.timeouts;
    blank();
    Row head = row();
    head.add(Style::accent, text("level %zu", number));
    head.add("  " + readable(level.granularity) + " a slot");
    if (ring.perCell() > 1) head.add(Style::dim, text(", %zu slots a cell", ring.perCell()));
    head.add("   " + grouped(timeouts) + " in " + counted(level.armed.size(), "bucket"));
    keep(head);
    for (std::size_t i = barRows_; i-- > 0;) {
        Row bars = row();
        ring.addBars(bars, i, barRows_);
        keep(bars);
    }
    Row rim = row();
    ring.addRim(rim);
    keep(rim);
}

void Drawing::addExpirations() {
    for (std::size_t i = 0; i < expirations_; ++i) {
        Row line = row();
        line.add(Style::dim, i == 0 ? "next buckets" : "            ");
        if (i < picture_.next.size()) {
            Picture::Expiration const& next = picture_.next[i];
            line.add(text("  level %zu  slot %-3zu ", next.level, next.slot));
            line.add(next.in.count() > 0 ? text("in %8s", readable(next.in).c_str())
                                         : std::string{"        now"});
            line.add(text("  %7s", grouped(next.timeouts).c_str()));
            line.add(next.timeouts == 1 ? " timeout" : " timeouts");
        }
        keep(line);
    }
}

void Drawing::addRates() {
    Row names = row();
    Row values = row();
    for (auto const& [name, value] : picture_.rates) {
        int const width = static_cast<int>(std::max<std::size_t>(name.size(), 8));
        names.add(Style::dim, text("%*s  ", width, name.c_str()));
        values.add(text("%*s  ", width, grouped(value).c_str()));
    }
    keep(names);
    keep(values);
    Row line = row();
    line.add(Style::dim, "lateness  ").add(picture_.lateness);
    keep(line);
}

void Drawing::addLegend() {
    Row line = row();
    line.add(abilities_.hasUnicode ? "▁▄█" : ".:#").add(Style::dim, " root of the count   ");
    line.add(Style::bold, abilities_.hasUnicode ? "▲" : "^").add(Style::dim, " clock   ");
    if (abilities_.hasColours) {
        for (double distance = 0; distance < 1; distance += 0.2)
            line.add(soonness(distance), abilities_.hasUnicode ? "■" : "#");
        line.add(Style::dim, " soon to late   ");
    }
    line.add(Style::dim, "Ctrl-C ends");
    keep(line);
}

}  // namespace

std::vector<std::string> draw(Picture const& picture, Terminal::Size size,
                              Terminal::Abilities abilities) {
    return Drawing{picture, size, abilities}.lines();
}

}  // namespace demo
