#include "apps/demo/Drawing.h"

#include "apps/demo/Format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace demo {

namespace {

using std::chrono::nanoseconds;
using Size = Terminal::Size;
using Style = Terminal::Style;
using Abilities = Terminal::Abilities;
using Level = Picture::Level;

/// How things look: characters and colours.
class Look {
public:
    explicit Look(Abilities abilities) noexcept : abilities_{abilities} {}

    /// What begins a style; nothing without colours.
    char const* code(Style style) const noexcept {
        return abilities_.colours == Terminal::Colours::none ? "" : beginningOf(style);
    }

    /// From 0, the next to expire, to 1, a whole turn away.
    char const* soonness(double distance) const noexcept {
        static constexpr std::array<char const*, 10> kMany{
            "\033[38;5;220m", "\033[38;5;184m", "\033[38;5;148m", "\033[38;5;113m",
            "\033[38;5;78m",  "\033[38;5;43m",  "\033[38;5;38m",  "\033[38;5;32m",
            "\033[38;5;68m",  "\033[38;5;98m"};
        static constexpr std::array<char const*, 4> kEight{"\033[33m", "\033[32m", "\033[36m",
                                                           "\033[34m"};
        auto const pick = [distance](auto const& codes) {
            auto const index =
                static_cast<std::size_t>(distance * static_cast<double>(codes.size()));
            return codes[std::min(index, codes.size() - 1)];
        };
        switch (abilities_.colours) {
            case Terminal::Colours::none:
                return "";
            case Terminal::Colours::eight:
                return pick(kEight);
            case Terminal::Colours::many:
                return pick(kMany);
        }
        return "";
    }
    bool hasColours() const noexcept { return abilities_.colours != Terminal::Colours::none; }

    /// A character that is filled from below, by eighths.
    char const* filled(std::size_t eighths) const noexcept {
        static constexpr std::array<char const*, 9> kBlocks{" ", "▁", "▂", "▃", "▄",
                                                            "▅", "▆", "▇", "█"};
        static constexpr std::array<char const*, 9> kAscii{" ", ".", ".", ":", ":",
                                                           "+", "+", "#", "#"};
        return (abilities_.hasUnicode ? kBlocks : kAscii)[eighths];
    }
    char const* hand() const noexcept { return abilities_.hasUnicode ? "▲" : "^"; }
    char const* rim() const noexcept { return abilities_.hasUnicode ? "─" : "-"; }
    char const* empty() const noexcept { return abilities_.hasUnicode ? "·" : "-"; }
    char const* swatch() const noexcept { return abilities_.hasUnicode ? "■" : "#"; }
    std::string_view blocks() const noexcept { return abilities_.hasUnicode ? "▁▄█" : ".:#"; }

private:
    Abilities abilities_;
};

/// A line under construction, from left to right.
class Row {
public:
    explicit Row(Look const& look) noexcept : look_{look} {}

    Row& add(std::string_view what) { return add("", what); }
    Row& add(Style style, std::string_view what) { return add(look_.code(style), what); }
    Row& add(std::string_view code, std::string_view what) {
        if (code != code_) {
            if (!code_.empty()) text_ += kEndOfStyle;
            text_ += code;
            code_ = code;
        }
        text_ += what;
        return *this;
    }
    /// Blanks up to a column.
    Row& to(std::size_t column) {
        std::size_t const used = columns();
        return column > used ? add(std::string(column - used, ' ')) : *this;
    }
    std::size_t columns() const { return columnsOf(text_); }

    std::string cutTo(std::size_t columns) const {
        std::string line{cut(text_, columns)};
        bool const isInStyle = !code_.empty() || line.size() < text_.size();
        line.erase(line.find_last_not_of(' ') + 1);
        return isInStyle && look_.hasColours() ? line + kEndOfStyle : line;
    }

private:
    Look const& look_;
    std::string text_;
    std::string code_;
};

/// How the room is divided.
struct Layout {
    enum class Form {
        line,   ///< a level is a line
        bars,   ///< a line of text and one of bars
        chart,  ///< text, higher bars, and the rim on which the hand moves
    };

    Layout(Picture const& picture, Size size);

