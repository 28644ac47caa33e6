#pragma once

#include <support/Platform.h>
#include <support/Threads.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <string>
#include <system_error>
#include <thread>

/// What /proc says of this process and its threads. Linux only: everything is 0 elsewhere. Where
/// `kHasProc` is false there may be a /proc all the same: under wine it is the host's.
namespace timingwheel::test {

/// The kernel's number of the thread with this name; 0 if there is none.
inline long findThread(std::string const& name) {
    if (!kHasProc) return 0;
    std::error_code error;
    for (auto const& task : std::filesystem::directory_iterator{"/proc/self/task", error}) {
        std::ifstream file{task.path() / "comm"};
        std::string comm;
        if (std::getline(file, comm) && comm == name)
            return std::stol(task.path().filename().string());
    }
    return 0;
}

/// A line of a thread's status, such as "SigBlk"; empty if there is none.
inline std::string threadStatus(long thread, std::string const& key) {
    if (!kHasProc) return {};
    std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/status"};
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(key + ":", 0) != 0) continue;
        auto const begin = line.find_first_not_of(" \t", key.size() + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return {};
}

/// How often the thread has gone to sleep.
inline std::uint64_t voluntarySwitches(long thread) {
    std::string const count = threadStatus(thread, "voluntary_ctxt_switches");
    return count.empty() ? 0 : std::stoull(count);
}

/// False while it runs or waits for a processor.
inline bool isAsleep(long thread) { return threadStatus(thread, "State").rfind('S', 0) == 0; }

/// Names this thread, of at most 15 bytes, and so lets others see what becomes of it.
inline void nameThisThread(std::string const& name) {
    pthread_setname_np(pthread_self(), name.c_str());
}

/// Waits until the thread with this name sleeps, or `orElse` holds. Where that cannot be seen, it
/// takes a while in which a thread usually falls asleep.
template <class OrElse>
void waitUntilAsleep(std::string const& name, OrElse&& orElse) {
    if (!kHasProc) return std::this_thread::sleep_for(std::chrono::milliseconds{50});
    waitUntil([&] {
        long const thread = findThread(name);
        return orElse() || (thread != 0 && isAsleep(thread));
    });
}
inline void waitUntilAsleep(std::string const& name) {
    waitUntilAsleep(name, [] { return false; });
}

/// Processor time of the thread in clock ticks of 10 ms.
inline std::uint64_t processorTime(long thread) {
    if (!kHasProc) return 0;
    std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string line;
    std::getline(file, line);
    auto const end = line.rfind(')');
    if (end == std::string::npos) return 0;
    // After the name: state and ten numbers, then user and system time.
    std::size_t position = end + 1;
    std::uint64_t sum = 0;
    for (int field = 3; field <= 15; ++field) {
        position = line.find(' ', position) + 1;
        if (field >= 14) sum += std::stoull(line.substr(position));
    }
    return sum;
}

/// Resident memory of this process in bytes.
inline std::int64_t residentMemory() {
    if (!kHasProc) return 0;
    std::ifstream file{"/proc/self/statm"};
    std::int64_t size = 0;
    std::int64_t resident = 0;
    file >> size >> resident;
    return resident * 4096;
}

}  // namespace timingwheel::test
