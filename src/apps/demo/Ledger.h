#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/TimerStatistics.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace demo {

using TimePoint = timingwheel::Clock::TimePoint;

/// What a timeout of the load is for.
enum class Kind : std::uint8_t { request, heartbeat, order, periodic };
inline constexpr std::array<char const*, 4> kKindNames{"request timeouts", "heartbeats",
                                                       "delayed orders", "periodic jobs"};

/// What became of the timeouts of one kind.
struct Account {
    std::uint64_t accepted = 0;
    std::uint64_t run = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t returned = 0;

    bool isBalanced() const noexcept { return accepted == run + cancelled + returned; }
    friend bool operator==(Account const&, Account const&) noexcept = default;
};

/// The program's own books. Events enter them where they happen, without asking the timer; at the
/// end they are compared with the timer's statistics.
///
/// Thread safety  every function from any thread
class Ledger {
public:
    /// The timer accepted one.
    void accepted(Kind kind) noexcept { add(of(kind).accepted); }
    /// A cancel() returned true.
    void cancelled(Kind kind) noexcept { add(of(kind).cancelled); }
    /// stop() returned `times`.
    void returned(Kind kind, std::uint64_t times = 1) noexcept { add(of(kind).returned, times); }
    /// A reschedule() returned true.
    void pushedBack() noexcept { add(pushedBack_); }

    /// A task was entered. That must not happen before `due`, a time that the program computed
    /// itself.
    void run(Kind kind, TimePoint due) noexcept {
        checkTime(due);
        add(of(kind).run);
    }
    /// The same for a periodic one, which has its outcome later.
    void runAgain(TimePoint due) noexcept {
        checkTime(due);
        add(periodicRuns_);
    }

    Account account(Kind kind) const noexcept;
    Account total() const noexcept;

    std::uint64_t runs() const noexcept { return total().run + periodicRuns_.value; }
    std::uint64_t early() const noexcept { return early_.value; }
    std::uint64_t pushBacks() const noexcept { return pushedBack_.value; }
    std::uint64_t periodicRuns() const noexcept { return periodicRuns_.value; }

    /// REQUIRES of both: the timer has stopped.
    bool isBalanced() const noexcept;
    bool agreesWith(timingwheel::TimerStatistics const& statistics) const noexcept;

private:
    /// On a cache line of its own: several threads count at once.
    struct alignas(64) Counter {
        std::atomic<std::uint64_t> value{0};
    };
    struct Counters {
        Counter accepted, run, cancelled, returned;
    };

    static void add(Counter& counter, std::uint64_t times = 1) noexcept {
        counter.value.fetch_add(times, std::memory_order_relaxed);
    }
    Counters& of(Kind kind) noexcept { return kinds_[static_cast<std::size_t>(kind)]; }
    void checkTime(TimePoint due) noexcept {
        if (timingwheel::Clock::steady().now() < due) add(early_);
    }

    std::array<Counters, kKindNames.size()> kinds_;
    Counter pushedBack_, periodicRuns_, early_;
};

/// The timer's own account of the same.
Account accountOf(timingwheel::TimerStatistics const& statistics) noexcept;

}  // namespace demo
