#include "components/store/Shared.h"
#include "components/store/Writer.h"
#include "core/base/OptionChecks.h"
#include "core/base/TimeArithmetic.h"
#include "core/base/platform/Thread.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/store/DurableTimer.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::store {

namespace {

using std::chrono::milliseconds;
using timingwheel::detail::deadlineToMilliseconds;
using timingwheel::detail::refuseOption;
using timingwheel::detail::requireWithin;

template <class Number>
void require(char const* option, Number value, Number least, Number most) {
    requireWithin(std::string{"store: "} + option, value, least, most);
}

void checkOptions(DurableTimerOptions const& options) {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    // A row of both is below SQLite's 1,000,000,000.
    constexpr std::size_t kMostOfAnId = 1'000'000;
    constexpr std::size_t kMostOfAPayload = 990'000'000;
    auto const inMilliseconds = [](Duration duration) {
        return std::chrono::ceil<milliseconds>(duration.nanoseconds()).count();
    };
    require<std::int64_t>("horizon in ms", inMilliseconds(options.horizon), 1'000,
                          std::int64_t{366} * 24 * 3'600 * 1'000);
    require<std::int64_t>("retryDelay in ms", inMilliseconds(options.retryDelay), 1, 3'600'000);
    require<std::int64_t>("lockTimeout in ms", inMilliseconds(options.lockTimeout), 0, 3'600'000);
    require<std::size_t>("maxRead", options.maxRead, 1, kMost);
    require<std::size_t>("maxBytes", options.maxBytes, 1, 1'000'000'000'000);
    require<std::size_t>("maxGroup", options.maxGroup, 1, kMost);
    require<std::size_t>("maxWaiting", options.maxWaiting, 1, kMost);
    require<std::size_t>("maxId", options.maxId, 1, kMostOfAnId);
    require<std::size_t>("maxPayload", options.maxPayload, 1, kMostOfAPayload);
    require<std::size_t>("threads", options.threads, 1, 1'000);
    if (options.fileSystem.find('\0') != std::string::npos)
        refuseOption("store: fileSystem", "a string with a NUL byte", "without one");
    if (options.clock.get().kind() != Clock::Kind::wall)
        refuseOption("store: clock", "not a wall clock",
                     "of Clock::Kind::wall: deadlines that survive the process are times of day");
    if (options.retryClock.get().kind() == Clock::Kind::wall)
        refuseOption("store: retryClock", "a wall clock",
                     "of another kind: a delay must not depend on the time of day");
}

void checkText(char const* what, std::string const& text, std::size_t least, std::size_t most) {
    requireWithin(std::string{"store: the length of "} + what, text.size(), least, most, " bytes");
}

/// One of the threads that call the handler. Has nothing of its own.
class Delivery {
public:
    Delivery(Shared& shared, DurableTimer::Handler const& handler)
        : shared_{shared}, handler_{handler} {}

    /// Until what is due is closed.
    void run() {
        while (SharedRow const row = shared_.due.take()) {
            std::exception_ptr error;
            shared_.inbox.put(row->key, call(*row, error));
            // The writer knows first: what is reported to have thrown is pending.
            if (error) shared_.errors.report({error, row->id});
        }
    }

private:
    /// Returns the list where it belongs then.
    Keys Mail::*call(Row const& row, std::exception_ptr& error) {
        DurableTimer::TimePoint const deadline = fromFile(row.deadline);
        if (deadline > Clock::systemTime(shared_.options.clock.get().now())) return &Mail::early;
        try {
            handler_({row.id, row.payload, deadline});
            return &Mail::ended;
        } catch (...) {
            error = std::current_exception();
            return &Mail::failed;
        }
    }

    Shared& shared_;
    DurableTimer::Handler const& handler_;
};

/// A worker, and the thread that runs it. Nobody else reaches what it has.
template <class Worker>
class OnThread {
public:
    template <class... Args>
    explicit OnThread(Args&&... args) : worker_{std::forward<Args>(args)...} {}

    void start() {
        thread_ = std::thread{[this] { worker_.run(); }};
    }
    /// Waits until run() has returned, if it was started.
    void join() {
        if (thread_.joinable()) thread_.join();
    }

private:
    Worker worker_;
    std::thread thread_;
};

}  // namespace

/// The threads, and what they share. Callers append changes to the inbox. The writer commits them
/// in groups, and keeps in the wheel what is near. The wheel hands over what is due to the threads
/// that call the handler, and these report to the inbox.
class DurableTimer::Store {
public:
    Store(std::filesystem::path const& file, Handler handler, DurableTimerOptions options)
        : handler_{std::move(handler)},
          shared_{std::in_place_type<SystemTimer>, std::move(options)},
          writer_{shared_, file} {}

    ~Store() { stop(); }

    /// A handler may call the timer from now on, so this is the last that its constructor does.
    void start() {
        detail::SignalsBlocked const blocked;
        try {
            writer_.start();
            for (std::size_t i = 0; i < shared_.options.threads; ++i)
                deliveries_.emplace_back(shared_, handler_).start();
        } catch (...) {
            stop();
            throw;
        }
    }

    std::future<bool> append(Change change) {
        checkText("an id", change.id, 1, shared_.options.maxId);
        checkText("a payload", change.payload, 0, shared_.options.maxPayload);
        return shared_.inbox.append(std::move(change));
    }

    std::future<void> append(Copy copy) { return shared_.inbox.append(std::move(copy)); }

    std::uint64_t pending() const noexcept {
        return shared_.pending.load(std::memory_order_acquire);
    }

    void stop() {
        std::lock_guard const stopping{stopMutex_};
        shared_.inbox.close();
        shared_.due.close();
        for (OnThread<Delivery>& delivery : deliveries_) delivery.join();
        shared_.inbox.end();
        writer_.join();
        // The writer needs them: they say whether a cancel has won.
        static_cast<void>(shared_.timer->stop());
        static_cast<void>(shared_.retryTimer->stop());
    }

private:
    Handler const handler_;
    Shared shared_;
    OnThread<Writer> writer_;
    std::deque<OnThread<Delivery>> deliveries_;
    std::mutex stopMutex_;  // of those who stop it
};

DurableTimer::DurableTimer(std::filesystem::path const& file, Handler handler,
                           DurableTimerOptions options) {
    if (!handler) refuseOption("store: handler", "empty", "something that can be called");
    checkOptions(options);
    store_ = std::make_unique<Store>(file, std::move(handler), std::move(options));
    store_->start();
}

// While store_ is still there: handlers that run may call the timer.
DurableTimer::~DurableTimer() { stop(); }

std::future<bool> DurableTimer::schedule(std::string id, TimePoint deadline, std::string payload) {
    return store_->append({Change::Kind::schedule,
                           std::move(id),
                           deadlineToMilliseconds(deadline),
                           std::move(payload),
                           {}});
}

std::future<bool> DurableTimer::reschedule(std::string id, TimePoint deadline) {
    return store_->append(
        {Change::Kind::reschedule, std::move(id), deadlineToMilliseconds(deadline), {}, {}});
}

std::future<bool> DurableTimer::cancel(std::string id) {
    return store_->append({Change::Kind::cancel, std::move(id), 0, {}, {}});
}

std::future<void> DurableTimer::backup(std::filesystem::path file) {
    return store_->append(Copy{std::move(file), {}});
}

std::uint64_t DurableTimer::pendingTimeouts() const noexcept { return store_->pending(); }

void DurableTimer::stop() { store_->stop(); }

}  // namespace timingwheel::inline v1::store
