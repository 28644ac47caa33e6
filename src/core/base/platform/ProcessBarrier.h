#pragma once

#include <cstdlib>

#if defined(_WIN32)
#    include "core/base/platform/Windows.h"
#elif defined(__linux__)
#    include <sys/syscall.h>
#    include <unistd.h>
#endif

namespace timingwheel::inline v1::detail {

/// A memory barrier in every thread of the process that runs, paid by the caller alone: the others
/// need none of their own. What a thread wrote before it, all see after it.
///
/// Source         membarrier(2) with MEMBARRIER_CMD_PRIVATE_EXPEDITED, from Linux 4.14 on;
///                FlushProcessWriteBuffers in Windows. Other systems have none
class ProcessBarrier {
public:
    /// True if the system has it. Asks once.
    static bool isAvailable() noexcept {
        static bool const isAvailable = announce();
        return isAvailable;
    }

    /// REQUIRES: isAvailable().
    static void await() noexcept {
#if defined(_WIN32)
        FlushProcessWriteBuffers();
#elif defined(SYS_membarrier)
        // If the system has forgotten the announcement, repeat it; the slow kind needs none. If a
        // sandbox forbids it by now, nothing else would keep threads apart.
        if (call(kPrivateExpedited) != 0 && (!announce() || call(kPrivateExpedited) != 0) &&
            call(kGlobal) != 0)
            std::abort();
#endif
    }

private:
#if defined(_WIN32)
    static bool announce() noexcept { return true; }
#elif defined(SYS_membarrier)
    // As in linux/membarrier.h, which older systems do not have.
    static constexpr int kGlobal = 1;
    static constexpr int kPrivateExpedited = 8;
    static constexpr int kRegisterPrivateExpedited = 16;

    static long call(int command) noexcept { return syscall(SYS_membarrier, command, 0); }
    static bool announce() noexcept { return call(kRegisterPrivateExpedited) == 0; }
#else
    static bool announce() noexcept { return false; }
#endif
};

}  // namespace timingwheel::inline v1::detail