    Form form = Form::line;
    std::size_t barRows = 1;
    std::size_t levels;           ///< how many are drawn, the finest
    bool hasBlanks = false;       ///< between levels
    std::size_t expirations = 2;  ///< how many of the next are listed
};

Layout::Layout(Picture const& picture, Size size) : levels{picture.levels.size()} {
    constexpr std::size_t kOther = 7;   // title, two expirations, rates, lateness, legend
    constexpr std::size_t kBlanks = 3;  // above the next buckets, the rates, the legend
    constexpr std::size_t kHighest = 8;
    constexpr std::size_t kMostExpirations = 6;
    std::size_t room = std::max(size.rows, kOther + 1) - kOther;
    if (levels == 0) return;
    std::size_t const each = room / levels;
    std::size_t used = 1;
    if (room >= 5 * levels + kBlanks) {
        form = Form::chart;
        hasBlanks = true;
        room -= kBlanks;
        barRows = std::min(room / levels - 3, kHighest);
        used = barRows + 3;
    } else if (each >= 3) {
        form = Form::chart;
        barRows = each - 2;
        used = each;
    } else if (each == 2) {
        form = Form::bars;
        used = 2;
    } else {
        levels = std::min(levels, room);
    }
    expirations = std::min(expirations + room - levels * used, kMostExpirations);
}

/// The slots of a level side by side: a cell each, or a cell for several if there are more slots
/// than columns.
class Ring {
public:
    Ring(Level const& level, std::size_t wheelSize, std::size_t columns)
        : perCell_{groupsOf(wheelSize, columns)},
          cells_((wheelSize + perCell_ - 1) / perCell_),
          hand_{level.hand / perCell_},
          full_{std::max<std::size_t>(level.fullest, 1)},
          width_{std::min(columns / cells_.size(), kWidest)} {
        for (Picture::Slot const& slot : level.armed) {
            std::size_t& cell = cells_[slot.slot / perCell_];
            cell = std::max(cell, slot.timeouts);
        }
    }

    std::size_t perCell() const noexcept { return perCell_; }
    std::size_t columns() const noexcept { return cells_.size() * width_ - gap(); }

    /// Row `row` of `rows`, counted from below, of the bars.
    void addBars(Row& line, Look const& look, std::size_t row, std::size_t rows) const {
        constexpr std::size_t kEighths = 8;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            std::size_t const height = heightOf(cells_[i], rows * kEighths);
            std::size_t const below = row * kEighths;
            std::size_t const here = height > below ? std::min(height - below, kEighths) : 0;
            addCell(line, here == 0 ? "" : look.soonness(distanceOf(i)), look.filled(here));
        }
    }

    /// Bars in one row, with the hand among them and marks for empty slots.
    void addBarsAndHand(Row& line, Look const& look) const {
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            std::size_t const height = heightOf(cells_[i], 8);
            if (i == hand_)
                addHand(line, look);
            else if (height == 0)
                addCell(line, look.code(Style::dim), look.empty());
            else
                addCell(line, look.soonness(distanceOf(i)), look.filled(height));
        }
    }

    void addRim(Row& line, Look const& look) const {
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            if (i == hand_)
                addHand(line, look);
            else
                addCell(line, look.code(Style::dim), look.rim());
        }
    }

private:
    static constexpr std::size_t kWidest = 8;

    /// Few enough slots in a cell for all to fit; the same number in every cell if that is near.
    static std::size_t groupsOf(std::size_t wheelSize, std::size_t columns) {
        std::size_t const least = (wheelSize + columns - 1) / columns;
        for (std::size_t group = least; group < 2 * least; ++group)
            if (wheelSize % group == 0) return group;
        return least;
    }

    std::size_t gap() const noexcept { return width_ > 1 ? 1 : 0; }

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
        for (std::size_t i = gap(); i < width_; ++i) line.add(code, character);
        if (gap() > 0) line.add(" ");
    }

    void addHand(Row& line, Look const& look) const {
        std::size_t const before = (width_ - gap() - 1) / 2;
        line.add(std::string(before, ' ')).add(Style::bold, look.hand());
        line.add(std::string(width_ - 1 - before, ' '));
    }

    std::size_t perCell_;
    std::vector<std::size_t> cells_;  // timeouts in the fullest slot of each
    std::size_t hand_;
    std::size_t full_;
    std::size_t width_;  // columns of a cell, with the gap behind it
};

