#include "apps/demo/Progress.h"

#include "apps/demo/Format.h"

#include <algorithm>
#include <cstdint>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// On a terminal the rows of the whole load should fit the screen.
nanoseconds intervalOfRows(Terminal const& terminal, nanoseconds duration) {
    constexpr int kRows = 10;
    return terminal.canRedraw() ? std::max<nanoseconds>(1s, duration / kRows) : nanoseconds{1s};
}

std::string column(std::uint64_t number, int width) {
    return text("%*s", width, grouped(number).c_str());
}

}  // namespace

Progress::Progress(Terminal& terminal, TimePoint begin, nanoseconds duration)
    : terminal_{terminal},
      begin_{begin},
      every_{intervalOfRows(terminal, duration)},
      nextRow_{begin + every_},
      lastTime_{begin} {
    terminal_.line(terminal_.styled(
        Terminal::Style::dim,
        "     time  pending scheduled/s pushed back/s     cancelled      runs worst late"));
}

std::string Progress::row(timingwheel::TimerStatistics const& now, TimePoint time) const {
    double const seconds = std::max(toSeconds(time - lastTime_), 1e-3);
    auto const perSecond = [seconds](std::uint64_t before, std::uint64_t after) {
        return static_cast<std::uint64_t>(static_cast<double>(after - before) / seconds);
    };
    return text("%7.1f s", toSeconds(time - begin_)) + column(now.pending, 9) +
           column(perSecond(last_.scheduled, now.scheduled), 12) +
           column(perSecond(last_.rescheduled, now.rescheduled), 14) + column(now.cancelled, 14) +
           column(now.runs, 10) + text("%11s", readable(now.maxLateness).c_str());
}

void Progress::keepRow(timingwheel::TimerStatistics const& now, TimePoint time) {
    terminal_.line(row(now, time));
    lastTime_ = time;
    last_ = now;
}

void Progress::show(timingwheel::TimerStatistics const& now) {
    TimePoint const time = timingwheel::Clock::steady().now();
    if (time >= nextRow_) {
        keepRow(now, time);
        nextRow_ += every_;
    } else if (terminal_.canRedraw()) {
        terminal_.live(row(now, time));
    }
}

void Progress::finish(timingwheel::TimerStatistics const& now) {
    TimePoint const time = timingwheel::Clock::steady().now();
    if (time - lastTime_ >= 100ms) keepRow(now, time);
}

}  // namespace demo
