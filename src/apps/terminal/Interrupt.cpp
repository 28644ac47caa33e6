#include "apps/terminal/Interrupt.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace terminal {

namespace {

std::atomic<bool> interrupted{false};
std::atomic<char const*> farewell{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler sets it");
static_assert(std::atomic<char const*>::is_always_lock_free, "the signal handler reads it");

extern "C" void endAtOnce(int signal) {
    if (char const* const text = farewell.load())
        static_cast<void>(!write(STDOUT_FILENO, text, std::strlen(text)));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

extern "C" void noteInterrupt(int signal) {
    if (interrupted.exchange(true)) endAtOnce(signal);
}

/// A signal that is ignored stays ignored: the shell, or nohup, has set that.
void handle(int signal, void (*handler)(int)) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
}

}  // namespace

void noteInterrupts() {
    for (int const signal : {SIGINT, SIGTERM}) handle(signal, noteInterrupt);
    for (int const signal : {SIGQUIT, SIGHUP}) handle(signal, endAtOnce);
}

bool isInterrupted() noexcept { return interrupted.load(std::memory_order_relaxed); }

void setFarewell(char const* text) noexcept { farewell.store(text); }

}  // namespace terminal
