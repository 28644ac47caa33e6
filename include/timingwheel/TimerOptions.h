#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/Executor.h>
#include <timingwheel/Timeout.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace timingwheel::inline v1 {

/// What a timer's error handler receives.
struct TaskFailure {
    enum class Kind : std::uint8_t {
        threw,            ///< the task, or its cancelled(), threw
        noNextTime,       ///< timeAfter threw, or returned no later time: the series has ended
        destructorThrew,  ///< the destructor of one of its captures threw
        rejected,         ///< the executor threw, or dropped the task: it will not run
        executorThrew,    ///< the executor threw, but the task was kept, run or cancelled
    };
    Kind kind;
    std::exception_ptr exception = {};  ///< null when a task was dropped without one
    Timeout timeout = {};               ///< empty for a hook
    void const* object = nullptr;       ///< the hook's object, which may be gone; null for a handle
    std::string_view timerName = {};
};

/// A run that took at least `slowTaskThreshold`.
struct SlowTask {
    std::chrono::nanoseconds duration;
    Timeout timeout = {};          ///< empty for a hook
    void const* object = nullptr;  ///< the hook's object, which may be gone; null for a handle
    std::string_view timerName = {};
};

/// Makes a timer's thread: starts a thread that calls `body`, and returns that thread, joinable.
///
/// - If it throws, the call that needed the thread throws, and a later call tries again. A thread
///   that the factory has started nevertheless ends by itself.
/// - If it calls `body` on the calling thread, or returns a thread that is not joinable, that call
///   throws std::logic_error.
using ThreadFactory = std::function<std::thread(std::function<void()> body)>;

/// Options of SystemTimer, LoopTimer and ManualTimer. All are checked by the constructor, which
/// throws std::invalid_argument with the option's name, its value and the bound.
struct TimerOptions {
    /// Resolution: deadlines are rounded up to it. At least 1 ns. Duration::max() is refused:
    /// lengths that cannot be expressed saturate to it.
    Duration tick = std::chrono::milliseconds{1};
    /// Slots of each level of the wheel: 2 to 1,048,576. More slots mean fewer cascades and more
    /// memory: 160 bytes and one bit a slot, of which 32 are touched at first; 32 bytes and one bit
    /// in a level of more than 65,536.
    std::int64_t wheelSize = 20;
    /// Slots of the first levels, the finest first; the last is repeated above. Takes the place of
    /// `wheelSize`. {60, 60, 24, 7} with a tick of 1 s are levels as in a clock.
    std::vector<std::int64_t> levelSizes = {};
    /// Where ticks and slots are counted from: a time of the clock, which has been reached. By
    /// default its time now, or 1970 if the clock shows the time of day. Counted from a midnight,
    /// slot 30 of the minutes is ":30". Deadlines are rounded up to ticks counted from here. At
    /// most 2^58 - 1 ticks ago: so with a tick of a few nanoseconds the time of day needs a start.
    std::optional<Clock::TimePoint> start = {};
    /// For error messages, and the driver thread's name: at most 15 bytes.
    std::string name = "timingwheel";
    /// Must outlive the timer.
    std::reference_wrapper<Clock> clock = Clock::steady();
    /// Count delays from the clock's coarse reading (`Clock::coarseNow`), which is several times
    /// cheaper. A timer does so unasked if `Clock::coarseLag()` is at most a tenth of its tick: on
    /// most Linux machines for ticks of 640 us and more. The driver reads the exact clock.
    bool coarseClock = false;
    /// Added to each positive delay that counts from a coarse reading, so that nothing is early. At
    /// least the clock's `coarseLag()`, which is the default. If a reading lags by more, a timeout
    /// is early by the excess. Only with `coarseClock`.
    std::optional<Duration> coarseMargin = {};
    /// Where tasks run: by default on the driver. Must outlive the timer. SystemTimer only.
    Executor executor = {};
    /// How many timeouts may be pending; 0: no limit, and no counter that all threads share.
    std::size_t maxPendingTimeouts = 0;
    /// Number of wheels, each with its own lock, over which the threads are spread: a power of two
    /// up to 64; 0: four for each core or some more, at most 64. SystemTimer only.
    std::size_t shards = 0;
    /// Busy-wait for this long (0 to 1 s) before each expiration. Costs that much processor time
    /// for each wake-up and removes the wake-up latency; dedicate a core to it. SystemTimer only;
    /// ignored under a clock other than the steady one.
    Duration spin = {};
    /// A call of LoopTimer::runDue or ManualTimer::advanceTo starts no further task once it has
    /// taken this long by the timer's clock, and returns true. Thus many slow tasks that are due at
    /// once do not hold up the loop. At least 1 ns. LoopTimer and ManualTimer only.
    Duration passBudget = (Duration::max)();
    /// Makes the driver thread; by default a std::thread. It blocks all signals. The factory must
    /// not use the timer, which waits for it. SystemTimer only.
    ThreadFactory threadFactory = {};
    /// Receives what tasks throw, and the tasks that the executor rejected. By default one line on
    /// stderr. Called with no lock held.
    std::function<void(TaskFailure const&)> errorHandler = {};
    /// A run that takes at least this long is reported to `slowTaskHandler`, once. At least 1 ns.
    /// With it each run is measured alone, which takes readings of the clock.
    Duration slowTaskThreshold = (Duration::max)();
    /// By default one line on stderr.
    std::function<void(SlowTask const&)> slowTaskHandler = {};
    /// Receives every step; must outlive the timer.
    TimerObserver* observer = nullptr;
};

/// Options of one timeout.
struct TimeoutOptions {
    /// How late it may be beyond the tick. The deadline is rounded up to a multiple of the widest
    /// slot of the wheel that is no wider than this. So the timeout moves less often and shares its
    /// wake-up with neighbours.
    Duration tolerance = {};
};

/// What happens to the runs that a periodic task has missed.
enum class MissedTicks : std::uint8_t {
    skip,     ///< left out; the next run is at its usual time
    shift,    ///< left out; the next run is a period from now, and the later ones count from there
    catchUp,  ///< made up for, one right after the other
};

}  // namespace timingwheel::inline v1
