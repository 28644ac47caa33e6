#include "core/driver/makeDriverThread.h"

#include "core/base/platform/Thread.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

/// Which thread may drive: the one that the factory returned, and no other that it has started.
/// Otherwise a driver that nobody can join might serve the timer beside the next one.
class Permission {
public:
    /// For the calling thread to give.
    explicit Permission(std::string timerName) : timerName_{std::move(timerName)} {}

    /// To nobody: std::thread::id{}.
    void giveTo(std::thread::id thread) {
        std::lock_guard const lock{mutex_};
        isGiven_ = true;
        thread_ = thread;
        given_.notify_all();
    }
    /// Waits until it is given. True if it is given to the calling thread. Throws std::logic_error
    /// if that would wait for itself, since it is the one that gives it.
    bool await() {
        std::thread::id const self = std::this_thread::get_id();
        std::unique_lock lock{mutex_};
        if (self == giver_ && !isGiven_)
            throw std::logic_error{"timer \"" + timerName_ +
                                   "\": threadFactory called the driver's function itself: it must "
                                   "start a thread that calls it"};
        given_.wait(lock, [this] { return isGiven_; });
        return thread_ == self;
    }

private:
    std::string const timerName_;
    std::thread::id const giver_ = std::this_thread::get_id();
    std::mutex mutex_;
    std::condition_variable given_;
    bool isGiven_ = false;
    std::thread::id thread_;
};

std::thread start(TimerOptions const& options, std::function<void()> run) {
    if (options.threadFactory) return options.threadFactory(std::move(run));
    try {
        return std::thread{std::move(run)};
    } catch (std::system_error const& error) {
        throw std::system_error{
            error.code(), "timer \"" + options.name + "\": its driver thread could not be started"};
    }
}

}  // namespace

std::thread makeDriverThread(TimerOptions const& options, std::function<void()> body) {
    auto const permission = std::make_shared<Permission>(options.name);
    auto run = [permission, name = options.name, body = std::move(body)] {
        SignalsBlocked const blocked;
        if (!permission->await()) return;
        nameThisThread(name);
        sleepPunctually();
        body();
    };
    SignalsBlocked const blocked;
    std::thread thread;
    try {
        thread = start(options, std::move(run));
    } catch (...) {
        permission->giveTo({});  // it may have started a thread nevertheless
        throw;
    }
    permission->giveTo(thread.get_id());
    if (!thread.joinable())
        throw std::logic_error{"timer \"" + options.name +
                               "\": threadFactory returned a thread that is not joinable"};
    return thread;
}

}  // namespace timingwheel::inline v1::detail
