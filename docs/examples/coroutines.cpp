// Coroutines that sleep, with a task type of their own: any other will do as well.

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>

#include <array>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <stop_token>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

/// Starts at once. Its owner may destroy it at any time; it may be awaited.
template <class T>
struct Task {
    struct promise_type {
        T value{};
        std::coroutine_handle<> awaiting = std::noop_coroutine();
        Task get_return_object() { return {Handle::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept {
            struct Resume {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(Handle self) noexcept {
                    return self.promise().awaiting;
                }
                void await_resume() noexcept {}
            };
            return Resume{};
        }
        void return_value(T result) { value = std::move(result); }
        void unhandled_exception() noexcept { std::terminate(); }
    };
    using Handle = std::coroutine_handle<promise_type>;

    Task(Handle handle) : frame{handle} {}
    Task(Task&& other) noexcept : frame{std::exchange(other.frame, nullptr)} {}
    Task& operator=(Task&&) = delete;
    ~Task() {
        if (frame) frame.destroy();
    }
    bool await_ready() const noexcept { return frame.done(); }
    void await_suspend(std::coroutine_handle<> caller) { frame.promise().awaiting = caller; }
    T await_resume() { return std::move(frame.promise().value); }

    Handle frame;
};

/// Stands for any interface that takes a stop token.
Task<std::string> get(timingwheel::WheelTimer& timer, timingwheel::Duration answersAfter,
                      std::stop_token token) {
    // Kept in a variable: g++ 12 miscompiles a coroutine without one that awaits in a condition.
    auto const wake = co_await timer.sleep(answersAfter, token);
    co_return wake == timingwheel::Wake::stopped ? "too late" : "an answer";
}

Task<int> requests(timingwheel::WheelTimer& timer) {
    std::array const times{2s, 30s};
    for (auto const answersAfter : times) {
        auto const answer = co_await get(timer, answersAfter, timer.stopAfter(5s));
        std::printf("asked for what takes %d s: %s\n", static_cast<int>(answersAfter.count()),
                    answer.c_str());
    }
    co_return 0;
}

Task<int> heartbeats(timingwheel::WheelTimer& timer, std::stop_token token) {
    int beats = 0;
    while (co_await timer.sleep(1s, token) == timingwheel::Wake::expired) ++beats;
    std::printf("%d heartbeats until it was stopped\n", beats);
    co_return beats;
}

}  // namespace

int main() {
    timingwheel::ManualClock clock;  // so that it need not wait
    timingwheel::ManualTimer timer{{.clock = clock}};
    std::stop_source source;
    Task<int> const beating = heartbeats(timer, source.get_token());
    {
        Task<int> const asking = requests(timer);
        clock.advance(10s);
    }
    source.request_stop();
    clock.advance(1s);

    Task<int> const sleeping = heartbeats(timer, {});
    auto const stopped = timer.stop();
    std::printf("stop() has ended %zu sleep\n", stopped.hooks());
    return beating.frame.promise().value == 10 && sleeping.frame.done() ? 0 : 1;
}
