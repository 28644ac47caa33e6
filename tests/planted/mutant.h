#pragma once

#include <mutex>

// Included before everything else in what ./dev bugs --generated builds: generated.py.

/// Says whether the mistake with that number is made in this process: mutant.cpp.
extern "C" bool timingwheelMutant(int number) noexcept;

/// Has this thread take no keeper's locks (1), or take them again (-1). True if it takes none.
extern "C" bool timingwheelSkipLocks(int more) noexcept;

namespace timingwheel_mutant {

/// The same, for functions that the compiler may call as well: it makes no mistakes.
[[gnu::always_inline]] inline constexpr bool is(int number) noexcept {
    return !__builtin_is_constant_evaluated() && timingwheelMutant(number);
}

/// A lock_guard that does not take the lock if the mistake applies.
template <class Lock>
class Guard {
public:
    Guard(bool isLeftOut, Lock& lock) : lock_{isLeftOut ? nullptr : &lock} {
        if (lock_ != nullptr) lock_->lock();
    }
    Guard(Guard const&) = delete;
    Guard& operator=(Guard const&) = delete;
    ~Guard() {
        if (lock_ != nullptr) lock_->unlock();
    }

private:
    Lock* lock_;
};

/// A unique_lock that has not taken the lock if the mistake applies.
template <class Lock>
std::unique_lock<Lock> held(bool isLeftOut, Lock& lock) {
    if (isLeftOut) return std::unique_lock<Lock>{lock, std::defer_lock};
    return std::unique_lock<Lock>{lock};
}

/// While one lives, this thread takes no keeper's lock if the mistake applies.
class WithoutHold {
public:
    explicit WithoutHold(bool applies) noexcept : applies_{applies} {
        if (applies_) timingwheelSkipLocks(1);
    }
    WithoutHold(WithoutHold const&) = delete;
    WithoutHold& operator=(WithoutHold const&) = delete;
    ~WithoutHold() {
        if (applies_) timingwheelSkipLocks(-1);
    }

private:
    bool applies_;
};

}  // namespace timingwheel_mutant
