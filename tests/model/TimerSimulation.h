#pragma once

#include <support/TestTimers.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <model/TimerScenario.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::model {

__extension__ using Wide = __int128;  // sums and differences of times do not overflow

/// How the timer counts ticks, written down once more from docs/guarantees.md, plainly.
class TickModel {
public:
    static constexpr std::int64_t kNever = Tick::kMax;

    TickModel(std::int64_t origin, std::int64_t tick, LevelSizes sizes) noexcept
        : origin_{origin}, tick_{tick}, sizes_{std::move(sizes)} {}

    /// The tick of a deadline, rounded up to the coarsest slot that `tolerance` allows.
    std::int64_t ofDeadline(std::int64_t deadline, std::int64_t tolerance = 0) const noexcept;
    /// The tick that has come at `now`; -1 before the start.
    std::int64_t ofNow(std::int64_t now) const noexcept;
    Clock::TimePoint timeOf(std::int64_t tick) const noexcept;
    /// The tick that begins at `time`, if one does; the end of time stands for any later tick.
    std::optional<std::int64_t> at(Clock::TimePoint time) const noexcept;

private:
    std::int64_t origin_;
    std::int64_t tick_;
    LevelSizes sizes_;
};

/// A ManualTimer and its model, a std::multimap of what is pending, put through a scenario.
///
/// The model knows the tick of each deadline, or, where the timer may choose, the first and the
/// last one it may be: what is due on arrival gets the tick on which the wheel stands. After each
/// command, and within each task and destructor, both must agree.
class TimerSimulation {
public:
    /// How often timer and model were compared in one respect, and differed.
    struct Comparison {
        std::uint64_t made = 0;
        std::uint64_t wrong = 0;
    };
    struct Comparisons {
        Comparison order;      ///< a run, with what is pending
        Comparison deadlines;  ///< a deadline, with the ticks that it may have
        Comparison due;        ///< what is left when the clock has moved
        Comparison inside;     ///< anything, while a task runs or a capture dies
    };

    /// Throws std::logic_error that says where timer and model differ.
    static void run(Scenario const& scenario) {
        Comparisons comparisons;
        compare(scenario, comparisons);
    }
    /// Adds to `comparisons`, also when it throws.
    static void compare(Scenario const& scenario, Comparisons& comparisons);

private:
    enum class State : std::uint8_t { pending, running, expired, cancelled, returned };

    /// One accepted schedule, for as long as the simulation lives.
    struct Record {
        std::size_t slot = 0;
        std::uint64_t timer = 0;    // which one: renew counts up
        std::uint64_t command = 0;  // during which it was placed last
        State state = State::pending;
        std::int64_t exact = 0;  // when it was asked for, unrounded
        std::int64_t first = 0;  // the tick of its deadline is not before this,
        std::int64_t last = 0;   // and not after this
        bool holdsCapture = false;
        TimerHookBase const* hook = nullptr;  // null for a handle

        bool isPeriodic = false;
        Rate rate{};
        std::int64_t period = 0;
        std::int64_t grid = 0;           // where a fixed rate counts from
        std::int64_t scheduledTick = 0;  // as placed by the period
        bool isMoved = false;            // since then
        int runs = 0;
    };

    struct Hook;
    struct Capture;
    class Advance;
    enum class Refusal : std::uint8_t { none, logicError, rejected };

    TimerSimulation(Setting const& setting, Comparisons& comparisons);
    ~TimerSimulation();
    void play(std::vector<Command> const& commands);
    void finish();

    // The commands. Each foretells what the timer will do, changes the model, and compares.
    void apply(Command const& command);
    void schedule(Command const& command);
    static auto timesOf(Record const& record);
    void callSchedule(Command const& command, Record& record);
    void cancel(Command const& command);
    void reschedule(Command const& command);
    void advance(Command const& command);
    void advanceTo(std::int64_t time, std::size_t atMost);
    void moveManualClock(std::int64_t time, bool stepping);
    void jump(Command const& command);
    void drop(std::size_t slot);
    void cancelAll();
    void stop();
    std::int64_t originAt(std::int64_t now) const;
    void renew();

    // What the timer calls.
    void onRun(Record& record, Timeout const& self, Clock::TimePoint deadline);
    void onHook(std::size_t slot);
    void afterRun(Record& record);
    void onCaptureDied(Record& record);
    bool react(Command::When when, std::size_t host);

    // The model.
    Refusal refusalOf(std::size_t slot) const;
    void place(Record& record, std::int64_t tick);
    void settle(Record& record, Clock::TimePoint deadline);
    void ask(std::size_t slot);
    void take(Record& record, State state);
    void returnAll();
    void sawTime(std::int64_t time);
    std::int64_t now() const;
    std::int64_t later(std::int64_t delay) const;
    std::int64_t clockAfter(std::chrono::nanoseconds amount) const;
    bool isInside() const;

    void check();
    void checkHandle(std::size_t slot);
    void checkNothingDue(std::int64_t tick, bool mayHaveArrived);
    void checkStatistics();
    void require(bool holds, char const* what);
    void require(bool holds, char const* what, Comparison& respect);

    Setting setting_;
    Comparisons& comparisons_;
    int inside_ = 0;  // tasks that run and captures that die
    test::SettableClock settable_;
    ManualClock manual_;
    TickModel ticks_{0, 1, {2}};
    std::unique_ptr<ManualTimer> timer_;
    std::uint64_t timers_ = 0;
    bool isStopped_ = false;

    std::vector<std::unique_ptr<Record>> records_;
    std::multimap<std::int64_t, Record*> pending_;  // by the last tick that the deadline may be
    std::array<Record*, kSlots> slots_{};           // of the handle that is kept
    std::array<Timeout, kHandles> handles_;
    std::array<std::unique_ptr<Hook>, kHooks> hooks_;

    std::vector<Command> waiting_;          // for a task to run, or a capture to die
    std::vector<Record*> running_;          // innermost last
    std::vector<std::uint64_t> advancing_;  // the timers that are, innermost last
    int refusing_ = 0;                      // calls of schedule() that will be refused
    std::uint64_t command_ = 0;
    std::int64_t told_ = 0;       // the time by which tasks run
    std::int64_t highest_ = 0;    // the latest tick that the timer may have seen
    std::int64_t lastTick_ = -1;  // of the task that ran last

    // What the timer's statistics must say.
    std::uint64_t scheduled_ = 0, fired_ = 0, runs_ = 0, cancelled_ = 0, returned_ = 0;
    std::uint64_t rescheduled_ = 0, refused_ = 0;
    std::uint64_t thrown_ = 0, toldFailures_ = 0;  // to the error handlers of all timers
    std::string failure_;
};

}  // namespace timingwheel::model
