#pragma once

#include <timingwheel/TimerHook.h>
#include <timingwheel/WheelTimer.h>
#include <timingwheel/asio/detail/Completion.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/detail/TimerStopped.h>
#include <timingwheel/detail/platform/Asio.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace timingwheel::inline v1::asio {

namespace detail {

/// A handler that sleeps: a hook that owns itself. One of three ends it: its expiry, its slot, or
/// the timer that gives it up. begin() may still be at work then; the later of the two hands the
/// handler over.
template <class Handler, class Net = NetTypes>
class SleepOperation : TimerHookBase {
    // Named, since the one that Asio takes by default cannot always post.
    using Executor = net::associated_executor_t<Handler, net::system_executor>;
    static constexpr bool kRunsAnywhere = std::is_same_v<Executor, net::system_executor>;
    // Not those of any_completion_handler, nor Asio's inline_executor: they only dispatch.
    static constexpr bool kCanPost =
        !net::execution::is_executor<Executor>::value ||
        net::can_require<Executor, net::execution::blocking_t::never_t>::value;

public:
    explicit SleepOperation(Handler&& handler)
        : TimerHookBase{kOperations, this},
          work_{net::get_associated_executor(handler, net::system_executor{})},
          handler_{std::move(handler)} {}

    static void begin(WheelTimer& timer, When when, Handler handler) {
        using Allocator = typename std::allocator_traits<
            net::associated_allocator_t<Handler>>::template rebind_alloc<SleepOperation>;
        auto owner = std::allocate_shared<SleepOperation>(
            Allocator{net::get_associated_allocator(handler)}, std::move(handler));
        SleepOperation& sleep = *owner;
        sleep.listenToItsSlot();
        sleep.self_ = std::move(owner);
        if (ErrorCode const error = sleep.scheduleOn(timer, when)) {
            sleep.unlink();
            sleep.error_ = error;
            return sleep.handOver(false);
        }
        sleep.meet(false);
    }

private:
    /// Where a slot finds the operation. It may outlive that.
    struct Link {
        std::mutex mutex;
        SleepOperation* sleep;  // null if it is over
    };

    /// A call on its way to an executor that cannot post, by one that can.
    struct Onward {
        using allocator_type = net::associated_allocator_t<Handler>;
        allocator_type get_allocator() const noexcept { return call.get_allocator(); }
        void operator()() {
            auto const executor = work.get_executor();
            net::dispatch(executor, std::move(call));
        }

        Work<Executor> work;
        Completion<Handler> call;
    };

    static void expire(void* self) {
        auto& sleep = *static_cast<SleepOperation*>(self);
        sleep.unlink();
        sleep.end({}, true);
    }
    static void giveUp(void* self) {
        auto& sleep = *static_cast<SleepOperation*>(self);
        sleep.unlink();
        sleep.end(net::error::operation_aborted, kRunsAnywhere);
    }
    static constexpr timingwheel::detail::HookOperations kOperations{{true}, &expire, &giveUp};

    ErrorCode scheduleOn(WheelTimer& timer, When when) noexcept try {
        timer.schedule(*this, when);
        return {};
    } catch (timingwheel::detail::TimerStopped const&) {
        return net::error::operation_aborted;
    } catch (std::bad_alloc const&) {
        return net::error::no_memory;
    } catch (...) {  // it is at its limit, or cannot start its thread
        return net::error::try_again;
    }

#if TIMINGWHEEL_ASIO_VERSION >= 102000
    void listenToItsSlot() {
        auto slot = net::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected()) return;
        link_ = std::make_shared<Link>();
        link_->sleep = this;
        slot.assign([link = link_](net::cancellation_type type) {
            if (type == net::cancellation_type::none) return;
            std::unique_lock lock{link->mutex};
            SleepOperation* const sleep = link->sleep;
            if (sleep == nullptr || !sleep->cancel()) return;
            link->sleep = nullptr;
            lock.unlock();
            sleep->end(net::error::operation_aborted, false);
        });
    }
    /// From here on its slot does nothing. Waits if the slot is being emitted.
    void unlink() noexcept {
        if (!link_) return;
        std::lock_guard const lock{link_->mutex};
        link_->sleep = nullptr;
    }
#else
    void listenToItsSlot() noexcept {}
    void unlink() noexcept {}
#endif

