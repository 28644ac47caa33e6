#pragma once

#include "components/store/Row.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <future>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::store {

/// What a caller asks for.
struct Change {
    enum class Kind { schedule, reschedule, cancel };
    Kind kind;
    std::string id;
    std::int64_t deadline = 0;
    std::string payload;
    std::promise<bool> answer;

    std::size_t bytes() const { return id.size() + payload.size(); }
};

/// A requested copy of the file.
struct Copy {
    std::filesystem::path file;
    std::promise<void> answer;
};

/// What the writer takes at a time.
struct Mail {
    std::vector<Change> group;  // at most maxGroup
    std::vector<Copy> copies;
    Keys ended;              // their handlers have returned
    Keys failed;             // have thrown
    Keys early;              // were due, but the clock was set back
    Keys again;              // have thrown, and are to be called again
    bool wantsRead = false;  // it is time to read on
    bool isLast = false;     // nothing will come any more
};

/// Where callers, the wheel and the threads that call the handler put what they have for the
/// writer.
///
/// Thread safety  any number of threads; one takes
class Inbox {
public:
    explicit Inbox(DurableTimerOptions const& options) : options_{options} {}

    // Callers. Both throw std::logic_error once closed.

    /// Waits for room.
    std::future<bool> append(Change change) {
        std::future<bool> answer = change.answer.get_future();
        std::unique_lock lock{mutex_};
        hasRoom_.wait(lock, [this] {
            return isClosed_ ||
                   (changes_.size() < options_.maxWaiting && bytes_ < options_.maxBytes);
        });
        refuseIfClosed();
        bytes_ += change.bytes();
        changes_.push_back(std::move(change));
        notify();
        return answer;
    }
    std::future<void> append(Copy copy) {
        std::future<void> answer = copy.answer.get_future();
        std::lock_guard const lock{mutex_};
        refuseIfClosed();
        mail_.copies.push_back(std::move(copy));
        notify();
        return answer;
    }

    // The wheel's threads, and those that call the handler.

    void put(Key key, Keys Mail::*list) {
        std::lock_guard const lock{mutex_};
        (mail_.*list).push_back(key);
        notify();
    }
    void wakeToRead() {
        std::lock_guard const lock{mutex_};
        mail_.wantsRead = true;
        notify();
    }
    void wake() {
        std::lock_guard const lock{mutex_};
        notify();
    }

    // The thread that stops the timer.

    /// Refuses callers from now on.
    void close() {
        std::lock_guard const lock{mutex_};
        isClosed_ = true;
        hasRoom_.notify_all();
    }
    /// Nobody calls the handler any more. REQUIRES: it is closed.
    void end() {
        std::lock_guard const lock{mutex_};
        isEnded_ = true;
        notify();
    }

    // The writer.

    /// Waits until something has come or has woken it, unless the writer `hasWork` anyway.
    Mail take(bool hasWork) {
        std::unique_lock lock{mutex_};
        hasNews_.wait(lock, [&] { return isWoken_ || hasWork; });
        Mail mail = std::exchange(mail_, {});
        auto const end = changes_.begin() +
                         static_cast<std::ptrdiff_t>(std::min(changes_.size(), options_.maxGroup));
        mail.group.assign(std::make_move_iterator(changes_.begin()), std::make_move_iterator(end));
        changes_.erase(changes_.begin(), end);
        for (Change const& change : mail.group) bytes_ -= change.bytes();
        isWoken_ = !changes_.empty();
        mail.isLast = isEnded_ && !isWoken_;
        hasRoom_.notify_all();
        return mail;
    }

private:
    void refuseIfClosed() const {
        if (isClosed_) throw std::logic_error{"store: it was stopped"};
    }
    void notify() {
        isWoken_ = true;
        hasNews_.notify_one();
    }

    DurableTimerOptions const& options_;
    std::mutex mutex_;
    std::condition_variable hasNews_;
    std::condition_variable hasRoom_;
    std::deque<Change> changes_;
    std::size_t bytes_ = 0;  // of changes_
    Mail mail_;              // all else
    bool isWoken_ = false;
    bool isClosed_ = false;
    bool isEnded_ = false;
};

}  // namespace timingwheel::inline v1::store
