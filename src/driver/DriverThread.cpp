#include "driver/DriverThread.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#    include <csignal>
#    include <pthread.h>
#endif
#if defined(__linux__)
#    include <sys/prctl.h>
#endif

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

#if defined(__unix__) || defined(__APPLE__)
/// While it lives all signals are blocked in this thread, and in threads that it makes.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(SignalsBlocked const&) = delete;
    SignalsBlocked& operator=(SignalsBlocked const&) = delete;
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};
#else
class SignalsBlocked {};
#endif

enum class Go { notYet, yes, no };

std::thread start(TimerOptions const& options, std::function<void()> run) {
    if (options.threadFactory) return options.threadFactory(std::move(run));
    try {
        return std::thread{std::move(run)};
    } catch (std::system_error const& error) {
        throw std::system_error{
            error.code(), "timer \"" + options.name + "\": its driver thread could not be started"};
    }
}

void setUpThisThread(std::string const& name) noexcept {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name.c_str());
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#else
    static_cast<void>(name);
#endif
}

}  // namespace

std::thread makeDriverThread(TimerOptions const& options, std::function<void()> body) {
    // The body begins only when the thread is known to be one that can be joined: a driver that
    // nobody can wait for must not serve the timer beside the next one.
    auto const go = std::make_shared<std::atomic<Go>>(Go::notYet);
    auto run = [go, name = options.name, body = std::move(body)] {
        SignalsBlocked const blocked;
        setUpThisThread(name);
        go->wait(Go::notYet);
        if (go->load() == Go::yes) body();
    };
    SignalsBlocked const blocked;
    std::thread thread = start(options, std::move(run));
    go->store(thread.joinable() ? Go::yes : Go::no);
    go->notify_all();
    if (!thread.joinable())
        throw std::logic_error{"timer \"" + options.name +
                               "\": threadFactory returned a thread that is not joinable"};
    return thread;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
