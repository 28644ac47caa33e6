#pragma once

#include <chrono>
#include <cstdint>

namespace timingwheel::bench {

/// Time for event loops, which read the clock themselves: while one of these lives, clock_gettime
/// tells a time that is set by hand, and waiting for events returns at once, the time moved on by
/// as long as the loop wanted to wait. So a library is measured as it was built, but neither asks
/// the kernel for events nor sleeps.
///
/// The functions are replaced by those of the same name in the program, for all shared libraries.
class VirtualTime {
public:
    VirtualTime() noexcept;
    ~VirtualTime();
    VirtualTime(VirtualTime const&) = delete;
    VirtualTime& operator=(VirtualTime const&) = delete;

    /// Milliseconds since the object was made.
    std::int64_t now() const noexcept;
    void moveTo(std::int64_t now) noexcept;
};

/// The clock that is not virtual.
std::chrono::nanoseconds realTime() noexcept;

}  // namespace timingwheel::bench
