#pragma once

#include <timingwheel/asio/detail/Completion.h>
#include <timingwheel/asio/steady_timer.h>
#include <timingwheel/detail/platform/Asio.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace timingwheel::inline v1::asio {

namespace detail {

/// What a deadline shares with the waits for it, which may outlive it.
///
/// The timer stands at the deadline or before it: a push-back only writes `deadline`, and the waits
/// find that when the timer has expired. Then they wait again.
template <class Timer>
struct DeadlineState {
    using TimePoint = typename Timer::time_point;
    using Executor = typename Timer::executor_type;

    explicit DeadlineState(Executor const& executor) : timer{executor} {}
    virtual ~DeadlineState() = default;

    /// Starts the wait of a deadline that calls a function.
    virtual void listen() {}

    void setTo(TimePoint time) {
        deadline = time;
        if (waiting > 0 && time < timer.expiry()) wakeAt(time);
    }

    /// Ends all waits; returns how many.
    std::size_t cancel() {
        ++cancels;
        deadline = (TimePoint::max)();
        timer.cancel();
        return std::exchange(waiting, 0U);
    }

    /// Makes all waits check whether they go on: they are aborted, and wait again.
    void wake() { wakeAt(timer.expiry()); }
    void wakeAt(TimePoint time) {
        if (timer.expires_at(time) > 0) ++wakes;
    }

    Timer timer;
    TimePoint deadline = (TimePoint::max)();
    std::size_t waiting = 0;
    std::uint64_t cancels = 0;
    std::uint64_t wakes = 0;
    std::uint64_t expiries = 0;  // times that a wait found it reached
};

/// A handler that names an executor of its own, and work there, as Asio's timers keep it. It is
/// called on the deadline's executor, and runs on its own.
template <class Handler, class Executor>
class OnItsExecutor {
    using Own = net::associated_executor_t<Handler, Executor>;

public:
    using allocator_type = net::associated_allocator_t<Handler>;

    OnItsExecutor(Handler handler, Executor const& ofDeadline) : handler_{std::move(handler)} {
        Own const own = net::get_associated_executor(handler_, ofDeadline);
        if constexpr (std::is_same_v<Own, Executor>) {
            if (own == ofDeadline) return;
        }
        elsewhere_.emplace(own);
    }

    allocator_type get_allocator() const noexcept {
        return net::get_associated_allocator(handler_);
    }
#if TIMINGWHEEL_ASIO_VERSION >= 102000
    using cancellation_slot_type = net::associated_cancellation_slot_t<Handler>;
    cancellation_slot_type get_cancellation_slot() const noexcept {
        return net::get_associated_cancellation_slot(handler_);
    }
#endif

    void operator()(ErrorCode error) {
        if (!elsewhere_) {
            std::move(handler_)(error);  // may return something
            return;
        }
        Work<Own> const work{std::move(*elsewhere_)};
        net::dispatch(work.get_executor(), Completion<Handler>{std::move(handler_), error});
    }

private:
    Handler handler_;
    std::optional<Work<Own>> elsewhere_;
};

struct NoExecutor {};

template <class Handler, class Executor>
auto onItsExecutor(Handler handler, [[maybe_unused]] Executor const& ofDeadline) {
    if constexpr (std::is_same_v<net::associated_executor_t<Handler, NoExecutor>, NoExecutor>)
        return handler;
    else
        return OnItsExecutor<Handler, Executor>{std::move(handler), ofDeadline};
}

/// One wait for a deadline: goes on until that is reached, or the wait is cancelled. It has no
/// executor of its own, so it runs on the deadline's, whose state it changes.
template <class Timer, class Handler>
class DeadlineWait {
public:
    using State = DeadlineState<Timer>;
    using allocator_type = net::associated_allocator_t<Handler>;

    DeadlineWait(std::shared_ptr<State> state, Handler handler)
        : state_{std::move(state)},
          handler_{std::move(handler)},
          cancels_{state_->cancels},
          expiries_{state_->expiries} {}

    allocator_type get_allocator() const noexcept {
        return net::get_associated_allocator(handler_);
    }

    static void begin(DeadlineWait wait) {
        std::shared_ptr<State> const state = wait.state_;
        // Waits for a time that is over have completed, or are completing.
        if (state->waiting == 0 || state->timer.expiry() <= Timer::clock_type::now())
            state->wakeAt(state->deadline);
        wait.wakes_ = state->wakes;
        state->timer.async_wait(std::move(wait));
        ++state->waiting;
    }

