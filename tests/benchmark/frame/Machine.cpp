#include "Machine.h"

#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <string>
#include <time.h>

namespace timingwheel::bench {
namespace {

std::set<long> threads() {
    std::set<long> numbers;
    for (auto const& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        numbers.insert(std::stol(task.path().filename()));
    }
    return numbers;
}

std::int64_t voluntarySwitches(std::string const& folder) {
    std::ifstream file{folder + "/status"};
    std::string const key = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
    }
    return 0;
}

std::int64_t nanosecondsOf(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

/// Processor time of a thread by its number; 0 if it has ended. Linux makes the clock's number of
/// the thread's: see clock_getcpuclockid(3). Unlike /proc's `schedstat` every kernel has it.
std::int64_t cpuNanosecondsOf(long thread) {
    constexpr unsigned kOfOneThread = 4;
    constexpr unsigned kScheduled = 2;
    unsigned const number = ~static_cast<unsigned>(thread) << 3 | kOfOneThread | kScheduled;
    return nanosecondsOf(static_cast<clockid_t>(number));
}

}  // namespace

std::int64_t processCpuNanoseconds() { return nanosecondsOf(CLOCK_PROCESS_CPUTIME_ID); }

std::int64_t threadCpuNanoseconds() { return nanosecondsOf(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t heapBytes() {
    struct mallinfo2 const info = mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

void trimHeap() { malloc_trim(0); }

ThreadWatch::ThreadWatch() : others_{threads()} {}

ThreadWatch::Usage ThreadWatch::usage() const {
    Usage sum;
    for (long const thread : threads()) {
        if (others_.contains(thread)) continue;
        sum.cpuNanoseconds += cpuNanosecondsOf(thread);
        sum.wakeUps += voluntarySwitches("/proc/self/task/" + std::to_string(thread));
    }
    return sum;
}

}  // namespace timingwheel::bench
