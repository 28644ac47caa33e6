#pragma once

#include "core/driver/lock/Bias.h"
#include "core/driver/lock/Mutex.h"
#include "core/driver/lock/Signal.h"

#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The lock of a keeper: a mutex, a mutex that is biased towards one thread, or none.
///
/// Thread safety  any number of threads, unless the kind is none
class Lock {
public:
    enum class Kind : unsigned char {
        none,    ///< one thread at a time uses the timer: its user sees to that
        mutex,   ///< threads of any kind
        biased,  ///< the same, and one of them comes more often than the others
    };

    explicit Lock(Kind kind) noexcept : kind_{kind} {}

    void lock() noexcept {
        if (kind_ == Kind::none) return;
        if (kind_ == Kind::mutex)
            mutex_.lock();
        else
            lockBiased();
    }
    void unlock() noexcept {
        if (kind_ == Kind::none) return;
        if (kind_ == Kind::mutex)
            mutex_.unlock();
        else
            unlockBiased();
    }
    /// True if this thread's unlock() still uses the lock when others may have it.
    /// REQUIRES: this thread has locked it.
    bool isUsedWhenFree() const noexcept { return kind_ != Kind::none && !bias_.isInside(); }

    /// Waits until `condition`. The thread that makes it true notifies `signal`.
    /// REQUIRES: this thread has locked it. If the kind is none, the condition is true.
    template <class Condition>
    void wait(Signal& signal, Condition&& condition) {
        // A thread that notifies takes the mutex, even the favoured one.
        if (kind_ == Kind::biased) holdMutex();
        ++waiting_;
        ++signal.waiters;
        while (!condition()) {
            std::uint64_t const times = signal.times();
            mutex_.unlock();
            signal.await(times);
            mutex_.lock();
        }
        --signal.waiters;
        --waiting_;
    }

    /// Favours the calling thread, if that is the first one to call this, and if nobody waits for a
    /// signal, since that thread goes on in its own hold. REQUIRES: this thread has locked it, and
    /// the kind is biased.
    void favourThisThread() noexcept {
        if (waiting_ == 0) bias_.restore();
    }
    /// Any thread, for tests.
    bool isBiased() const noexcept { return bias_.stands(); }

private:
    // Out of line, so that the other kinds carry none of it.
    void lockBiased() noexcept;
    void unlockBiased() noexcept;
    void holdMutex() noexcept;

    Mutex mutex_;
    Kind const kind_;
    std::uint32_t waiting_ = 0;
    Bias bias_;
};

}  // namespace timingwheel::inline v1::detail
