#include "driver/DriverThread.h"

#include <stdexcept>
#include <string>
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
    auto run = [name = options.name, body = std::move(body)] {
        SignalsBlocked const blocked;
        setUpThisThread(name);
        body();
    };
    SignalsBlocked const blocked;
    if (!options.threadFactory) return std::thread{std::move(run)};
    std::thread thread = options.threadFactory(std::move(run));
    if (!thread.joinable())
        throw std::logic_error{"timer \"" + options.name +
                               "\": threadFactory returned no running thread"};
    return thread;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
