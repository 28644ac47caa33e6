#include "driver/DriverThread.h"

#include "api/ThreadSetup.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#if defined(__linux__)
#    include <sys/prctl.h>
#endif

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

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
    nameThisThread(name);
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
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
