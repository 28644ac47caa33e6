#pragma once

// Included before everything else in what ./dev bugs --generated builds: generated.py.

/// Says whether the mistake with that number is made in this process: mutant.cpp.
extern "C" bool timingwheelMutant(int number) noexcept;

namespace timingwheel_mutant {

/// The same, for functions that the compiler may call as well: it makes no mistakes.
[[gnu::always_inline]] inline constexpr bool is(int number) noexcept {
    return !__builtin_is_constant_evaluated() && timingwheelMutant(number);
}

/// A hold of a lock that is none: released as soon as it is taken, and taken before it is released.
template <class Lock>
class Without {
public:
    Without(bool applies, Lock& lock) : lock_{applies ? &lock : nullptr} {
        if (lock_ != nullptr) lock_->unlock();
    }
    Without(Without const&) = delete;
    Without& operator=(Without const&) = delete;
    ~Without() {
        if (lock_ != nullptr) lock_->lock();
    }

private:
    Lock* lock_;
};

}  // namespace timingwheel_mutant
