#include "demo/Interrupt.h"

#include <atomic>
#include <csignal>

namespace demo {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler sets it");

extern "C" void noteInterrupt(int) { interrupted.store(true); }

}  // namespace

void noteInterrupts() {
    struct sigaction action {};
    action.sa_handler = noteInterrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND | static_cast<unsigned>(SA_RESTART));
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool isInterrupted() noexcept { return interrupted.load(std::memory_order_relaxed); }

}  // namespace demo