/// Draws one picture.
class Drawing {
public:
    Drawing(Picture const& picture, Size size, Abilities abilities)
        : picture_{picture}, size_{size}, look_{abilities}, layout_{picture, size} {}

    std::vector<std::string> lines() && {
        addTitle();
        for (std::size_t level = layout_.levels; level-- > 0;) addLevel(level);
        addExpirations();
        addRates();
        addLateness();
        addLegend();
        if (lines_.size() > size_.rows) lines_.resize(size_.rows);
        return std::move(lines_);
    }

private:
    static constexpr std::size_t kMargin = 1;

    Row row() const {
        Row row{look_};
        row.add(std::string(kMargin, ' '));
        return row;
    }
    void keep(Row const& row) { lines_.push_back(row.cutTo(size_.columns)); }
    std::size_t columns() const noexcept {
        return std::max(size_.columns, 2 * kMargin + 1) - 2 * kMargin;
    }

    void addIfItFits(Row& row, Style style, std::string const& what) const {
        if (row.columns() + columnsOf(what) <= size_.columns) row.add(style, what);
    }
    void addTitle();
    void addLevel(std::size_t number);
    void addCount(Row& head, Level const& level, std::size_t columns);
    void addLevelInOneLine(std::size_t number);
    void addExpirations();
    void addRates();
    void addLateness();
    void addLegend();

    Picture const& picture_;
    Size size_;
    Look look_;
    Layout layout_;
    std::vector<std::string> lines_;
};

std::size_t timeoutsOn(Level const& level) {
    std::size_t sum = 0;
    for (Picture::Slot const& slot : level.armed) sum += slot.timeouts;
    return sum;
}

void Drawing::addTitle() {
    Row title = row();
    title.add(Style::bold, grouped(picture_.pending) + " timeouts pending");
    title.add(text("   %.1f of %.6g s", toSeconds(picture_.elapsed), toSeconds(picture_.duration)));
    std::size_t const left = picture_.levels.size() - layout_.levels;
    if (left > 0) addIfItFits(title, Style::dim, "   " + counted(left, "level") + " not shown");
    addIfItFits(title, Style::dim,
                "   " + readable(picture_.tick) + text(" x %zu slots", picture_.wheelSize));
    keep(title);
}

void Drawing::addLevel(std::size_t number) {
    if (layout_.form == Layout::Form::line) return addLevelInOneLine(number);
    Level const& level = picture_.levels[number];
    Ring const ring{level, picture_.wheelSize, columns()};
    if (layout_.hasBlanks) lines_.emplace_back();

    Row head = row();
    head.add(Style::accent, text("level %zu", number));
    head.add("  " + readable(level.granularity) + " a slot");
    if (ring.perCell() > 1) head.add(Style::dim, text(", %zu slots a cell", ring.perCell()));
    constexpr std::size_t kRoomForText = 57;
    addCount(head, level, std::max(ring.columns(), kRoomForText));
    keep(head);

    if (layout_.form == Layout::Form::bars) {
        Row bars = row();
        ring.addBarsAndHand(bars, look_);
        return keep(bars);
    }
    for (std::size_t i = layout_.barRows; i-- > 0;) {
        Row bars = row();
        ring.addBars(bars, look_, i, layout_.barRows);
        keep(bars);
    }
    Row rim = row();
    ring.addRim(rim, look_);
    keep(rim);
}

/// How many timeouts a level has, at the right end of `columns` or as near as the text before it
/// allows, and in as much detail as fits.
void Drawing::addCount(Row& head, Level const& level, std::size_t columns) {
    std::size_t most = 0;
    for (Picture::Slot const& slot : level.armed) most = std::max(most, slot.timeouts);
    std::size_t const end = std::min(kMargin + columns, size_.columns - kMargin);
    std::string count = grouped(timeoutsOn(level));
    for (std::string const& more :
         {" in " + counted(level.armed.size(), "bucket"), ", at most " + grouped(most)})
        if (head.columns() + 2 + count.size() + more.size() <= end) count += more;
    head.to(end - std::min(end, count.size() + 2)).add("  ").add(count);
}

