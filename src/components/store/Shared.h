#pragma once

#include "components/store/Inbox.h"
#include "components/store/Row.h"

#include <timingwheel/Timer.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace timingwheel::inline v1::store {

/// What is due, on its way from the wheel to the threads that call the handler. The rows are the
/// writer's: one that it has dropped meanwhile is left out.
///
/// Thread safety  any number of threads
class DueRows {
public:
    void add(std::weak_ptr<Row const> row) {
        std::lock_guard const lock{mutex_};
        rows_.push_back(std::move(row));
        hasNews_.notify_one();
    }
    /// Waits for the next one. Null once closed: the rest stays in the file.
    SharedRow take() {
        std::unique_lock lock{mutex_};
        for (;;) {
            hasNews_.wait(lock, [this] { return isClosed_ || !rows_.empty(); });
            if (isClosed_) return {};
            SharedRow row = rows_.front().lock();
            rows_.pop_front();
            if (row) return row;
        }
    }
    void close() {
        std::lock_guard const lock{mutex_};
        isClosed_ = true;
        hasNews_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable hasNews_;
    std::deque<std::weak_ptr<Row const>> rows_;
    bool isClosed_ = false;
};

/// Where errors go for which no caller waits: to the error handler, or else to stderr.
///
/// Thread safety  any number of threads; the handler is called by one at a time
class ErrorReports {
public:
    explicit ErrorReports(std::function<void(DurableFailure const&)> const& handler)
        : handler_{handler} {}

    void report(DurableFailure const& failure) {
        std::lock_guard const lock{mutex_};
        if (!handler_) return print(failure);
        handler_(failure);
    }

private:
    /// Needs no memory, since the failure may be that there is none.
    static void print(DurableFailure const& failure) {
        auto const line = [id = failure.id](char const* said) {
            if (id.empty())
                std::fprintf(stderr, "timingwheel: %s\n", said);
            else
                std::fprintf(stderr, "timingwheel: the handler of \"%.*s\" threw: %s\n",
                             static_cast<int>(id.size()), id.data(), said);
        };
        try {
            std::rethrow_exception(failure.exception);
        } catch (std::exception const& exception) {
            line(exception.what());
        } catch (...) {
            line("an exception that is not a std::exception");
        }
    }

    std::mutex mutex_;
    std::function<void(DurableFailure const&)> const& handler_;
};

/// What all threads of a store share. Everything else belongs to one of them.
struct Shared {
    /// Its timers are of the type `Kind`, so that a test need not have threads.
    template <class Kind>
    Shared(std::in_place_type_t<Kind>, DurableTimerOptions itsOptions)
        : options{std::move(itsOptions)},
          timer{std::make_unique<Kind>(TimerOptions{.clock = options.clock})},
          retryTimer{std::make_unique<Kind>(TimerOptions{.clock = options.retryClock})} {}

    DurableTimerOptions const options;
    ErrorReports errors{options.errorHandler};
    Inbox inbox{options};
    DueRows due;
    std::atomic<std::uint64_t> pending{0};  // rows, by the last commit

    // Their tasks put into what stands above. So these go first.
    std::unique_ptr<Timer> const timer;
    std::unique_ptr<Timer> const retryTimer;
};

}  // namespace timingwheel::inline v1::store
