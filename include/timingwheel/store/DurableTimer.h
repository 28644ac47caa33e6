#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/store/detail/platform/export.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace timingwheel::inline v1::store {

/// An error from SQLite. The message names the file and what was tried.
class TIMINGWHEEL_STORE_API StoreError : public std::runtime_error {
public:
    StoreError(std::string const& message, int code) : std::runtime_error{message}, code_{code} {}
    /// SQLite's extended result code.
    int code() const noexcept { return code_; }

private:
    int code_;
};

/// A timeout that is due, as the handler gets it.
struct DurableTimeout {
    std::string id;
    std::string payload;
    std::chrono::system_clock::time_point deadline;
};

/// What an error handler receives.
struct DurableFailure {
    std::exception_ptr exception;
    /// The timeout whose handler threw; empty: an error of SQLite that no caller waits for.
    std::string_view id = {};
};

/// All are checked by the constructor, which throws std::invalid_argument with the option's name,
/// its value and the bound. A number "from 1" is at most 2^31 - 1.
struct DurableTimerOptions {
    /// What is due within it is in memory, and in the wheel: 1 s to 366 days.
    Duration horizon = std::chrono::minutes{10};
    /// How many timeouts read from the file are in memory at a time: from 1. What is overdue
    /// after a long rest is read in such portions. If that many handlers have thrown, or that many
    /// cannot be removed from the file, no others are read until the number falls.
    std::size_t maxRead = 100'000;
    /// Changes in one commit, and removals of what has been delivered: from 1. A commit takes what
    /// has come until then, so a large limit never delays a lone caller.
    std::size_t maxGroup = 10'000;
    /// Changes that wait for their commit: from 1. If there are more, calls wait.
    std::size_t maxWaiting = 100'000;
    /// Bytes of ids and payloads in memory: this many of what was read from the file, as many of
    /// those whose handlers are called again, and as many that wait for their commit. 1 to
    /// 1,000,000,000,000. One that is larger is taken alone.
    std::size_t maxBytes = 100'000'000;
    /// Bytes of an id, 1 to 1,000,000, and of a payload, 1 to 990,000,000: SQLite takes rows of
    /// 1,000,000,000.
    std::size_t maxId = 1'000;
    std::size_t maxPayload = 1'000'000;
    /// Threads that call the handler: 1 to 1,000. They block all signals.
    std::size_t threads = 1;
    /// After this a handler that has thrown is called again, and what the disk has refused is tried
    /// again: 1 ms to an hour. The delay doubles each time that the handler throws, up to 64 times.
    Duration retryDelay = std::chrono::seconds{1};
    /// How long the constructor waits while another program uses the file: 0 to an hour.
    Duration lockTimeout = std::chrono::seconds{5};
    /// Receives what handlers throw, and SQLite's errors where no caller waits. By default a line
    /// on stderr. Called by one thread at a time, also by the one that commits. So it must not
    /// throw, and not wait for the timer: not for a future, for room, or for stop().
    std::function<void(DurableFailure const&)> errorHandler = {};
    /// Must be of Clock::Kind::wall, and outlive the timer.
    std::reference_wrapper<Clock> clock = Clock::wall();
    /// Measures retryDelay, so not of Clock::Kind::wall. Must outlive the timer.
    std::reference_wrapper<Clock> retryClock = Clock::steady();
    /// SQLite's file system (VFS); empty: its default.
    std::string fileSystem = {};
};

