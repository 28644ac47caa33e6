#pragma once

#include <timingwheel/Timeout.h>
#include <timingwheel/detail/TaskOperations.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

namespace timingwheel::inline v1 {

namespace detail {
class Runner;
}

/// One timeout that stop() returned, with its task, for you to store or to schedule again.
class TIMINGWHEEL_API StoppedTimeout {
public:
    Clock::TimePoint deadline() const noexcept { return timeout().deadline(); }
    /// Time that was left when the timer stopped, never negative.
    std::chrono::nanoseconds remaining() const noexcept { return timeout().remaining(); }
    /// A handle to it; isCancelled() is true.
    Timeout timeout() const noexcept;
    /// The TimerTask object; null if the task is a callable.
    std::shared_ptr<TimerTask> task() const;
    /// The callable if its type is `Task`, otherwise null: also for one in `tagged` or
    /// `untilStopped`, and for one of scheduleAtTimes. It may be moved from.
    template <class Task>
    Task* target() const noexcept {
        return static_cast<Task*>(targetIf(&detail::kTaskOperations<Task>));
    }

private:
    friend class StoppedTimeouts;
    explicit StoppedTimeout(detail::TimeoutNode& node) noexcept : node_{&node} {}
    void* targetIf(detail::TaskOperations const* operations) const noexcept;

    detail::TimeoutNode* node_;
};

/// What stop() returns: exactly the timeouts that were accepted and will not run, with their tasks.
/// A move-only range that owns them.
///
///     for (auto const& stopped : timer.stop()) store(stopped.task(), stopped.remaining());
///
/// Hooks belong to their users and are only counted.
///
/// Memory         allocates nothing: the timeouts are linked through their own entries
/// Lifetime       may outlive the timer; tasks die with the range
class TIMINGWHEEL_API StoppedTimeouts {
public:
    class TIMINGWHEEL_API Iterator {
    public:
        using value_type = StoppedTimeout;
        using difference_type = std::ptrdiff_t;

        Iterator() noexcept = default;
        StoppedTimeout operator*() const noexcept { return StoppedTimeout{*node_}; }
        Iterator& operator++() noexcept;
        Iterator operator++(int) noexcept {
            Iterator const before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(Iterator const&, Iterator const&) noexcept = default;

    private:
        friend class StoppedTimeouts;
        Iterator(detail::TimeoutNode* node, detail::TimeoutNode const* first) noexcept
            : node_{node}, first_{first} {}
        detail::TimeoutNode* node_ = nullptr;
        detail::TimeoutNode const* first_ = nullptr;
    };

    StoppedTimeouts() noexcept = default;
    StoppedTimeouts(StoppedTimeouts&& other) noexcept;
    StoppedTimeouts& operator=(StoppedTimeouts&& other) noexcept;
    ~StoppedTimeouts();

    Iterator begin() const noexcept { return {first_, first_}; }
    Iterator end() const noexcept { return {nullptr, first_}; }
    /// Timeouts in the range.
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    /// Hooks that were pending and will not run.
    std::size_t hooks() const noexcept { return hooks_; }

private:
    friend class detail::Runner;
    void add(detail::TimeoutNode& node) noexcept;
    void addHook() noexcept { ++hooks_; }
    void clear() noexcept;

    detail::TimeoutNode* first_ = nullptr;  // a circle of their own links
    std::size_t size_ = 0;
    std::size_t hooks_ = 0;
};

}  // namespace timingwheel::inline v1
