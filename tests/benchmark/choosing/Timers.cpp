#include "Replay.h"

#include <timingwheel/Clock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

// The timer that plays scripts, and what a wake-up costs.

namespace timingwheel::bench::choosing {
namespace {

using namespace std::chrono_literals;

/// A clock that shows the script's time.
class ScriptClock final : public Clock {
public:
    TimePoint now() const noexcept override { return now_; }
    void set(nanoseconds time) noexcept { now_ = TimePoint{time}; }

    /// Only a timer with a thread waits.
    std::unique_ptr<Waiter> makeWaiter() override { return steady().makeWaiter(); }

private:
    TimePoint now_{};
};

/// The library's timer with levels, with a hook for each timeout.
class LevelledTimer {
    class Task {
    public:
        explicit Task(LevelledTimer& owner) noexcept : owner_{owner} {}

    private:
        friend class LevelledTimer;

        void onDue() { owner_.counts_->fire(owner_.clock_.now().time_since_epoch() - due_); }

        LevelledTimer& owner_;
        nanoseconds due_{};
        TimerHook<&Task::onDue> hook_{*this};
    };

    /// Counts what a bucket's expiration makes of its entries.
    class Moves final : public TimerObserver {
    public:
        void onEvent(TimerEvent const& event) noexcept override {
            using Stage = TimerEvent::Stage;
            if (isAdvancing && (event.stage == Stage::place || event.stage == Stage::cascade))
                ++count;
        }

        bool isAdvancing = false;
        std::uint64_t count = 0;
    };

public:
    /// Counting moves is left out where time is taken.
    explicit LevelledTimer(Request const& request)
        : toleranceDivisor_{request.toleranceDivisor},
          timer_{{.tick = request.tick,
                  .wheelSize = request.wheelSize,
                  .clock = clock_,
                  .observer = request.load == "replay-counts" ? &moves_ : nullptr}} {}

    void reserve(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) tasks_.emplace_back(*this);
    }

    void begin(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        Task& task = at(id, now, delay);
        timer_.schedule(task.hook_, delay, {.tolerance = toleranceOf(delay)});
    }
    void pushBack(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        at(id, now, delay).hook_.reschedule(delay, {.tolerance = toleranceOf(delay)});
    }
    void cancel(std::uint32_t id) { tasks_[id].hook_.cancel(); }

    std::optional<nanoseconds> next() const {
        auto const expiration = timer_.nextExpiration();
        if (!expiration) return std::nullopt;
        return expiration->time_since_epoch();
    }
    void advanceTo(nanoseconds now, Counts& counts) {
        counts_ = &counts;
        clock_.set(now);
        moves_.isAdvancing = true;
        timer_.advanceTo(clock_.now());
        moves_.isAdvancing = false;
    }

    void readInto(Counts& counts) const {
        counts.moves = moves_.count;
        counts.levels = timer_.statistics().cascaded.size();
    }

private:
    Task& at(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        clock_.set(now);
        Task& task = tasks_[id];
        task.due_ = now + delay;
        return task;
    }
    nanoseconds toleranceOf(nanoseconds delay) const noexcept {
        return toleranceDivisor_ == 0 ? nanoseconds{} : delay / toleranceDivisor_;
    }

    int toleranceDivisor_;
    Counts* counts_ = nullptr;
    ScriptClock clock_;
    Moves moves_;
    ManualTimer timer_;
    std::deque<Task> tasks_;
};

/// Processor time of a SystemTimer's thread for waking, running one task and going to sleep.
Result wakeUp(Request const& request) {
    auto const wakeUps = static_cast<int>(request.count);
    ThreadWatch const watch;
    std::atomic<int> fired{0};
    SystemTimer timer{{.tick = 50us, .shards = 1}};
    auto const start = timer.clock().now() + 20ms;
    for (int i = 0; i < wakeUps; ++i) timer.newTimeout([&] { ++fired; }, start + i * 200us);
    auto const before = watch.usage();
    while (fired < wakeUps) std::this_thread::sleep_for(5ms);
    auto const used = watch.usage() - before;
    return {{"ns", static_cast<double>(used.cpuNanoseconds) /
                       static_cast<double>(std::max<std::int64_t>(used.wakeUps, 1))}};
}

Registration const levelled{{"ManualTimer", "ManualTimer", "hooks"}, replayLoads<LevelledTimer>()};
Registration const system{{"SystemTimer", "SystemTimer", "its thread"}, {{"wake-up", wakeUp}}};

}  // namespace
}  // namespace timingwheel::bench::choosing
