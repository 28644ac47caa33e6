#include "apps/demo/FollowOneTask.h"

#include "apps/demo/Ledger.h"
#include "apps/terminal/Format.h"
#include "apps/terminal/Interrupt.h"

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
using Style = Terminal::Style;

/// Keeps the events of the timer's threads until the main thread prints them.
class Witness final : public timingwheel::TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
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
        using Stage = TimerEvent::Stage;
        if (event.entry != entry_) return;
        if (event.stage == Stage::intake) start_ = due_ - tick_ * event.deadline.value();
        if (event.stage == Stage::place)
            tellBucket(event, "place", text("on level %u", event.level));
        if (event.stage == Stage::cascade) {
            ++cascades_;
            tellBucket(event, "cascade", text("level %u to %u", event.fromLevel, event.level));
        }
        if (event.stage == Stage::run) {
            hasRun_ = true;
            line(event.time, "run",
                 terminal_.styled(Style::good, readable(event.lateness) + " late") + ", " +
                     counted(cascades_, "cascade") + " after it was placed");
        }
    }

    /// Where the task is now, on a terminal.
    void wait() {
        if (!terminal_.canRedraw()) return;
        TimePoint const now = timingwheel::Clock::steady().now();
        auto const in = [now](TimePoint time) {
            return text("%.1f s", std::max(0.0, toSeconds(time - now)));
        };
        std::string const moves = level_ == 0 ? "" : "moves in " + in(moves_) + ", ";
        terminal_.live(text("%6.1f   s  on level %u, ", toSeconds(now - start_), level_) + moves +
                       "due in " + in(due_));
    }

private:
    void line(TimePoint time, char const* what, std::string const& story) {
        terminal_.line(text("%8.3f s  ", toSeconds(time - start_)) +
                       terminal_.styled(Style::accent, text("%-9s", what)) + story);
    }

    /// Where the task was put, and until when; below it the slots of that level.
    void tellBucket(TimerEvent const& event, char const* what, std::string const& whereTo) {
        level_ = event.level;
        moves_ = start_ + tick_ * event.expiration.value();
        nanoseconds const wait = std::max(nanoseconds{0}, nanoseconds{moves_ - event.time});
        line(event.time, what,
             whereTo +
                 text(", slot %u: expires at %.3f s, in ", event.slot, toSeconds(moves_ - start_)) +
                 readable(wait));
        drawSlots(event);
    }

    void drawSlots(TimerEvent const& event) {
        if (wheelSize_ > 32) return;
        nanoseconds width = tick_;
        for (std::uint32_t i = 0; i < event.level; ++i) width *= wheelSize_;
        std::string before;
        std::string after;
        for (std::int64_t i = 0; i < wheelSize_; ++i)
            if (i != event.slot)
                (i < event.slot ? before : after) += terminal_.hasUnicode() ? "·" : ".";
        char const* const task = terminal_.hasUnicode() ? "■" : "O";
        terminal_.line(std::string(21, ' ') + terminal_.styled(Style::dim, before) +
                       terminal_.styled(Style::accent, task) + terminal_.styled(Style::dim, after) +
                       text("  %lld slots of ", static_cast<long long>(wheelSize_)) +
                       readable(width));
    }

    Terminal& terminal_;
    nanoseconds tick_;
    std::int64_t wheelSize_;
    void const* entry_;
    TimePoint due_;
    TimePoint start_{};
    TimePoint moves_{};
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
    for (char const* const line :
         {"   those of the next as wide as a whole level below. What lies in one slot is a",
          "   bucket; when it expires, its tasks move down, and at level 0 they run. This"})
        terminal.line(line);
    terminal.line("   one is due " + counted(static_cast<std::uint64_t>(deadline), "tick") +
                  text(", %.3f s, after the timer's start.", toSeconds(options.tick * deadline)));
    terminal.line();
}

}  // namespace

std::int64_t deadlineThroughAllLevels(std::int64_t wanted, std::int64_t wheelSize) {
    if (wanted < wheelSize) return std::max<std::int64_t>(wanted, 1);
    std::int64_t const digit = wanted % wheelSize;
    // A timer that starts a tick late still finds no 0 there.
    return deadlineThroughAllLevels(wanted / wheelSize, wheelSize) * wheelSize +
           (digit > 0 ? digit : std::min<std::int64_t>(2, wheelSize - 1));
}

Followed followOneTask(Options const& options, Terminal& terminal) {
    std::int64_t const deadline =
        deadlineThroughAllLevels(options.follow / options.tick, options.wheelSize);
    introduce(options, terminal, deadline);

    Followed followed;
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> early{0};
    Witness witness;
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