    /// A slot that is emitted ends this wait, and no other.
    void listenToItsSlot() {
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        auto slot = net::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected()) return;
        isStopped_ = std::make_shared<bool>(false);
        // The slot may outlive the wait, and its context. It is emitted on the handler's executor.
        slot.assign([ofDeadline = std::weak_ptr{state_},
                     ofWait = std::weak_ptr{isStopped_}](net::cancellation_type type) {
            auto const isStopped = ofWait.lock();
            auto const state = ofDeadline.lock();
            if (!isStopped || !state || type == net::cancellation_type::none) return;
            net::dispatch(state->timer.get_executor(), [state, isStopped] {
                *isStopped = true;
                state->wake();
            });
        });
#endif
    }

    void operator()(ErrorCode error) {
        if (cancels_ != state_->cancels) return end(net::error::operation_aborted);
        --state_->waiting;
        // Nobody here did it: a shared_timer's SystemTimer gave the wait up. The others end, too:
        // if the handler sets the deadline anew, they could not be told from those that it wakes.
        if (error && wakes_ == state_->wakes) {
            state_->cancel();
            return end(error);
        }
        if (isStopped_ && *isStopped_) return end(net::error::operation_aborted);
        // Once it is reached, it is so for all that waited, whatever their handlers set it to. The
        // function may be pushed back until it runs.
        if (!kCallsFunction && expiries_ != state_->expiries) return end({});
        if (Timer::clock_type::now() < state_->deadline) return begin(std::move(*this));
        ++state_->expiries;
        end({});
    }

private:
    static constexpr bool kCallsFunction = requires { typename Handler::CallsFunction; };

    void end(ErrorCode error) {
        // What the deadline belongs to may die in the handler.
        isStopped_.reset();
        state_.reset();
        std::move(handler_)(error);
    }

    std::shared_ptr<State> state_;
    Handler handler_;
    std::uint64_t cancels_;
    std::uint64_t expiries_;
    std::uint64_t wakes_ = 0;
    std::shared_ptr<bool> isStopped_;  // by its slot
};

/// Begins a wait. Tokens such as cancel_after ask it for the executor.
template <class Timer>
struct DeadlineInitiation {
    using executor_type = typename Timer::executor_type;
    executor_type get_executor() const noexcept { return state->timer.get_executor(); }

    template <class Handler>
    void operator()(Handler&& handler) const {
        auto onIts = onItsExecutor(std::forward<Handler>(handler), get_executor());
        using Wait = DeadlineWait<Timer, decltype(onIts)>;
        Wait wait{state, std::move(onIts)};
        wait.listenToItsSlot();
        Wait::begin(std::move(wait));
    }

    std::shared_ptr<DeadlineState<Timer>> state;
};

/// Waits by itself whenever the deadline is set, and calls a function.
template <class Timer, class Function>
class CallingDeadline final
    : public DeadlineState<Timer>,
      public std::enable_shared_from_this<CallingDeadline<Timer, Function>> {
public:
    CallingDeadline(typename Timer::executor_type const& executor, Function function)
        : DeadlineState<Timer>{executor}, function_{std::move(function)} {}

    void listen() override {
        if (listensSince_ == this->cancels) return;
        Wait::begin(Wait{this->shared_from_this(), Call{this->shared_from_this()}});
        listensSince_ = this->cancels;
    }

private:
    static constexpr auto kNever = static_cast<std::uint64_t>(-1);

    /// The handler of its wait. It is destroyed uncalled if the wait cannot go on: then the
    /// deadline listens no longer, either.
    class Call {
    public:
        using CallsFunction = void;

        explicit Call(std::shared_ptr<CallingDeadline> self)
            : self_{std::move(self)}, since_{self_->cancels} {}
        Call(Call&&) noexcept = default;
        ~Call() {
            if (self_) self_->endListening(since_);
        }

        void operator()(ErrorCode error) {
            auto const self = std::move(self_);
            self->endListening(since_);
            if (!error) static_cast<void>(std::invoke(self->function_));
        }

    private:
        std::shared_ptr<CallingDeadline> self_;
        std::uint64_t since_;
    };
    using Wait = DeadlineWait<Timer, Call>;

    void endListening(std::uint64_t since) noexcept {
        if (listensSince_ == since) listensSince_ = kNever;
    }

    Function function_;
    std::uint64_t listensSince_ = kNever;  // in cancels
};

}  // namespace detail

