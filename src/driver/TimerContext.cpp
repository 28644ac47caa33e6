#include "driver/TimerContext.h"

#include <timingwheel/RejectedExecution.h>
#include <timingwheel/wheel/TimingWheelBase.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

// The longest duration is none: what overflowed has become that.
constexpr std::int64_t kLongestTick = Duration::max().count() - 1;
constexpr std::size_t kLongestName = 15;
constexpr std::chrono::nanoseconds kLongestSpin = std::chrono::seconds{1};

[[noreturn]] void invalid(std::string const& option, std::string const& value,
                          std::string const& bound) {
    throw std::invalid_argument{option + " is " + value + ": it must be " + bound};
}

TimerOptions checked(TimerOptions options) {
    std::int64_t const tick = options.tick.count();
    if (tick < 1) invalid("tick", std::to_string(tick) + " ns", "at least 1 ns");
    if (tick > kLongestTick)
        invalid("tick", std::to_string(tick) + " ns",
                "at most " + std::to_string(kLongestTick) + " ns");
    if (options.name.size() > kLongestName)
        invalid("name",
                "\"" + options.name + "\", " + std::to_string(options.name.size()) + " bytes long",
                "at most " + std::to_string(kLongestName) + " bytes long");
    if (options.name.find('\0') != std::string::npos)
        invalid("name", "a string with a NUL byte", "without one");
    if (options.shards > TimerContext::kMaxShards || (options.shards & (options.shards - 1)) != 0)
        invalid("shards", std::to_string(options.shards),
                "0 or a power of two up to " + std::to_string(TimerContext::kMaxShards));
    std::int64_t const spin = options.spin.count();
    if (spin < 0 || spin > kLongestSpin.count())
        invalid("spin", std::to_string(spin) + " ns", "0 to 1 s");
    if (options.slowTaskThreshold.count() <= 0)
        invalid("slowTaskThreshold", std::to_string(options.slowTaskThreshold.count()) + " ns",
                "at least 1 ns");
    return options;
}

std::size_t shardsFor(TimerOptions const& options, bool concurrent) noexcept {
    constexpr std::size_t kPerCore = 4;
    if (!concurrent) return 1;
    if (options.shards != 0) return options.shards;
    std::size_t const cores = std::max(1U, std::thread::hardware_concurrency());
    return std::min(std::bit_ceil(cores * kPerCore), TimerContext::kMaxShards);
}

/// One line on stderr. Needs no memory: what went wrong may be that there is none.
void print(std::string const& name, char const* what,
           std::exception_ptr const& exception) noexcept {
    auto const line = [&](char const* said) {
        std::fprintf(stderr, "timer \"%s\": %s: %s\n", name.c_str(), what, said);
    };
    if (!exception) return line("no exception");
    try {
        std::rethrow_exception(exception);
    } catch (std::exception const& e) {
        line(e.what());
    } catch (...) {
        line("an exception that is not a std::exception");
    }
}

char const* toString(TaskFailure::Kind kind) noexcept {
    switch (kind) {
        case TaskFailure::Kind::threw:
            return "a task threw";
        case TaskFailure::Kind::destructorThrew:
            return "the destructor of a task threw";
        case TaskFailure::Kind::rejected:
            return "the executor rejected a task";
        case TaskFailure::Kind::executorThrew:
            return "the executor threw";
    }
    return "";
}

}  // namespace

TimerContext::TimerContext(TimerOptions timerOptions, bool concurrent)
    : options{checked(std::move(timerOptions))},
      isConcurrent{concurrent},
      isWatched{options.observer != nullptr ||
                options.slowTaskThreshold.count() < Duration::max().count()},
      clock{options.clock.get()},
      scale{clock.now(), options.tick.nanoseconds()},
      alarm{clock, options.spin.nanoseconds()},
      pushedBack{shardsFor(options, concurrent)},
      clockMayGo_{&clock != &Clock::steady()} {}

TimerContext::~TimerContext() = default;

Tick TimerContext::intake(Clock::TimePoint deadline, TimeoutOptions const& timeout) const {
    Tick const tick = scale.deadlineToTick(deadline);
    std::int64_t const tolerance = timeout.tolerance.count();
    if (tolerance == 0) return tick;
    if (tolerance < 0)
        throw std::invalid_argument{"tolerance is " + std::to_string(tolerance) +
                                    " ns: it must be at least 0 ns"};
    if (tick == Tick::max()) return tick;
    // The coarsest slot width that fits: a deadline at the start of a slot fires from there.
    std::int64_t const ticks = std::min(tolerance / scale.tick().count(), Tick::kMax);
    std::int64_t const granularity = TimingWheelBase::granularityWithin(ticks, options.wheelSize);
    std::int64_t const rounded = (tick.value() + granularity - 1) / granularity * granularity;
    // No tolerance turns a deadline into "never".
    return rounded < Tick::kMax ? Tick{rounded} : tick;
}

void TimerContext::refuseScheduled() const {
    throw std::logic_error{"timer \"" + options.name +
                           "\": the hook is scheduled already: use reschedule"};
}

void TimerContext::takePlace() {
    if (options.maxPendingTimeouts == 0) return;
    std::size_t taken = places_.load(std::memory_order_acquire);
    do {
        if (taken >= options.maxPendingTimeouts) {
            refused.fetch_add(1, std::memory_order_relaxed);
            throw RejectedExecution{"timer \"" + options.name + "\": " + std::to_string(taken) +
                                    " timeouts are pending: maxPendingTimeouts is " +
                                    std::to_string(options.maxPendingTimeouts)};
        }
    } while (!places_.compare_exchange_weak(taken, taken + 1, std::memory_order_acq_rel));
}

void TimerContext::reportFailure(TaskFailure failure) const noexcept {
    failure.timerName = options.name;
    try {
        if (options.errorHandler) return options.errorHandler(failure);
        print(options.name, toString(failure.kind), failure.exception);
    } catch (...) {
        std::fprintf(stderr, "timer \"%s\": its error handler threw\n", options.name.c_str());
    }
}

void TimerContext::reportSlow(SlowTask slow) const noexcept {
    slow.timerName = options.name;
    try {
        if (options.slowTaskHandler) return options.slowTaskHandler(slow);
        std::fprintf(stderr, "timer \"%s\": a task ran for %.3f ms\n", options.name.c_str(),
                     static_cast<double>(slow.duration.count()) / 1e6);
    } catch (...) {
        std::fprintf(stderr, "timer \"%s\": its slow-task handler threw\n", options.name.c_str());
    }
}

void TimerContext::freezeTime() noexcept {
    stoppedAt_ = now();
    stopped_.store(true, std::memory_order_seq_cst);
    // Whoever saw the timer running is counted here. Reading a clock takes no time to speak of.
    while (clockAskers_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

Clock::TimePoint TimerContext::nowOrStopped() const noexcept {
    if (!clockMayGo_) return hasStopped() ? stoppedAt_ : now();
    // The count first, then the question: freezeTime() does it the other way round, so one of the
    // two sees the other.
    clockAskers_.fetch_add(1, std::memory_order_seq_cst);
    bool const mayAsk = !stopped_.load(std::memory_order_seq_cst);
    Clock::TimePoint const time = mayAsk ? now() : stoppedAt_;
    clockAskers_.fetch_sub(1, std::memory_order_release);
    return time;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
