#pragma once

#include <coroutine>
#include <exception>
#include <utility>

/// A coroutine for tests: starts at once, and its frame belongs to whoever holds this.
namespace timingwheel::test {

class [[nodiscard]] Coroutine {
public:
    struct promise_type {
        Coroutine get_return_object() {
            return Coroutine{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        /// Not inline: clang forgets that the frame is at its end, and destroys variables twice.
        [[gnu::noinline]] void unhandled_exception() { throw; }
    };

    Coroutine() noexcept = default;
    Coroutine(Coroutine&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
    Coroutine& operator=(Coroutine&& other) noexcept {
        std::swap(frame_, other.frame_);
        return *this;
    }
    ~Coroutine() { destroy(); }

    bool isDone() const noexcept { return frame_.done(); }
    /// Whether it is suspended or over.
    void destroy() noexcept {
        if (frame_ != nullptr) std::exchange(frame_, nullptr).destroy();
    }

private:
    explicit Coroutine(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

    std::coroutine_handle<promise_type> frame_ = nullptr;
};

}  // namespace timingwheel::test
