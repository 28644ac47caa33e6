#include "demo/Interrupt.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace demo {

namespace {

std::atomic<bool> interrupted{false};
std::atomic<char const*> farewell{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler sets it");
static_assert(std::atomic<char const*>::is_always_lock_free, "the signal handler reads it");

extern "C" void noteInterrupt(int signal) {
    if (!interrupted.exchange(true)) return;
    if (char const* const text = farewell.load())
        static_cast<void>(!write(STDOUT_FILENO, text, std::strlen(text)));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

void noteInterrupts() {
    struct sigaction action {};
    action.sa_handler = noteInterrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool isInterrupted() noexcept { return interrupted.load(std::memory_order_relaxed); }

void setFarewell(char const* text) noexcept { farewell.store(text); }

}  // namespace demo
