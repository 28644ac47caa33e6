#include "apps/demo/FollowOneTask.h"

#include "apps/demo/Format.h"
#include "apps/demo/Interrupt.h"
#include "apps/demo/TimePoint.h"
#include "apps/demo/WayDown.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerObserver.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using timingwheel::TimerEvent;
using Style = Terminal::Style;

/// Keeps the events of the timer's threads until the main thread prints them.
class Witness final : public timingwheel::TimerObserver {
public:
    /// Passes on to `trace` as well, if there is one.
    explicit Witness(std::unique_ptr<timingwheel::TimerObserver> trace)
        : trace_{std::move(trace)} {}

    void onEvent(TimerEvent const& event) noexcept override {
        if (trace_ != nullptr) trace_->onEvent(event);
        {
            std::lock_guard const lock{mutex_};
            events_.push_back(event);
        }
        changed_.notify_one();
    }

    /// The events since the last call; waits up to `atMost` for one.
    std::vector<TimerEvent> take(nanoseconds atMost) {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, atMost, [this] { return !events_.empty(); });
        return std::exchange(events_, {});
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<TimerEvent> events_;
    std::unique_ptr<timingwheel::TimerObserver> const trace_;
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

    /// Where the task is now: always up to date on a terminal, otherwise a line every second.
    void wait() {
        TimePoint const now = timingwheel::Clock::steady().now();
        if (terminal_.canRedraw()) {
            constexpr std::size_t kCells = 20;
            double const done = toSeconds(now - start_) / toSeconds(due_ - start_);
            terminal_.live(text("%6.1f   s  ", toSeconds(now - start_)) +
                           terminal_.gauge(done, kCells) + ' ' + whereAt(now));
        } else if (now >= nextLine_) {
            line(now, "...", whereAt(now));
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

    void line(TimePoint time, char const* what, std::string const& story) {
        terminal_.line(text("%8.3f s  ", toSeconds(time - start_)) +
                       terminal_.styled(Style::accent, text("%-9s", what)) + story);
    }

    /// Where the task was put, and until when; below it the slots of that level.
    void tellBucket(TimerEvent const& event, char const* what, std::string const& whereTo) {
        level_ = event.level;
        moves_ = start_ + tick_ * event.expiration.value();
        nextLine_ = event.time + 1s;
        nanoseconds const wait = std::max(nanoseconds{0}, nanoseconds{moves_ - event.time});
        line(event.time, what,
             whereTo +
                 text(", slot %u: expires at %.3f s, in ", event.slot, toSeconds(moves_ - start_)) +
                 readable(wait));
        drawSlots(event);
    }

    void drawSlots(TimerEvent const& event) {
        constexpr std::int64_t kFewest = 4;
        constexpr std::int64_t kMost = 32;
        if (wheelSize_ < kFewest || wheelSize_ > kMost) return;
        nanoseconds width = tick_;
        for (std::uint32_t i = 0; i < event.level; ++i) width *= wheelSize_;
        char const* const empty = terminal_.hasUnicode() ? "·" : ".";
        char const* const task = terminal_.hasUnicode() ? "■" : "O";
        std::string before;
        std::string after;
        for (std::int64_t i = 0; i < wheelSize_; ++i)
            if (i != event.slot) (i < event.slot ? before : after) += empty;
        terminal_.line(std::string(21, ' ') + terminal_.styled(Style::dim, before) +
                       terminal_.styled(Style::accent, task) + terminal_.styled(Style::dim, after) +
                       text("  %lld slots of ", static_cast<long long>(wheelSize_)) +
                       readable(width));
    }

    void tellPlace(TimerEvent const& event) {
        tellBucket(event, "place", text("on level %u", event.level));
    }

    void tellCascade(TimerEvent const& event) {
        ++cascades_;
        tellBucket(event, "cascade", text("level %u to %u", event.fromLevel, event.level));
    }

    void tellRun(TimerEvent const& event) {
        hasRun_ = true;
        line(event.time, "run",
             terminal_.styled(Style::good, readable(event.lateness) + " late") + ", " +
                 counted(cascades_, "cascade") + " after it was placed");
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
    terminal.line(terminal.heading("1  One task, followed down the levels of a wheel"));
    terminal.line();
    terminal.line(text("   A wheel of levels with %lld slots each. Those of level 0 are ",
                       static_cast<long long>(options.wheelSize)) +
                  readable(options.tick) + " wide,");
    terminal.line(
        "   those of the next as wide as a whole level below. What lies in one slot is a");
    terminal.line("   bucket; when it expires, its tasks move down, and at level 0 they run. This");
    terminal.line("   one is due " + counted(static_cast<std::uint64_t>(deadline), "tick") + ", " +
                  text("%.3f s", toSeconds(options.tick * deadline)) + ", after the timer's start" +
                  (deadline < options.wheelSize ? "." : ":"));
    if (deadline < options.wheelSize) {
        terminal.line();
        terminal.line(
            "   Level 0 is enough for that. For cascades: a finer --tick, fewer slots by");
        terminal.line("   --wheel-size, or a longer --follow.");
    }
    terminal.line();
}

}  // namespace

Followed followOneTask(Options const& options, TraceFile& trace, Terminal& terminal) {
    std::int64_t const deadline =
        deadlineThroughAllLevels(options.follow / options.tick, options.wheelSize);
    introduce(options, terminal, deadline);

    Followed followed;
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> early{0};
    Witness witness{trace.open()};
    // Read before the timer starts to count, so that the deadline is not a tick too late.
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
        terminal.line("   The driver thread woke " + counted(timer.statistics().wakeUps, "time") +
                      "; the rest of the time it slept.");
    }
    terminal.line();
    followed.runs = runs;
    followed.early = early;
    return followed;
}

}  // namespace demo
