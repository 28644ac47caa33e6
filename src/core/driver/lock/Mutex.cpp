#include "core/driver/lock/Mutex.h"

#include "core/base/platform/Pause.h"

namespace timingwheel::inline v1::detail {

namespace {
#if defined(TIMINGWHEEL_SIMULATED)
constexpr int kTries = 1;  // it sleeps in many of the courses that the simulation takes
#else
constexpr int kTries = 100;
#endif
constexpr int kPauses = 4;
}  // namespace

/// A thread keeps it for less than a microsecond or two, and a thread that sleeps comes back later
/// than that, to find it taken again. So it tries for a while.
void Mutex::lockSlowly() noexcept {
    for (int tries = 0; tries < kTries; ++tries) {
        for (int i = 0; i < kPauses; ++i) pause();
        if (!isTaken_.load(std::memory_order_relaxed) && try_lock()) return;
    }
    sleep();
}

void Mutex::unlockFenced() noexcept {
    isTaken_.exchange(false, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wakeOne();
}

void Mutex::sleep() noexcept {
    std::unique_lock<std::mutex> held{sleeping_};
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (hasBarrier_) ProcessBarrier::await();
    while (isTaken_.exchange(true, std::memory_order_seq_cst)) released_.wait(held);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Mutex::wakeOne() noexcept {
    std::lock_guard<std::mutex> const held{sleeping_};
    released_.notify_one();
}

}  // namespace timingwheel::inline v1::detail
