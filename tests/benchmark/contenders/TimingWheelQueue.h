#pragma once

#include "loads/WheelLoads.h"

#include <timingwheel/wheel/TimingWheel.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace timingwheel::bench {

/// The wheel of the library.
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
        static_cast<void>(wheel_.add(entries_[i], Tick{deadline}));
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        static_cast<void>(wheel_.reschedule(entries_[i], Tick{deadline}));
    }
    void cancel(std::size_t i) { wheel_.cancel(entries_[i]); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        wheel_.advanceTo(Tick{now}, [&](Entry& entry) { due(indexOf(entry)); });
    }
    std::int64_t next() const {
        std::optional<Tick> const tick = wheel_.nextExpiration();
        return tick ? tick->value() : -1;
    }

private:
    struct Entry : TimerTaskEntry {
        Payload payload{};
    };
    static_assert(sizeof(Entry) == 40 || sizeof(void*) != 8);

    std::size_t indexOf(Entry const& entry) const {
        return static_cast<std::size_t>(&entry - entries_.data());
    }

    std::vector<Entry> entries_;
    TimingWheel<Entry> wheel_;
};

}  // namespace timingwheel::bench