/// A deadline that moves with every packet, message or request. Asio's timers abort and start a
/// wait each time. This one writes down the new time.
///
///     class Session {
///         timingwheel::asio::Deadline idle_{socket_.get_executor(), [this] { socket_.close(); }};
///         void onPacket() { idle_.expires_after(60s); }
///     };
///
/// It waits by a `Timer`: `steady_timer` keeps its waits in the wheel of the executor's context,
/// `shared_timer` in the context's SystemTimer. When that gives a wait up, the deadline is
/// cancelled as soon as the context runs the end of that wait: the function is not called, and what
/// was set until then ends, too. From then on the deadline may be set anew.
///
/// After a push-back the wait stays where it was. When it expires there, it finds the new time and
/// waits again: once for each 60 s here, not for each packet.
///
/// - The function runs on the executor, once for each time that it was set, at the deadline or up
///   to a tick (1 ms) later. It may set the deadline again, and may destroy it.
/// - A push-back succeeds until the function runs. It allocates nothing and takes no lock.
/// - A move to an earlier time moves the wait too, and costs what one of Asio's does.
/// - The destructor ends it: the function does not run after it.
/// - While it waits it is work: `run()` does not return.
/// - A handler of `async_wait` runs on its associated executor, as with Asio's timers.
///
/// Thread safety  as Asio's objects: call its functions on its executor, which is a strand if
///                several threads run it
/// Lifetime       must not outlive the context; one that was moved from can only be assigned to or
///                destroyed
/// Errors         std::bad_alloc from the first wait after construction, expiry or cancel; from the
///                emission of a slot; from the context's run() if a wait that goes on finds no
///                memory, which ends it. With a `shared_timer`, a wait that begins or goes on also
///                throws RejectedExecution at the SystemTimer's limit, and std::logic_error once
///                that was stopped. What the function throws leaves run(), too
template <class Timer = steady_timer>
class basic_deadline {
    using State = detail::DeadlineState<Timer>;

public:
    using executor_type = typename Timer::executor_type;
    using clock_type = typename Timer::clock_type;
    using duration = typename Timer::duration;
    using time_point = typename Timer::time_point;

    /// One whose expiry runs a function.
    template <std::invocable Function>
    basic_deadline(executor_type const& executor, Function function)
        : state_{std::make_shared<detail::CallingDeadline<Timer, Function>>(executor,
                                                                            std::move(function))} {}
    /// One that is waited for: `async_wait`.
    explicit basic_deadline(executor_type const& executor)
        : state_{std::make_shared<State>(executor)} {}
    ~basic_deadline() {
        if (state_) state_->cancel();
    }
    basic_deadline(basic_deadline&&) noexcept = default;
    basic_deadline& operator=(basic_deadline&& other) noexcept {
        basic_deadline old{std::move(*this)};
        state_ = std::move(other.state_);
        return *this;
    }

    executor_type get_executor() const { return state_->timer.get_executor(); }

    /// The deadline; `time_point::max()` if none is set.
    time_point expiry() const noexcept { return state_->deadline; }

    /// Sets or moves it. Nothing that waits is aborted. A time that is over is due at once.
    void expires_at(time_point time) {
        state_->setTo(time);
        state_->listen();
    }
    /// From now; saturates. A negative delay is due at once.
    void expires_after(duration delay) {
        using Saturating =
            detail::net::detail::chrono_time_traits<clock_type, typename Timer::traits_type>;
        expires_at(Saturating::add(clock_type::now(), delay));
    }

    /// Ends it. Returns how many waits end with `operation_aborted`, the function's one included.
    std::size_t cancel() { return state_->cancel(); }

    /// Completes when the deadline is reached, however often it is moved before; or with
    /// `operation_aborted` when it is cancelled or destroyed.
    template <class Token = detail::net::default_completion_token_t<executor_type>>
    auto async_wait(Token&& token = {}) {
        return detail::net::async_initiate<Token, void(detail::ErrorCode)>(
            detail::DeadlineInitiation<Timer>{state_}, token);
    }

private:
    std::shared_ptr<State> state_;
};

using Deadline = basic_deadline<>;

}  // namespace timingwheel::inline v1::asio
