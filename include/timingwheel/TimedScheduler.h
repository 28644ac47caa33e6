#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/WheelTimer.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/SleepHook.h>
#include <timingwheel/detail/TimerStopped.h>
#include <timingwheel/detail/platform/Senders.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace timingwheel::inline v1::inline TIMINGWHEEL_SENDERS {

class TimedScheduler;
class TimedSender;

/// A wait that a TimedSender has connected with a receiver: std::execution's operation state. It is
/// a hook, so it allocates nothing, except a level that has to be built.
///
/// Memory         80 bytes, the receiver, and a callback of its stop token
/// Lifetime       as std::execution has it: stays where it was made, and once started lives until
///                it completes. It may be destroyed earlier by the thread that would complete it;
///                then it does not complete
template <class Receiver>
class TimedOperation : detail::SleepHook<TimedOperation<Receiver>> {
public:
    using operation_state_concept = senders::operation_state_tag;

    TimedOperation(TimedOperation const&) = delete;
    TimedOperation& operator=(TimedOperation const&) = delete;

    /// Delays count from here. REQUIRES: it was not started.
    void start() & noexcept {
        Token const token = senders::get_stop_token(senders::get_env(receiver_));
        if (token.stop_requested()) return senders::set_stopped(std::move(receiver_));
        if (!succeeds([this] { Wait::schedule(); })) return;
        onStop_.emplace(token, OnStop{*this});  // calls it if the token was stopped just now
        if (Wait::isAsleep()) return;
        if (!isExpired()) return goOn();
        // Its time has come meanwhile. Only the timer may report it.
        static_cast<void>(succeeds([this] { Wait::scheduleAtOnce(); }));
    }

private:
    friend class TimedSender;
    using Wait = detail::SleepHook<TimedOperation>;
    friend Wait;

    struct OnStop {
        TimedOperation& operation;
        void operator()() const noexcept { operation.stop(); }
    };
    using Token = std::remove_cvref_t<decltype(senders::get_stop_token(
        senders::get_env(std::declval<Receiver const&>())))>;

    TimedOperation(WheelTimer& timer, When when, Receiver&& receiver)
        : Wait{timer, when}, receiver_{std::move(receiver)} {}

    bool isExpired() const noexcept { return !Wait::wasStopped() && !Wait::wasGivenUp(); }

    void goOn() noexcept {
        onStop_.reset();  // waits for a stop that has begun, unless it is called inside it
        if (isExpired()) return senders::set_value(std::move(receiver_));
        senders::set_stopped(std::move(receiver_));
    }

    /// False if `schedule` throws: then it has completed.
    template <class Schedule>
    bool succeeds(Schedule schedule) noexcept {
        std::exception_ptr error;
        try {
            schedule();
            return true;  // it may be gone
        } catch (detail::TimerStopped const&) {
            // No error.
        } catch (...) {
            error = std::current_exception();
        }
        onStop_.reset();
        if (error)
            senders::set_error(std::move(receiver_), std::move(error));
        else
            senders::set_stopped(std::move(receiver_));
        return false;
    }

    Receiver receiver_;
    std::optional<typename detail::StopCallback<Token, OnStop>::Type> onStop_;
};

/// A wait to be started: what a TimedScheduler makes. May be copied, and connected any number of
/// times.
///
/// Memory         24 bytes
class [[nodiscard("nothing waits until it is connected and started")]] TimedSender {
public:
    using sender_concept = senders::sender_tag;
    using completion_signatures = senders::completion_signatures<
        senders::set_value_t(), senders::set_error_t(std::exception_ptr), senders::set_stopped_t()>;

    /// Says on which scheduler `set_value` is called.
    struct Attributes {
        WheelTimer* timer;
        TimedScheduler query(
            senders::get_completion_scheduler_t<senders::set_value_t>) const noexcept;
    };

    template <class Receiver>
    TimedOperation<Receiver> connect(Receiver receiver) const
        noexcept(std::is_nothrow_move_constructible_v<Receiver>) {
        return {*timer_, when_, std::move(receiver)};
    }
    Attributes get_env() const noexcept { return {timer_}; }

private:
    friend class TimedScheduler;

    TimedSender(WheelTimer& timer, When when) noexcept : timer_{&timer}, when_{when} {}

    WheelTimer* timer_;
    When when_;
};

/// A timer as a scheduler of senders. `now()`, `schedule_at` and `schedule_after` are the members
/// that are discussed for timed schedulers of std::execution, and that stdexec's functions of these
/// names call. C++26 itself has `schedule()` alone.
///
///     timingwheel::TimedScheduler const scheduler{timer};
///     auto work = scheduler.schedule_after(50ms) | stdexec::then([] { return 42; });
///
/// It is for stdexec if TIMINGWHEEL_STDEXEC is defined, else for std::execution if the standard
/// library has that, else for any receiver: a class that can be moved and has `set_value()`,
/// `set_error(std::exception_ptr)` and `set_stopped()`, all noexcept. To be stopped, it also has
/// `get_env()`, whose `query(timingwheel::senders::get_stop_token_t)` returns a stop token.
///
/// An operation completes once:
///
/// - with `set_value()` when its time has come, never before it: as a task of the timer, so on its
///   executor, or in `runDue` of a LoopTimer or `advanceTo` of a ManualTimer;
/// - with `set_stopped()` if the receiver's stop token was stopped: there as well, as a stop makes
///   it due at once; or inside start(), if the token was stopped by then;
/// - with `set_stopped()` if the timer gave it up: inside stop(), the timer's destructor or
///   cancelAll(), on the thread that calls it, with no lock held; on the thread that refuses or
///   drops it, if the executor does so; inside start(), if the timer had stopped;
/// - with `set_error(std::exception_ptr)` inside start(), if there is no memory for a level
///   (std::bad_alloc), the limit is reached (RejectedExecution), or the thread cannot be started.
///
/// Units          delays of any unit; Duration::max() waits for a stop. Zero, negative delays,
///                deadlines in the past and `schedule()` are due at once. NaN throws
///                std::invalid_argument where the delay is made
/// Rounding       up to the next tick, as for all timeouts
/// Complexity     as `WheelTimer::schedule` of a hook
/// Thread safety  as the timer; a token may be stopped on any thread (of a ManualTimer: on its
///                thread only)
/// Lifetime       the timer must outlive the call of start(); an operation may outlive the timer
class TimedScheduler {
public:
    using scheduler_concept = senders::scheduler_tag;

    explicit TimedScheduler(WheelTimer& timer) noexcept : timer_{&timer} {}

    /// The time of the timer's clock.
    Clock::TimePoint now() const noexcept { return timer_->clock().now(); }

    TimedSender schedule() const noexcept { return schedule_at((Clock::TimePoint::min)()); }
    TimedSender schedule_at(Clock::TimePoint deadline) const noexcept {
        return {*timer_, deadline};
    }
    /// The delay counts from the start of the operation.
    TimedSender schedule_after(Duration delay) const noexcept { return {*timer_, delay}; }

    /// True for schedulers of one timer.
    friend bool operator==(TimedScheduler, TimedScheduler) noexcept = default;

private:
    WheelTimer* timer_;
};

inline TimedScheduler TimedSender::Attributes::query(
    senders::get_completion_scheduler_t<senders::set_value_t>) const noexcept {
    return TimedScheduler{*timer};
}

}  // namespace timingwheel::inline v1::inline TIMINGWHEEL_SENDERS
