#pragma once

#include <cstdint>
#include <set>

/// What the kernel and the allocator say of this process. Linux with glibc only.
namespace timingwheel::bench {

/// Processor time of all threads of the process so far.
std::int64_t processCpuNanoseconds();

/// Processor time of the calling thread so far.
std::int64_t threadCpuNanoseconds();

/// Bytes that malloc has handed out, its own headers included.
std::int64_t heapBytes();

/// Tidies up after the allocator, which after millions of small blocks may take seconds, and gives
/// free memory back.
void trimHeap();

/// The threads that were started since this object was made: those of the contender.
class ThreadWatch {
public:
    struct Usage {
        std::int64_t cpuNanoseconds = 0;
        /// How often they went to sleep, which is how often they were woken.
        std::int64_t wakeUps = 0;
        friend Usage operator-(Usage a, Usage b) {
            return {a.cpuNanoseconds - b.cpuNanoseconds, a.wakeUps - b.wakeUps};
        }
    };

    ThreadWatch();
    Usage usage() const;

private:
    std::set<long> const others_;
};

}  // namespace timingwheel::bench
