#pragma once

#include "loads/WheelLoads.h"

#include <timingwheel/wheel/TimingWheel.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace timingwheel::bench {

/// The wheel of the library. Its entries lie where an allocator puts them.
template <template <class> class Allocator>
class WheelIn {
public:
    explicit WheelIn(Request const& request)
        : entries_(request.count), wheel_{{.wheelSize = request.wheelSize}} {}
    ~WheelIn() {
        while (wheel_.raw().takeAny() != nullptr) {
        }
    }
    WheelIn(WheelIn const&) = delete;
    WheelIn& operator=(WheelIn const&) = delete;

    std::int64_t now() const { return wheel_.currentTick().value(); }
    void schedule(std::size_t i, std::int64_t deadline) {
        static_cast<void>(wheel_.add(entries_[i], Tick{deadline}));
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        static_cast<void>(wheel_.reschedule(entries_[i], Tick{deadline}));
    }
    void cancel(std::size_t i) { wheel_.cancel(entries_[i]); }
    void pushBack(std::size_t i, std::int64_t deadline) {
        wheel_.pushBack(entries_[i], Tick{deadline});
    }
    void reschedule(std::span<Script::Step const> steps) {
        gather(steps,
               [this](Script::Step const& step) { return wheel_.currentTick() + step.delay; });
        wheel_.reschedule(std::span{batch_}.first(steps.size()),
                          std::span{deadlines_}.first(steps.size()), [](Entry&) {});
    }
    void pushBack(std::span<Script::Step const> steps, std::int64_t deadline) {
        gather(steps, [deadline](Script::Step const&) { return Tick{deadline}; });
        wheel_.pushBack(std::span{batch_}.first(steps.size()),
                        std::span{deadlines_}.first(steps.size()));
    }
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

    template <class Deadline>
    void gather(std::span<Script::Step const> steps, Deadline&& deadlineOf) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            batch_[i] = &entries_[steps[i].entry];
            deadlines_[i] = deadlineOf(steps[i]);
        }
    }

    std::vector<Entry, Allocator<Entry>> entries_;
    TimingWheel<Entry> wheel_;
    std::array<Entry*, Script::kBatch> batch_;
    std::array<Tick, Script::kBatch> deadlines_;
};

using Wheel = WheelIn<std::allocator>;

}  // namespace timingwheel::bench
