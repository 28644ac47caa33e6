#include "driver/DriverThread.h"

#include "platform/Thread.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

/// Which thread may drive: the one that the factory returned, and no other that it has started.
/// Otherwise a driver that nobody can join might serve the timer beside the next one.
class Permission {
public:
    /// To nobody: std::thread::id{}.
    void giveTo(std::thread::id thread) {
        std::lock_guard const lock{mutex_};
        isGiven_ = true;
        thread_ = thread;
        given_.notify_all();
    }
    /// Waits until it is given. True if it is given to the calling thread.
    bool await() {
        std::unique_lock lock{mutex_};
        given_.wait(lock, [this] { return isGiven_; });
        return thread_ == std::this_thread::get_id();
    }
    bool isGiven() {
        std::lock_guard const lock{mutex_};
        return isGiven_;
    }

private:
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
    auto const permission = std::make_shared<Permission>();
    auto run = [permission, maker = std::this_thread::get_id(), name = options.name,
                body = std::move(body)] {
        if (std::this_thread::get_id() == maker && !permission->isGiven())
            throw std::logic_error{"timer \"" + name +
                                   "\": threadFactory called the driver's function itself: it must "
                                   "start a thread that calls it"};
        SignalsBlocked const blocked;
        nameThisThread(name);
        sleepPunctually();
        if (permission->await()) body();
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

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
