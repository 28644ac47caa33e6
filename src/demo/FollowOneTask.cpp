#include "demo/FollowOneTask.h"

#include "demo/Format.h"
#include "demo/Interrupt.h"
#include "demo/WayDown.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerObserver.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using timingwheel::TimerEvent;
using TimePoint = timingwheel::Clock::TimePoint;

/// Keeps what the timer's threads tell of until the main thread prints it.
class Witness final : public timingwheel::TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        {
            std::lock_guard const lock{mutex_};
            events_.push_back(event);
        }
        changed_.notify_one();
    }

    /// What was told since the last call; waits up to `atMost` for it.
    std::vector<TimerEvent> take(nanoseconds atMost) {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, atMost, [this] { return !events_.empty(); });
        return std::exchange(events_, {});
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<TimerEvent> events_;
};

/// Tells the story of one task.
class Story {
public:
    Story(Options const& options, Terminal& terminal, timingwheel::Timeout const& timeout)
        : terminal_{terminal},
          tick_{options.tick},
          wheelSize_{options.wheelSize},
          entry_{timingwheel::TimerObserver::entryOf(timeout)},
          due_{timeout.deadline()} {}

    bool hasRun() const noexcept { return hasRun_; }

    void tell(TimerEvent const& event) {
        if (event.entry != entry_) return;
        switch (event.stage) {
            case TimerEvent::Stage::intake:
                start_ = due_ - tick_ * event.deadline.value();
                break;
            case TimerEvent::Stage::place:
                tellPlace(event);
                break;
            case TimerEvent::Stage::cascade:
                tellCascade(event);
                break;
            case TimerEvent::Stage::run:
                tellRun(event);
                break;
            default:
                break;
        }
    }

    /// Where the task is meanwhile: always up to date on a terminal, else a line every second.
    void wait() {
        TimePoint const now = timingwheel::Clock::steady().now();
        if (terminal_.canRedraw()) {
            constexpr std::size_t kCells = 20;
            double const done = toSeconds(now - start_) / toSeconds(due_ - start_);
            terminal_.live(text("%6.1f   s  ", toSeconds(now - start_)) +
                           terminal_.gauge(done, kCells) + ' ' + whereAt(now));
        } else if (now >= nextLine_) {
            if (nextLine_ != TimePoint{})
                line(now, "...", whereAt(now));
            else
                nextLine_ = start_;
            nextLine_ += 1s;
        }
    }

private:
    static std::string tenths(nanoseconds time) {
        return text("%.1f s", std::max(0.0, toSeconds(time)));
    }

    std::string whereAt(TimePoint now) const {
        std::string const due = tenths(due_ - now);
        if (level_ == 0) return "on level 0, due in " + due;
        return text("on level %u, moves in ", level_) + tenths(moves_ - now) + ", due in " + due;
    }

    std::string at(TimePoint time) const { return text("%.3f s", toSeconds(time - start_)); }

    void line(TimePoint time, char const* what, std::string const& story) {
        terminal_.line(text("%8.3f s  ", toSeconds(time - start_)) +
                       terminal_.styled(Terminal::Style::accent, text("%-9s", what)) + story);
    }

    /// The slots of a level, one of which holds the task.
    std::string slots(std::uint32_t slot) const {
        constexpr std::int64_t kMostDrawn = 32;
        if (wheelSize_ > kMostDrawn) return {};
        char const* const empty = terminal_.hasUnicode() ? "·" : ".";
        std::string row;
        for (std::int64_t i = 0; i < wheelSize_; ++i)
            row += i != slot                ? terminal_.styled(Terminal::Style::dim, empty)
                   : terminal_.hasUnicode() ? terminal_.styled(Terminal::Style::bold, "■")
                                            : terminal_.styled(Terminal::Style::bold, "O");
        return row;
    }

    void tellBucket(TimerEvent const& event) {
        level_ = event.level;
        moves_ = start_ + tick_ * event.expiration.value();
        std::string const expires =
            "its bucket expires at " + at(moves_) + ", in " +
            readable(std::max(nanoseconds{0}, nanoseconds{moves_ - event.time}));
        std::string const row = slots(event.slot);
        terminal_.line(std::string(21, ' ') + row + (row.empty() ? "" : "  ") + expires);
    }

    nanoseconds widthOfSlot(std::uint32_t level) const {
        nanoseconds width = tick_;
        for (std::uint32_t i = 0; i < level; ++i) width *= wheelSize_;
        return width;
    }

