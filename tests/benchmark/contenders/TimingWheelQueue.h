#pragma once

#include "wheel/Loads.h"

#include <timingwheel/wheel/TimingWheel.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace timingwheel::bench {

enum class Deadlines { exact, tolerant };

/// The wheel of the library. With a tolerance of a tenth of the delay, deadlines are rounded up as
/// the timers of the library do it: to the coarsest slots that are no wider.
template <Deadlines deadlines>
class Wheel {
public:
    explicit Wheel(Request const& request)
        : entries_(request.count), wheel_{{.wheelSize = request.wheelSize}} {}
    ~Wheel() {
        while (wheel_.raw().takeAny() != nullptr) {
        }
    }
    Wheel(Wheel const&) = delete;
    Wheel& operator=(Wheel const&) = delete;

    std::int64_t now() const { return wheel_.currentTick().value(); }
    void schedule(std::size_t i, std::int64_t deadline) {
        static_cast<void>(wheel_.add(entries_[i], tickOf(deadline)));
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        static_cast<void>(wheel_.reschedule(entries_[i], tickOf(deadline)));
    }
    void cancel(std::size_t i) { wheel_.cancel(entries_[i]); }
    Payload& payload(std::size_t i) { return entries_[i].payload; }
    /// The clock alone: nothing is due.
    void moveTo(std::int64_t now) { wheel_.raw().advanceClock(Tick{now}); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        wheel_.advanceTo(Tick{now}, [&](Entry& entry) { due(indexOf(entry)); });
    }
    std::int64_t next() const {
        std::optional<Tick> const tick = wheel_.nextExpiration();
        return tick ? tick->value() : -1;
    }
    static std::int64_t lateness(std::int64_t delay) {
        return deadlines == Deadlines::exact ? 0 : delay / kTolerance;
    }

    /// advanceTo, which tells of each entry that moves down a level as well.
    template <class Due, class Cascade>
    void advanceCounting(std::int64_t now, Due&& due, Cascade&& cascade) {
        RawTimingWheel& base = wheel_.raw();
        while (base.hasFlushed() || base.flush(Tick{now})) {
            while (base.hasFlushed()) {
                TimerTaskEntry& entry = base.takeFlushed();
                if (base.place(entry).isDue()) {
                    due(indexOf(static_cast<Entry&>(entry)));
                } else {
                    cascade(indexOf(static_cast<Entry&>(entry)));
                }
            }
        }
        base.advanceClock(Tick{now});
    }
    std::size_t levels() const { return wheel_.levels().size(); }

private:
    static constexpr std::int64_t kTolerance = 10;

    struct Entry : TimerTaskEntry {
        Payload payload{};
    };
    static_assert(sizeof(Entry) == 40 || sizeof(void*) != 8);

    std::size_t indexOf(Entry const& entry) const {
        return static_cast<std::size_t>(&entry - entries_.data());
    }

    Tick tickOf(std::int64_t deadline) {
        if constexpr (deadlines == Deadlines::tolerant) {
            std::int64_t const tolerance = (deadline - now()) / kTolerance;
            std::int64_t const granularity = wheel_.raw().geometry().granularityWithin(tolerance);
            return Tick{(deadline + granularity - 1) / granularity * granularity};
        } else {
            return Tick{deadline};
        }
    }

    std::vector<Entry> entries_;
    TimingWheel<Entry> wheel_;
};

}  // namespace timingwheel::bench