    void end(ErrorCode error, bool mayRunHere) {
        error_ = error;
        meet(mayRunHere);
    }
    /// Called by begin() and by what ends the sleep. Afterwards this may be gone.
    void meet(bool mayRunHere) {
        if (hasMet_.exchange(true, std::memory_order_acq_rel)) handOver(mayRunHere);
    }
    void handOver(bool mayRunHere) {
        auto work = std::move(work_);
        Completion<Handler> call{std::move(handler_), error_};
        { auto const last = std::move(self_); }  // the handler may use its memory again
        if (mayRunHere)
            net::dispatch(work.get_executor(), std::move(call));
        else if constexpr (kCanPost)
            net::post(work.get_executor(), std::move(call));
        else
            net::post(net::system_executor{}, Onward{std::move(work), std::move(call)});
    }

    Work<Executor> work_;
    Handler handler_;
    ErrorCode error_;
    std::atomic<bool> hasMet_{false};
    std::shared_ptr<Link> link_;
    std::shared_ptr<SleepOperation> self_;
};

}  // namespace detail

/// Sleeps on any timer with levels, as one of Asio's operations: for its coroutines, callbacks and
/// futures, with any completion token that does not ask the operation for an executor, as
/// `use_promise` and a `cancel_after` without a timer do.
///
///     co_await timingwheel::asio::async_sleep(timer, 30s, asio::use_awaitable);
///
/// (Asio's coroutines await only what is Asio's: `co_await timer.sleep(30s)` does not compile
/// there.)
///
/// The handler receives an error_code, once:
///
/// - none when the time has come: never early, up to a tick of the timer late;
/// - `operation_aborted` when its cancellation slot was emitted, with any type, before that. Asio
///   has slots from 1.20 on;
/// - `operation_aborted` when the timer gave the sleep up: stop(), its destructor, cancelAll(), or
///   its executor; and at once if it was stopped before;
/// - `try_again` at once if the timer is at its limit of pending timeouts, or cannot start its
///   thread; `no_memory` if it cannot build a level.
///
/// It runs on its associated executor, where the sleep is work until then: dispatched by a task of
/// the timer at the expiry, otherwise posted. It never runs inside async_sleep() or the emission. A
/// handler without an executor runs as the timer's task, or inside stop(), its destructor or
/// cancelAll(); otherwise on Asio's system_executor. One whose executor only dispatches is
/// dispatched from there.
///
/// A delay counts from the start of the operation. Zero and negative delays, and times that are
/// over, are due at once; Duration::max() sleeps until it is cancelled.
///
/// Memory         the operation, from the handler's allocator, freed before the handler is called;
///                a link of its own if the slot is connected
/// Thread safety  a slot may be emitted while another thread ends the sleep or calls its handler
/// Lifetime       the executor's context must outlive the sleep: stop the timer first, or declare
///                it after the context
/// Errors         std::bad_alloc from the call, or from the emission of a slot; the timer's error
///                handler receives what is thrown where the handler is dispatched
template <class Token = detail::net::default_completion_token_t<detail::net::any_io_executor>,
          class Net = detail::NetTypes>
auto async_sleep(WheelTimer& timer, When when, Token&& token = {}) {
    return detail::net::async_initiate<Token, void(detail::ErrorCode)>(
        [&timer, when](auto handler) {
            detail::SleepOperation<decltype(handler)>::begin(timer, when, std::move(handler));
        },
        token);
}

}  // namespace timingwheel::inline v1::asio
