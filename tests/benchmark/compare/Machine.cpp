#include "Machine.h"

#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <string>
#include <sys/resource.h>
#include <time.h>

namespace timingwheel::compare {
namespace {

std::set<long> threads() {
    std::set<long> numbers;
    for (auto const& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        numbers.insert(std::stol(task.path().filename()));
    }
    return numbers;
}

std::int64_t nanoseconds(timeval time) {
    return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1'000LL;
}

std::int64_t voluntarySwitches(std::string const& folder) {
    std::ifstream file{folder + "/status"};
    std::string const key = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
    }
    return 0;
}

}  // namespace

std::int64_t processCpuNanoseconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

std::int64_t threadCpuNanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

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
        std::string const folder = "/proc/self/task/" + std::to_string(thread);
        // The first number: nanoseconds on a processor, finer than the clock ticks of `stat`.
        std::int64_t nanoseconds = 0;
        std::ifstream{folder + "/schedstat"} >> nanoseconds;
        sum.cpuNanoseconds += nanoseconds;
        sum.wakeUps += voluntarySwitches(folder);
    }
    return sum;
}

}  // namespace timingwheel::compare