/// A timer whose timeouts survive the process: a table of SQLite, and a wheel for what is near. For
/// orders that cancel themselves in 30 minutes, whatever happens until then.
///
///     store::DurableTimer orders{"orders.db", [](store::DurableTimeout const& order) {
///         cancelUnlessPaid(order.id);
///     }};
///     orders.schedule("4711", std::chrono::system_clock::now() + 30min).get();
///
/// Each change is a future, which is ready when the commit that holds the change is on the disk.
/// Changes of all threads share commits. One thread writes. It reads what comes near ten minutes
/// ahead, so memory holds that, and the file the rest.
///
/// - What was confirmed is not lost: not if the process is killed, not if the power goes, as far as
///   the disk keeps what it says it has written.
/// - A handler is called at least once for each timeout, never before its deadline by the clock. If
///   the process dies between a handler's end and the next commit, the handler is called again
///   after the restart, with the same id. So let what it does be harmless the second time.
/// - After a cancel that was confirmed as true the handler is not called for the id any more. One
///   that runs, or is about to, goes on.
/// - An id that is scheduled again has the new timeout, instead of one that was pending. One that
///   was due, or whose handler runs, was confirmed and is delivered, too: as long as the id is not
///   cancelled.
/// - The handler may be called before the constructor returns, for what is overdue: a variable that
///   holds the timer is not set by then.
/// - A handler that throws is called again after `retryDelay`, until it returns or its timeout is
///   cancelled. When it returns, the timeout is delivered: so it waits for what it has begun.
///
/// Units          deadlines to the millisecond, rounded up
/// Complexity     a change takes the time of SQLite's B-trees, a logarithm of what is pending
/// Memory         what was scheduled within the horizon; what `maxRead`, `maxWaiting` and
///                `maxBytes` allow
/// Thread safety  every function from any thread. The handler may call all but stop and the
///                destructor
/// Lifetime       the file belongs to one timer at a time: others are refused, readers too
/// Errors         if the disk refuses a change, its future and those of its group throw StoreError,
///                and nothing has changed. But if the process or the power ends
///                before a later commit, the next start may find the whole group done: it was
///                written, and only its sync was refused. If memory ends where no caller waits, the
///                process may end, or a timeout wait for the next start: the file has it
class TIMINGWHEEL_STORE_API DurableTimer {
public:
    using TimePoint = std::chrono::system_clock::time_point;
    using Handler = std::function<void(DurableTimeout const&)>;

    /// Opens the file or makes it, and reads what is near. Waits up to `lockTimeout` while the file
    /// is in use. Throws StoreError if the file cannot be opened, may only be read, is still in
    /// use, is damaged where it looks, keeps nothing (":memory:"), is no database, or that of
    /// something else or of another version of this. It is left as it was.
    DurableTimer(std::filesystem::path const& file, Handler handler,
                 DurableTimerOptions options = {});
    DurableTimer(DurableTimer const&) = delete;
    DurableTimer& operator=(DurableTimer const&) = delete;
    /// Stops.
    ~DurableTimer();

    /// Each answers whether a timeout of that id was pending: it was replaced, moved or cancelled.
    ///
    /// - One that is due, or whose handler has returned, is not pending. One whose handler has
    ///   thrown is pending until its next call is due.
    /// - Throws std::invalid_argument for an id or payload that is too long, and for an empty id;
    ///   std::logic_error after stop().
    [[nodiscard]] std::future<bool> schedule(std::string id, TimePoint deadline,
                                             std::string payload = {});
    [[nodiscard]] std::future<bool> reschedule(std::string id, TimePoint deadline);
    [[nodiscard]] std::future<bool> cancel(std::string id);

    /// Copies the file while the timer goes on, between two commits about 1 MiB and what the last
    /// one has added: to keep a copy, or to look into it. The future is ready when the copy is on
    /// the disk.
    ///
    /// - The copy has what was confirmed before the call, and may have what was confirmed since. A
    ///   DurableTimer can be made of it.
    /// - The copy's file must be empty or not there. Otherwise the future throws StoreError and the
    ///   file stays as it is; it also throws if the disk refuses the copy, which is then empty.
    /// - Copies wait for each other, and stop() waits for them.
    /// - Throws std::logic_error after stop().
    [[nodiscard]] std::future<void> backup(std::filesystem::path copy);

    /// Timeouts in the file, by the last commit. Once one is gone, what its handler has done is
    /// visible.
    std::uint64_t pendingTimeouts() const noexcept;

    /// Accepts nothing more, waits for handlers that run, and does what was accepted. What is
    /// pending stays in the file, which the destructor closes.
    void stop();

private:
    class Store;
    std::unique_ptr<Store> store_;
};

}  // namespace timingwheel::inline v1::store