    void tellPlace(TimerEvent const& event) {
        line(event.time, "place",
             text("on level %u, slot %u, which is ", event.level, event.slot) +
                 readable(widthOfSlot(event.level)) + " wide");
        tellBucket(event);
    }

    void tellCascade(TimerEvent const& event) {
        ++cascades_;
        line(event.time, "cascade",
             text("from level %u down to level %u, slot %u, ", event.fromLevel, event.level,
                  event.slot) +
                 readable(widthOfSlot(event.level)) + " wide");
        tellBucket(event);
    }

    void tellRun(TimerEvent const& event) {
        hasRun_ = true;
        line(event.time, "run",
             terminal_.styled(Terminal::Style::good, readable(event.lateness) + " late") +
                 text(", %u cascade%s after it was placed", cascades_, cascades_ == 1 ? "" : "s"));
    }

    Terminal& terminal_;
    nanoseconds tick_;
    std::int64_t wheelSize_;
    void const* entry_;
    TimePoint due_;
    TimePoint start_{};
    TimePoint moves_{};
    TimePoint nextLine_{};
    std::uint32_t level_ = 0;
    std::uint32_t cascades_ = 0;
    bool hasRun_ = false;
};

void introduce(Options const& options, Terminal& terminal, std::int64_t deadline) {
    auto const wheelSize = options.wheelSize;
    std::string widths = readable(options.tick);
    nanoseconds width = options.tick;
    for (std::int64_t rest = deadline; rest >= wheelSize; rest /= wheelSize) {
        width *= wheelSize;
        widths += ", " + readable(width);
    }
    std::string const levels =
        text("%lld slots a level; from level 0 up, a slot is", static_cast<long long>(wheelSize));
    terminal.line(terminal.heading("1  One task, followed down the levels of a wheel"));
    terminal.line();
    // Many narrow levels take a line of their own.
    constexpr std::size_t kRoom = 16;
    constexpr std::size_t kLine = 70;
    if (widths.size() <= kRoom + 8) {
        terminal.line("   " + levels + ' ' + widths + " wide.");
    } else {
        terminal.line("   " + levels);
        for (std::size_t end; widths.size() > kLine; widths.erase(0, end + 1)) {
            end = widths.rfind(' ', kLine);
            terminal.line("   " + widths.substr(0, end));
        }
        terminal.line("   " + widths + " wide.");
    }
    terminal.line("   The task is due " + text("%.3f s", toSeconds(options.tick * deadline)) +
                  " (" + grouped(static_cast<std::uint64_t>(deadline)) +
                  " ticks) after the timer's start.");
    if (deadline < wheelSize)
        terminal.line(
            "   That fits level 0: a finer --tick or a smaller --wheel-size has cascades.");
    terminal.line();
}

}  // namespace

Followed followOneTask(Options const& options, Terminal& terminal) {
    std::int64_t const deadline =
        deadlineThroughAllLevels(options.follow / options.tick, options.wheelSize);
    introduce(options, terminal, deadline);

    Followed followed;
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> early{0};
    Witness witness;
    // Before the timer starts to count, so that the deadline is not one tick more than wanted.
    TimePoint const due = timingwheel::Clock::steady().now() + options.tick * deadline;
    timingwheel::SystemTimer timer{{.tick = options.tick,
                                    .wheelSize = options.wheelSize,
                                    .name = "follow",
                                    .shards = 1,
                                    .observer = &witness}};
    timingwheel::Timeout const timeout = timer.newTimeout(
        [&] {
            if (timer.clock().now() < due) ++early;
            ++runs;
        },
        due);

    Story story{options, terminal, timeout};
    while (!story.hasRun() && !isInterrupted()) {
        for (TimerEvent const& event : witness.take(50ms)) story.tell(event);
        if (!story.hasRun()) story.wait();
    }
    if (isInterrupted()) {
        for (auto const& stopped : timer.stop()) {
            ++followed.returned;
            terminal.line("   Interrupted: stop() returned the task, " +
                          readable(stopped.remaining()) + " before it was due.");
        }
    } else {
        timer.drain();
        terminal.line();
        terminal.line(text("   The driver thread woke %llu times for that; the rest it slept.",
                           static_cast<unsigned long long>(timer.statistics().wakeUps)));
    }
    terminal.line();
    followed.runs = runs;
    followed.early = early;
    return followed;
}

}  // namespace demo
