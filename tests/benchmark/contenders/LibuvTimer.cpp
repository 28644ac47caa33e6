#include "loads/TimerLoads.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <uv.h>
#include <vector>

namespace timingwheel::bench {
namespace {

/// One thread runs the loop, to which everything belongs: libuv is not thread-safe, and its
/// documentation names one exception, uv_async_send(). So other threads put what they want into a
/// queue behind a mutex, and wake the loop with that; a queue that was not empty has done so.
class LibuvTimer {
    /// Lives until the loop has closed it.
    struct Handle {
        explicit Handle(LibuvTimer& itsOwner) : owner{&itsOwner} {}
        LibuvTimer* owner;
        uv_timer_t timer{};
        Callback callback{};
        bool initialised = false;  // the loop's own, as the timer is
    };
    struct Close {
        void operator()(Handle* handle) const { handle->owner->request({Action::close, handle}); }
    };

public:
    using Token = std::unique_ptr<Handle, Close>;  // reused, as a member of a connection is
    explicit LibuvTimer(std::chrono::nanoseconds) {
        uv_loop_init(&loop_);
        wakeUp_.data = this;
        uv_async_init(&loop_, &wakeUp_, [](uv_async_t* async) {
            static_cast<LibuvTimer*>(async->data)->handleRequests();
        });
        thread_ = std::thread{[this] { uv_run(&loop_, UV_RUN_DEFAULT); }};
    }
    ~LibuvTimer() {
        request({Action::quit});
        thread_.join();
        uv_loop_close(&loop_);
    }
    LibuvTimer(LibuvTimer const&) = delete;
    LibuvTimer& operator=(LibuvTimer const&) = delete;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        if (!token) token.reset(new Handle{*this});
        request({Action::start, token.get(), dueTime(delay), callback});
    }
    void cancel(Token& token) { request({Action::stop, token.get()}); }
    void reschedule(Token& token, std::chrono::nanoseconds delay) {
        request({Action::restart, token.get(), dueTime(delay)});
    }

    void settle() {
        std::promise<void> reached;
        auto const done = reached.get_future();
        request({.action = Action::settle, .reached = &reached});
        done.wait();
    }

    std::size_t pending() const { return pending_.load(std::memory_order_relaxed); }

private:
    enum class Action : std::uint8_t { start, restart, stop, close, settle, quit };
    struct Request {
        Action action;
        Handle* handle = nullptr;
        std::uint64_t due = 0;  // nanoseconds of the loop's clock
        Callback callback{};
        std::promise<void>* reached = nullptr;
    };

    static std::uint64_t dueTime(std::chrono::nanoseconds delay) {
        return uv_hrtime() + static_cast<std::uint64_t>(std::max<std::int64_t>(delay.count(), 0));
    }

    void request(Request const& request) {
        bool wasEmpty = false;
        {
            std::lock_guard const lock{mutex_};
            wasEmpty = requests_.empty();
            requests_.push_back(request);
        }
        if (wasEmpty) uv_async_send(&wakeUp_);
    }

    void handleRequests() {
        {
            std::lock_guard const lock{mutex_};
            handled_.swap(requests_);
        }
        uv_update_time(&loop_);
        for (Request const& request : handled_) handle(request);
        handled_.clear();
    }

    void handle(Request const& request) {
        switch (request.action) {
            case Action::start:
                request.handle->callback = request.callback;
                [[fallthrough]];
            case Action::restart:
                start(*request.handle, request.due);
                break;
            case Action::stop:
                if (uv_is_active(base(*request.handle)) != 0) count(-1);
                uv_timer_stop(&request.handle->timer);
                break;
            case Action::close:
                close(request.handle);
                break;
            case Action::settle:
                request.reached->set_value();
                break;
            case Action::quit:
                uv_close(reinterpret_cast<uv_handle_t*>(&wakeUp_), nullptr);  // the last handle
                break;
        }
    }

    void start(Handle& handle, std::uint64_t due) {
        if (!handle.initialised) {
            uv_timer_init(&loop_, &handle.timer);
            handle.timer.data = &handle;
            handle.initialised = true;
        }
        if (uv_is_active(base(handle)) == 0) count(1);
        std::uint64_t const milliseconds = (due + 999'999) / 1'000'000;  // never early
        std::uint64_t const now = uv_now(&loop_);
        uv_timer_start(&handle.timer, &LibuvTimer::fire,
                       milliseconds > now ? milliseconds - now : 0, 0);
    }

    static void fire(uv_timer_t* timer) {
        auto* const handle = static_cast<Handle*>(timer->data);
        handle->owner->count(-1);
        handle->callback();
    }

    void close(Handle* handle) {
        if (!handle->initialised) {
            delete handle;
            return;
        }
        if (uv_is_active(base(*handle)) != 0) count(-1);
        uv_close(base(*handle),
                 [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
    }

    static uv_handle_t* base(Handle& handle) {
        return reinterpret_cast<uv_handle_t*>(&handle.timer);  // as libuv means it
    }

    /// Of the loop's thread; others read it once that has settled.
    void count(int change) {
        pending_.store(pending_.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
                       std::memory_order_relaxed);
    }

    uv_loop_t loop_{};
    uv_async_t wakeUp_{};
    std::mutex mutex_;
    std::vector<Request> requests_;
    std::vector<Request> handled_;  // empty but while it is handled: two that take turns
    std::atomic<std::size_t> pending_{0};
    std::thread thread_;
};

Registration const registration{{"libuv", "libuv",
                                 "a loop in one thread; others put requests into a vector with a "
                                 "mutex and call `uv_async_send()`",
                                 1'000'000},
                                timerLoads<LibuvTimer>()};

}  // namespace
}  // namespace timingwheel::bench