void Drawing::addLevelInOneLine(std::size_t number) {
    constexpr std::size_t kLabel = 13;
    constexpr std::size_t kCount = 9;
    Level const& level = picture_.levels[number];
    std::size_t const room = std::max(columns(), kLabel + kCount + 1) - kLabel - kCount;
    Ring const ring{level, picture_.wheelSize, room};
    Row line = row();
    line.add(Style::accent, text("%2zu", number));
    line.add(text(" %8s  ", readable(level.granularity).c_str()));
    ring.addBarsAndHand(line, look_);
    line.to(kMargin + kLabel + ring.columns());
    line.add(text("%*s", static_cast<int>(kCount), grouped(timeoutsOn(level)).c_str()));
    keep(line);
}

void Drawing::addExpirations() {
    if (layout_.hasBlanks) lines_.emplace_back();
    for (std::size_t i = 0; i < layout_.expirations; ++i) {
        Row line = row();
        line.add(Style::dim, i == 0 ? "next buckets" : "            ");
        if (i < picture_.next.size()) {
            Picture::Expiration const& next = picture_.next[i];
            line.add(text("  level %zu  slot %-3zu ", next.level, next.slot));
            line.add(next.in.count() > 0 ? text("in %8s", readable(next.in).c_str())
                                         : std::string{"        now"});
            line.add(text("  %7s", grouped(next.timeouts).c_str()));
            addIfItFits(line, Style::plain, next.timeouts == 1 ? " timeout" : " timeouts");
        }
        keep(line);
    }
}

void Drawing::addRates() {
    struct Column {
        char const* name;
        char const* shortName;
        std::uint64_t value;
    };
    Picture::Rates const& rates = picture_.rates;
    std::array<Column, 6> const columns{{{"scheduled/s", "sched/s", rates.scheduled},
                                         {"cancelled/s", "cancel/s", rates.cancelled},
                                         {"pushed back/s", "pushed/s", rates.pushedBack},
                                         {"cascades/s", "casc/s", rates.cascades},
                                         {"runs/s", "runs/s", rates.runs},
                                         {"wake-ups/s", "wakes/s", rates.wakeUps}}};
    constexpr std::size_t kWide = 78;
    if (layout_.hasBlanks) lines_.emplace_back();
    Row names = row();
    Row values = row();
    for (Column const& column : columns) {
        std::string const name = size_.columns >= kWide ? column.name : column.shortName;
        constexpr std::size_t kNarrowest = 8;
        int const width = static_cast<int>(std::max(name.size(), kNarrowest));
        names.add(Style::dim, text("%*s ", width, name.c_str()));
        values.add(text("%*s ", width, grouped(column.value).c_str()));
        if (size_.columns >= kWide) {
            names.add(" ");
            values.add(" ");
        }
    }
    keep(names);
    keep(values);
}

void Drawing::addLateness() {
    Picture::Lateness const& lateness = picture_.lateness;
    Row line = row();
    line.add(Style::dim, "lateness  p50 ").add(readable(lateness.half));
    line.add(Style::dim, "  p99 ").add(readable(lateness.hundredth));
    line.add(Style::dim, "  worst ").add(readable(lateness.worst));
    addIfItFits(line, Style::dim, "   (p50, p99: of the last second)");
    keep(line);
}

void Drawing::addLegend() {
    if (layout_.hasBlanks) lines_.emplace_back();
    Row line = row();
    line.add(look_.blocks()).add(Style::dim, " root of the count   ");
    line.add(Style::bold, look_.hand()).add(Style::dim, " clock");
    if (look_.hasColours()) {
        line.add("   ");
        for (double distance = 0; distance < 1; distance += 0.2)
            line.add(look_.soonness(distance), look_.swatch());
        line.add(Style::dim, " soon to late");
    }
    addIfItFits(line, Style::dim, "   Ctrl-C ends");
    keep(line);
}

}  // namespace

std::vector<std::string> draw(Picture const& picture, Size size, Abilities abilities) {
    return Drawing{picture, size, abilities}.lines();
}

}  // namespace demo
