#pragma once

#include <timingwheel/Clock.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// What a ManualTimer and its model are put through, written as bytes: a head and then six for each
/// command. Any bytes are a scenario. So rapidcheck draws and shrinks them, a fuzzer mutates them,
/// and what one finds the other replays.
namespace timingwheel::model {

/// The ends of time, as a clock counts it.
inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

/// Timeouts are named by the slot that keeps their handle; the last slots are hooks.
inline constexpr std::size_t kHandles = 6;
inline constexpr std::size_t kHooks = 3;
inline constexpr std::size_t kSlots = kHandles + kHooks;

enum class ClockKind : std::uint8_t {
    settable,  ///< the timer is told the time, which may be ahead of its clock
    manual,    ///< a ManualClock drives the timer
};

/// Slots of the levels, the finest first; the last size is repeated.
using LevelSizes = std::vector<std::int64_t>;
std::int64_t sizeOf(LevelSizes const& sizes, std::size_t level);
/// Of wheels of all kinds: with levels of one size, and with levels that differ.
LevelSizes levelSizesOf(std::uint8_t value);
/// "60 x 60 x 24".
std::string textOf(LevelSizes const& sizes);
/// Sets `wheelSize` or `levelSizes`.
template <class Options>
Options withLevels(Options options, LevelSizes const& sizes) {
    if (sizes.size() == 1)
        options.wheelSize = sizes.front();
    else
        options.levelSizes = sizes;
    return options;
}

/// What two bytes say: small ones first, so that shrinking ends there; then those around which
/// ticks, slots, levels and whole numbers meet.
std::chrono::nanoseconds amountOf(std::chrono::nanoseconds tick, LevelSizes const& sizes,
                                  std::uint8_t shape, std::uint8_t value);
/// A hostile start of a clock.
std::int64_t startOf(std::uint8_t shape, std::uint8_t value);

struct Setting {
    std::chrono::nanoseconds tick;
    LevelSizes levelSizes;
    Clock::TimePoint start;  ///< of the clock
    /// Of this the timer's ticks count from a multiple, if it is not 0.
    std::chrono::nanoseconds alignment;
    std::size_t maxPendingTimeouts;
    ClockKind clock;
};

enum class Action : std::uint8_t {
    schedule,    ///< after `amount`
    scheduleAt,  ///< at now + `amount`
    schedulePeriodically,
    advance,  ///< the clock and the timer, by `amount`
    cancel,
    reschedule,    ///< to `amount` from now
    rescheduleTo,  ///< to now + `amount`
    jump,          ///< the clock alone, or without stops, also back
    advanceAhead,  ///< tells the timer a time that its clock has not reached
    drop,          ///< the handle; a hook is destroyed and made anew
    stop,
    renew,  ///< destroys the timer and makes another one
    throwSomething,
    cancelAll,
};
inline constexpr std::size_t kActions = 14;

enum class Rate : std::uint8_t { fixedDelay, skip, shift, catchUp };

struct Command {
    enum class When : std::uint8_t {
        now,
        inTask,        ///< when the task of slot `host` next runs
        inDestructor,  ///< when a capture of a task of slot `host` next dies
    };

    When when;
    std::size_t host;
    Action action;
    std::size_t slot;
    std::chrono::nanoseconds amount;
    std::chrono::nanoseconds tolerance;
    std::chrono::nanoseconds period;
    Rate rate;
    std::size_t atMost;  ///< tasks in one advance
    bool waits;          ///< cancelAndWait() instead of cancel()
};

struct Scenario {
    static constexpr std::size_t kHeadBytes = 6;
    static constexpr std::size_t kCommandBytes = 6;
    static constexpr std::size_t kMostCommands = 200;

    /// What is missing from the head is 0; an incomplete last command is left out.
    static Scenario decode(std::span<std::uint8_t const> bytes);

    Setting setting;
    std::vector<Command> commands;
};

std::ostream& operator<<(std::ostream& out, Setting const& setting);
std::ostream& operator<<(std::ostream& out, Command const& command);
std::ostream& operator<<(std::ostream& out, Scenario const& scenario);

}  // namespace timingwheel::model
