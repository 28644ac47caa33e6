#pragma once

#include "core/base/platform/ProcessBarrier.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::detail {

/// Lets one thread, the favourite, pass a mutex without taking it: by two plain stores and a load.
/// Another thread takes the mutex and revokes the bias, which costs it a barrier in all threads of
/// the process. From then on the favourite takes the mutex too, until it restores the bias.
///
///   - A thread that enters without the mutex announces itself first, then checks the bias.
///   - A thread that revokes the bias announces that first, then makes all threads see it, and then
///     waits until the favourite is out.
///   - So one of the two sees the other.
///
/// The favourite is the first thread that calls restore(), for good: only it writes whether it is
/// inside. Where the system has no such barrier there is no bias.
///
/// Source         T. Kawachiya, K. Koseki, T. Onodera: "Lock Reservation", OOPSLA 2002;
///                D. Dice, M. Moir, W. Scherer: "Quickly Reacquirable Locks", 2003
/// Thread safety  as each function says
class Bias {
public:
    /// Enters if this thread may do so without the mutex. Any thread, which does not hold it.
    bool enter() noexcept {
        if (favourite_.load(std::memory_order_relaxed) != thisThread_) return false;
        isInside_.store(true, std::memory_order_relaxed);
        // For the compiler. The processor's part is in revoke().
        std::atomic_signal_fence(std::memory_order_seq_cst);
        // Only this thread sets it, in a hold of the mutex: there is nothing to acquire.
        if (stands_.load(std::memory_order_relaxed)) [[likely]]
            return true;
        isInside_.store(false, std::memory_order_release);
        return false;
    }

    /// Leaves if this thread entered without the mutex. The thread that is inside, either way.
    bool leave() noexcept {
        if (favourite_.load(std::memory_order_relaxed) != thisThread_) return false;
        if (!isInside()) return false;
        leaveEntered();
        return true;
    }
    /// The same after an enter() that returned true.
    void leaveEntered() noexcept { isInside_.store(false, std::memory_order_release); }

    /// Whether the favourite is inside without the mutex. The thread that is inside, either way.
    bool isInside() const noexcept { return isInside_.load(std::memory_order_relaxed); }

    /// Another thread than the favourite has just taken the mutex, or the favourite will sleep.
    /// Afterwards it holds it alone. REQUIRES: it holds the mutex.
    void revoke() noexcept {
        if (stands_.load(std::memory_order_relaxed)) {
            stands_.store(false, std::memory_order_relaxed);
            ProcessBarrier::await();
            awaitLeave();
        }
        ++revocations_;
    }

    /// The same, if another thread calls than the favourite, and there is one.
    void revokeUnlessFavourite() noexcept {
        std::uint64_t const favourite = favourite_.load(std::memory_order_relaxed);
        if (favourite != kNobody && favourite != thisThread_) revoke();
    }

    /// Favours this thread if none is favoured yet. Restores the bias to the favourite, unless it
    /// was revoked since the last call: so it is revoked at most every other time. REQUIRES: this
    /// thread holds the mutex, and no thread will go on in its own hold, as one that waits for a
    /// condition does. Does nothing if the thread entered without the mutex.
    void restore() noexcept {
        if (isInside()) return;
        if (thisThread_ == kNoNumber) thisThread_ = ++last_;
        if (favourite_.load(std::memory_order_relaxed) == kNobody && ProcessBarrier::isAvailable())
            favourite_.store(thisThread_, std::memory_order_relaxed);
        if (favourite_.load(std::memory_order_relaxed) != thisThread_) return;
        if (std::exchange(revocations_, 0) == 0) stands_.store(true, std::memory_order_relaxed);
    }

    /// Whether the favourite passes without the mutex now. Any thread, for tests.
    bool stands() const noexcept { return stands_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t kNoNumber = 0;
    static constexpr std::uint64_t kNobody = UINT64_MAX;

    void awaitLeave() const noexcept {
        constexpr int kYields = 64;
        constexpr std::chrono::microseconds kNap{50};
        for (int tries = 0; isInside_.load(std::memory_order_acquire); ++tries) {
            if (tries < kYields)
                std::this_thread::yield();
            else  // the favourite may be less urgent than this thread, and wait for its core
                std::this_thread::sleep_for(kNap);
        }
    }

    // Numbers of threads. An id or an address would be used again by a later thread.
    static inline constinit std::atomic<std::uint64_t> last_{kNoNumber};
    static inline constinit thread_local std::uint64_t thisThread_ = kNoNumber;

    std::atomic<std::uint64_t> favourite_{kNobody};
    std::atomic<bool> isInside_{false};
    std::atomic<bool> stands_{false};
    std::uint32_t revocations_ = 0;  // since the last restore(); guarded by the mutex
};

}  // namespace timingwheel::inline v1::detail
