#pragma once

#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace timingwheel::inline v1 {

namespace detail {
class ExecutorClaims;
class Keeper;
}  // namespace detail

/// What an executor is given: the right to run one of the queued tasks, not a particular one.
///
/// - Call it once.
/// - If it is destroyed uncalled, one queued task is rejected: that task never runs, and the
///   timer's error handler is called.
/// - An executor that requires it may copy a claim. All copies together stand for one task.
class TIMINGWHEEL_API Claim {
public:
    Claim(Claim const& other) noexcept;
    Claim(Claim&& other) noexcept : keeper_{std::exchange(other.keeper_, nullptr)} {}
    Claim& operator=(Claim other) noexcept {
        std::swap(keeper_, other.keeper_);
        return *this;
    }
    ~Claim();

    /// Runs one task, unless none is left: tasks may have been cancelled, rescheduled or returned
    /// by stop(). What the task throws goes to the timer's error handler.
    void operator()() noexcept;

private:
    friend class detail::ExecutorClaims;
    explicit Claim(detail::Keeper& keeper) noexcept;

    detail::Keeper* keeper_;
};

namespace detail {

template <class E>
concept HasExecute = requires(E& executor, Claim claim) { executor.execute(std::move(claim)); };
template <class E>
concept HasGetExecutor =
    requires(E& context, Claim claim) { context.get_executor().execute(std::move(claim)); };
/// `post` is found by the executor's namespace.
template <class E>
concept HasPost = requires(E& executor, Claim claim) { post(executor, std::move(claim)); };

}  // namespace detail

/// What an Executor can refer to.
template <class E>
concept CanExecute = detail::HasExecute<E> || detail::HasGetExecutor<E> || detail::HasPost<E>;

/// Where tasks run: by default inline, on the thread that drives the timer.
///
/// Refers to anything that takes a function in one of these ways. The first that it has is used:
///
/// - `executor.execute(f)`
/// - `executor.get_executor().execute(f)`
/// - `post(executor, f)`, with a `post` of the executor's namespace
///
/// So any executor of Asio will do: a thread_pool, an io_context, a strand, an any_io_executor.
/// Some versions of Asio need the last way: include its post.hpp. Use an executor for tasks that
/// block: inline they hold up all others.
///
/// Lifetime       the executor must outlive the timer, or the timer's stop(). It is referred to,
///                not copied: a strand, or what get_executor() returned, needs a variable
/// Errors         if the executor throws, or drops what it was given, that one task is rejected
class Executor {
public:
    /// Inline.
    Executor() noexcept = default;

    template <class E>
        requires(!std::is_same_v<std::remove_const_t<E>, Executor> && CanExecute<E>)
    Executor(E& executor) noexcept  // implicit: {.executor = pool}
        : executor_{std::addressof(executor)}, execute_{[](void const* target, Claim claim) {
              E& to = *static_cast<E*>(const_cast<void*>(target));
              if constexpr (detail::HasExecute<E>) {
                  to.execute(std::move(claim));
              } else if constexpr (detail::HasGetExecutor<E>) {
                  to.get_executor().execute(std::move(claim));
              } else {
                  post(to, std::move(claim));
              }
          }} {}

    /// Deleted: an Executor refers to its target, and a temporary would be gone at once.
    template <class E>
        requires(!std::is_same_v<std::remove_const_t<E>, Executor> && CanExecute<E const>)
    Executor(E const&& executor) = delete;

    bool isInline() const noexcept { return execute_ == nullptr; }
    /// REQUIRES: not inline.
    void execute(Claim claim) const { execute_(executor_, std::move(claim)); }

private:
    void const* executor_ = nullptr;
    void (*execute_)(void const*, Claim) = nullptr;
};

}  // namespace timingwheel::inline v1
