#pragma once

#include "Replay.h"

#include <timingwheel/Clock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

/// The timers that play scripts: see ScriptedTimer.
namespace timingwheel::choosing {

struct Setting {
    nanoseconds tick{};
    std::int64_t wheelSize = 0;
    /// The tolerance is the delay divided by this; 0: none.
    int toleranceDivisor = 0;
};

/// A clock that shows the script's time.
class ScriptClock final : public Clock {
public:
    TimePoint now() const noexcept override { return now_; }
    void set(nanoseconds time) noexcept { now_ = TimePoint{time}; }

    /// Only a timer with a thread waits.
    void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
              TimePoint) override {
        condition.wait(lock);
    }

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
    enum class Watch : bool { none, moves };

    LevelledTimer(Setting const& setting, Watch watch)
        : toleranceDivisor_{setting.toleranceDivisor},
          timer_{{.tick = setting.tick,
                  .wheelSize = setting.wheelSize,
                  .clock = clock_,
                  .observer = watch == Watch::moves ? &moves_ : nullptr}} {}

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

/// The wheel alone, of objects of the user's: no handle, no state, no observer around it.
class BareWheel {
    struct Entry : TimerTaskEntry {
        nanoseconds due{};
    };

public:
    explicit BareWheel(Setting const& setting)
        : tick_{setting.tick}, wheel_{{.wheelSize = setting.wheelSize}} {}

    void reserve(std::size_t count) { entries_.resize(count); }

    void begin(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        wheel_.raw().advanceClock(Tick{now / tick_});
        wheel_.add(entries_[id], deadlineOf(id, now + delay));
    }
    void pushBack(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        wheel_.raw().advanceClock(Tick{now / tick_});
        wheel_.reschedule(entries_[id], deadlineOf(id, now + delay));
    }
    void cancel(std::uint32_t id) { wheel_.cancel(entries_[id]); }

    std::optional<nanoseconds> next() const {
        auto const tick = wheel_.nextExpiration();
        if (!tick) return std::nullopt;
        return tick->value() * tick_;
    }
    void advanceTo(nanoseconds now, Counts& counts) {
        wheel_.advanceTo(Tick{now / tick_}, [&](Entry& entry) { counts.fire(now - entry.due); });
    }

    static void readInto(Counts&) noexcept {}

private:
    Tick deadlineOf(std::uint32_t id, nanoseconds due) {
        entries_[id].due = due;
        return Tick{(due.count() + tick_.count() - 1) / tick_.count()};
    }

    nanoseconds tick_;
    std::vector<Entry> entries_;
    TimingWheel<Entry> wheel_;
};

/// The wheel of HashedWheelTimer, which puts a deadline into the tick after it.
class FlatTimer {
    struct Entry : TimerTaskEntry {
        nanoseconds due{};
    };

public:
    explicit FlatTimer(Setting const& setting)
        : tick_{setting.tick}, wheel_{{.ticksPerWheel = setting.wheelSize}} {}

    void reserve(std::size_t count) { entries_.resize(count); }

    void begin(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        // An empty wheel's clock jumps.
        if (wheel_.empty()) wheel_.advanceTo(Tick{now / tick_}, [](Entry&) {});
        wheel_.add(entries_[id], deadlineOf(id, now + delay));
    }
    void pushBack(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        wheel_.reschedule(entries_[id], deadlineOf(id, now + delay));
    }
    void cancel(std::uint32_t id) { wheel_.cancel(entries_[id]); }

    std::optional<nanoseconds> next() const {
        auto const tick = wheel_.nextExpiration();
        if (!tick) return std::nullopt;
        return tick->value() * tick_;
    }
    void advanceTo(nanoseconds now, Counts& counts) {
        auto const slots = wheel_.slots();
        auto const slot = static_cast<std::size_t>(now / tick_) & (slots.size() - 1);
        std::size_t const looked = slots[slot].size();
        std::size_t const due = wheel_.advanceTo(
            Tick{now / tick_}, [&](Entry& entry) { counts.fire(now - entry.due); });
        counts.passedOver += looked - due;
    }

    static void readInto(Counts&) noexcept {}

private:
    Tick deadlineOf(std::uint32_t id, nanoseconds due) {
        entries_[id].due = due;
        return Tick{due / tick_ + 1};
    }

    nanoseconds tick_;
    std::vector<Entry> entries_;
    HashedWheel<Entry> wheel_;
};

/// A binary heap as most people write it: what was cancelled or pushed back stays in it until it
/// comes to the top.
class LazyHeap {
public:
    explicit LazyHeap(Setting const&) {}

    void reserve(std::size_t count) { current_.resize(count); }

    void begin(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        heap_.push({now + delay, id, ++current_[id]});
    }
    void pushBack(std::uint32_t id, nanoseconds now, nanoseconds delay) { begin(id, now, delay); }
    void cancel(std::uint32_t id) { ++current_[id]; }

    std::optional<nanoseconds> next() {
        while (!heap_.empty() && isStale(heap_.top())) heap_.pop();
        if (heap_.empty()) return std::nullopt;
        return heap_.top().due;
    }
    void advanceTo(nanoseconds now, Counts& counts) {
        while (!heap_.empty() && heap_.top().due <= now) {
            if (!isStale(heap_.top())) counts.fire(now - heap_.top().due);
            heap_.pop();
        }
    }

    static void readInto(Counts&) noexcept {}

private:
    struct Item {
        nanoseconds due;
        std::uint32_t id;
        std::uint32_t version;
        friend bool operator>(Item const& a, Item const& b) noexcept { return a.due > b.due; }
    };

    bool isStale(Item const& item) const noexcept { return current_[item.id] != item.version; }

    std::priority_queue<Item, std::vector<Item>, std::greater<>> heap_;
    std::vector<std::uint32_t> current_;
};

/// A tree: what is cancelled leaves it at once.
class Tree {
public:
    explicit Tree(Setting const&) {}

    void reserve(std::size_t count) { places_.resize(count); }

    void begin(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        places_[id] = tree_.emplace(now + delay, id);
    }
    void pushBack(std::uint32_t id, nanoseconds now, nanoseconds delay) {
        auto node = tree_.extract(places_[id]);
        node.key() = now + delay;
        places_[id] = tree_.insert(std::move(node));
    }
    void cancel(std::uint32_t id) { tree_.erase(places_[id]); }

    std::optional<nanoseconds> next() const {
        if (tree_.empty()) return std::nullopt;
        return tree_.begin()->first;
    }
    void advanceTo(nanoseconds now, Counts& counts) {
        while (!tree_.empty() && tree_.begin()->first <= now) {
            counts.fire(now - tree_.begin()->first);
            tree_.erase(tree_.begin());
        }
    }

    static void readInto(Counts&) noexcept {}

private:
    std::multimap<nanoseconds, std::uint32_t> tree_;
    std::vector<decltype(tree_)::iterator> places_;
};

}  // namespace timingwheel::choosing
