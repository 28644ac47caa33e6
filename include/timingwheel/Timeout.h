#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/detail/platform/export.h>

#include <chrono>
#include <compare>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <utility>

namespace timingwheel::inline v1 {

namespace detail {
class TimeoutNode;
struct TimeoutAccess;
}  // namespace detail

/// A handle to one scheduled timeout: says what became of it, and cancels it.
///
/// A small regular type: empty by default, copyable, comparable, hashable, usable in a map. Its
/// answers stay true as long as it is kept, even after its timer is gone. It keeps no capture of
/// the task alive: captures are destroyed before cancel() returns, or when the task has run.
///
/// Each accepted timeout ends in exactly one way:
///
/// - its task was entered (isExpired);
/// - a cancel() returned true, cancelAll() took it, or stop() returned it (isCancelled);
/// - the executor rejected it (isRejected).
///
/// A task that waits in an executor's queue is still pending; one of a HashedWheelTimer has expired
/// by then. HashedWheelTimer lists the other differences.
///
/// Complexity     everything O(1); cancel() and task() take the lock of one shard, other questions
///                none
/// Thread safety  like std::shared_ptr: any thread may use its own handle of a timeout, and call
///                const functions of a shared one (of a ManualTimer: its thread only). Everything
///                may be called from inside a task
/// Lifetime       dropping the handle does not cancel; ScopedTimeout does
class TIMINGWHEEL_API Timeout {
public:
    Timeout() noexcept = default;
    Timeout(Timeout const& other) noexcept;
    Timeout(Timeout&& other) noexcept : node_{std::exchange(other.node_, nullptr)} {}
    // Two, not one that takes a value: clang 14 does not destroy that after `timeout = {}`.
    Timeout& operator=(Timeout const& other) noexcept { return *this = Timeout{other}; }
    Timeout& operator=(Timeout&& other) noexcept {
        Timeout taken{std::move(other)};
        std::swap(node_, taken.node_);
        return *this;
    }
    ~Timeout() {
        if (node_ != nullptr) release();
    }

    /// Cancels. Returns true to exactly one caller. The task then never runs, even if it was due
    /// and waited for its turn, and its captures are destroyed before this returns. A periodic task
    /// that is running does not run again; its captures are destroyed after its run. Returns false
    /// if it has run or is running, was cancelled before, was returned by stop(), or was rejected,
    /// and for an empty handle.
    bool cancel() const noexcept;

    /// Cancels, or else waits until a run that has begun is over and its captures are destroyed.
    /// Does not wait from inside the task itself. Returns what cancel() would return. In a
    /// HashedWheelTimer it also wins over a task that waits in an executor's queue.
    bool cancelAndWait() const noexcept;

    /// Accepted, and its task was not entered yet. Also true between two runs of a periodic task.
    [[nodiscard]] bool isPending() const noexcept;
    /// The task was entered: true inside it too. A periodic one has expired once it will not run
    /// again.
    [[nodiscard]] bool isExpired() const noexcept;
    /// The task returned or threw. A periodic one is done once it will not run again.
    [[nodiscard]] bool isDone() const noexcept;
    /// A cancel() returned true, cancelAll() took it, or stop() returned it.
    [[nodiscard]] bool isCancelled() const noexcept;
    /// The timer's stop() returned it.
    [[nodiscard]] bool isReturned() const noexcept;
    /// The executor refused or dropped it.
    [[nodiscard]] bool isRejected() const noexcept;

    /// When it is, or was, due, rounded up to the timer's tick. If it was due at once, the tick
    /// that was current then. max() means never.
    [[nodiscard]] Clock::TimePoint deadline() const noexcept;
    /// Time left until the deadline, never negative. After the timer has stopped: what was left
    /// then.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

    /// The timer, or null when it is gone or the handle is empty.
    [[nodiscard]] Timer* timer() const noexcept;
    /// The TimerTask object that was scheduled, while it is pending or running; otherwise null.
    [[nodiscard]] std::shared_ptr<TimerTask> task() const;

    /// True unless the handle is empty.
    explicit operator bool() const noexcept { return node_ != nullptr; }

    friend bool operator==(Timeout const&, Timeout const&) noexcept = default;
    friend std::strong_ordering operator<=>(Timeout const& a, Timeout const& b) noexcept {
        return std::compare_three_way{}(a.node_, b.node_);
    }
    /// The state and the time left, for people to read.
    TIMINGWHEEL_API friend std::ostream& operator<<(std::ostream& out, Timeout const& timeout);

private:
    friend struct detail::TimeoutAccess;
    friend struct std::hash<Timeout>;

    explicit Timeout(detail::TimeoutNode* node) noexcept : node_{node} {}
    void release() noexcept;

    detail::TimeoutNode* node_ = nullptr;
};

/// Owns a timeout: its destructor cancels the timeout and waits for a run that has begun. What the
/// task uses may be destroyed after that, so declare it before this. If the class's destructor has
/// a body, call reset() first in it.
class ScopedTimeout {
public:
    ScopedTimeout() noexcept = default;
    [[nodiscard("it cancels the timeout when it is destroyed: keep it")]] ScopedTimeout(
        Timeout timeout) noexcept
        : timeout_{std::move(timeout)} {}  // implicit: t = new…
    ScopedTimeout(ScopedTimeout&&) noexcept = default;
    ScopedTimeout& operator=(ScopedTimeout&& other) noexcept {
        if (this != &other) {
            Timeout const former = std::exchange(timeout_, std::move(other.timeout_));
            former.cancelAndWait();
        }
        return *this;
    }
    ~ScopedTimeout() { timeout_.cancelAndWait(); }

    /// Cancels and waits now.
    void reset() noexcept { std::exchange(timeout_, Timeout{}).cancelAndWait(); }

    explicit operator bool() const noexcept { return static_cast<bool>(timeout_); }
    Timeout const& get() const noexcept { return timeout_; }
    Timeout const* operator->() const noexcept { return &timeout_; }
    /// Gives the timeout away without cancelling it.
    [[nodiscard]] Timeout release() noexcept { return std::move(timeout_); }

private:
    Timeout timeout_;
};

}  // namespace timingwheel::inline v1

template <>
struct std::hash<timingwheel::Timeout> {
    std::size_t operator()(timingwheel::Timeout const& timeout) const noexcept {
        return std::hash<void const*>{}(timeout.node_);
    }
};
