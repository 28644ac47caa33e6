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
#include <string>
#include <string_view>
#include <thread>

namespace timingwheel {
inline namespace v1 {

class TimerObserver;

/// What a timer's error handler is told.
struct TaskFailure {
    enum class Kind : std::uint8_t {
        threw,            ///< the task, or its cancelled(), threw
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

/// What is told of a task that ran for longer than the threshold.
struct SlowTask {
    std::chrono::nanoseconds duration;
    Timeout timeout = {};          ///< empty for a hook
    void const* object = nullptr;  ///< the hook's object, which may be gone; null for a handle
    std::string_view timerName = {};
};

/// Makes a timer's thread, which must run `body`, and returns it joinable. May throw: the call that
/// needed the thread then throws, and a later one tries again.
using ThreadFactory = std::function<std::thread(std::function<void()> body)>;

/// Options of SystemTimer and ManualTimer. All are checked by the constructor, which throws
/// std::invalid_argument with the option's name, its value and the bound.
struct TimerOptions {
    /// Resolution: deadlines are rounded up to it. At least 1 ns and less than Duration::max(),
    /// which is what a length that cannot be expressed becomes.
    Duration tick = std::chrono::milliseconds{1};
    /// Slots of each level of the wheel: 2 to 1,048,576. A larger one means fewer cascades and more
    /// memory: 80 bytes a slot, in each level that a shard has built.
    std::int64_t wheelSize = 20;
    /// For error messages, and the driver thread's name: at most 15 bytes.
    std::string name = "timingwheel";
    /// Outlives the timer.
    std::reference_wrapper<Clock> clock = Clock::steady();
    /// Where tasks run; outlives the timer. SystemTimer only: a ManualTimer runs them itself.
    Executor executor = {};
    /// How many timeouts may be pending; 0: no limit, and then nothing is counted in shared memory.
    std::size_t maxPendingTimeouts = 0;
    /// Wheels with a lock each among which the threads are spread: a power of two up to 64; 0:
    /// four for each core. SystemTimer only.
    std::size_t shards = 0;
    /// How long before an expiration the driver thread is up and waits for it without sleeping, 0
    /// to 1 s: for so much processor time a wake-up, tasks begin without the delay of waking. It
    /// wants a core of its own. SystemTimer with the steady clock only; another clock ignores it.
    Duration spin = {};
    /// Makes the driver thread; by default a std::thread that blocks all signals. It starts a
    /// thread that calls the function, and returns that thread, joinable: std::logic_error if it
    /// calls the function itself or returns none. What it throws the first schedule throws; a
    /// thread that it has started nevertheless ends by itself. SystemTimer only.
    ThreadFactory threadFactory = {};
    /// Hears of what tasks throw and of tasks that the executor rejected; by default one line on
    /// stderr. Called outside every lock.
    std::function<void(TaskFailure const&)> errorHandler = {};
    /// A task that runs for at least this long is told to `slowTaskHandler`, once for each run.
    Duration slowTaskThreshold = Duration::max();
    /// By default one line on stderr.
    std::function<void(SlowTask const&)> slowTaskHandler = {};
    /// Hears of every step; outlives the timer.
    TimerObserver* observer = nullptr;
};

/// Options of one timeout.
struct TimeoutOptions {
    /// How late it may be beyond the tick: the deadline is rounded up to the coarsest slot width of
    /// the wheel that fits, so that it is moved less often and shares its wake-up with neighbours.
    Duration tolerance = {};
};

/// What a fixed-rate task does about runs whose time has passed while it could not run.
enum class MissedTicks : std::uint8_t {
    skip,     ///< leaves them out and keeps to the raster
    shift,    ///< the raster begins anew: the next run is a period from now
    catchUp,  ///< makes them all, one right after the other
};

}  // namespace v1
}  // namespace timingwheel
