#pragma once

#include <string>

#if defined(__unix__) || defined(__APPLE__)
#    include <csignal>
#    include <pthread.h>
#elif defined(__MINGW32__) && __has_include(<pthread.h>)
#    include <pthread.h>
#endif
#if defined(__linux__)
#    include <sys/prctl.h>
#endif

namespace timingwheel::inline v1::detail {

/// While it lives, this thread blocks all signals, and so do threads that it makes: signals are for
/// the program's own threads.
#if defined(__unix__) || defined(__APPLE__)
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

/// REQUIRES: at most 15 bytes.
inline void nameThisThread([[maybe_unused]] std::string const& name) noexcept {
#if defined(__linux__) || defined(WIN_PTHREADS_H)
    pthread_setname_np(pthread_self(), name.c_str());
#elif defined(__APPLE__)
    pthread_setname_np(name.c_str());
#endif
}

/// Empty where threads have no names.
inline std::string nameOfThisThread() {
#if defined(__linux__) || defined(WIN_PTHREADS_H) || defined(__APPLE__)
    char name[16] = {};
    if (pthread_getname_np(pthread_self(), name, sizeof name) == 0) return name;
#endif
    return {};
}

/// Lets this thread's sleeps end as soon after their time as the system can. Otherwise Linux adds
/// 50 us.
inline void sleepPunctually() noexcept {
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

}  // namespace timingwheel::inline v1::detail
