#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace timingwheel::test {

// ---- memory ------------------------------------------------------------------------------------

/// REQUIRES: `size` is a multiple of `alignment`.
inline void* allocateAligned(std::size_t alignment, std::size_t size) noexcept {
    return std::aligned_alloc(alignment, size);
}
inline void freeAligned(void* memory) noexcept { std::free(memory); }

/// Pages that can be closed: touching them then ends the program. Null if there are none.
inline void* allocatePages(std::size_t size) noexcept {
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}
inline void freePages(void* pages, std::size_t size) noexcept { munmap(pages, size); }
inline bool openPages(void* pages, std::size_t size) noexcept {
    return mprotect(pages, size, PROT_READ | PROT_WRITE) == 0;
}
inline bool closePages(void* pages, std::size_t size) noexcept {
    return mprotect(pages, size, PROT_NONE) == 0;
}

// ---- threads -----------------------------------------------------------------------------------

/// True where /proc may tell of threads and memory. Elsewhere a test sees nothing of them.
inline constexpr bool kHasProc = true;

/// True if another thread of this process runs, or waits for a processor. It takes no memory from
/// operator new: tests let that fail.
inline bool doOthersWantToRun() {
    DIR* const tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return false;
    long const self = gettid();
    int runnable = 0;
    while (dirent const* const task = readdir(tasks)) {
        long const thread = std::strtol(task->d_name, nullptr, 10);
        if (thread == 0 || thread == self) continue;
        char text[128] = "";
        std::snprintf(text, sizeof text, "/proc/self/task/%ld/stat", thread);
        int const file = open(text, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        ssize_t const length = read(file, text, sizeof text - 1);
        close(file);
        text[std::max<ssize_t>(length, 0)] = '\0';
        // The number, the name in brackets, the state.
        char const* const name = std::strrchr(text, ')');
        if (name != nullptr && std::strncmp(name, ") R", 3) == 0) ++runnable;
    }
    closedir(tasks);
    return runnable > 0;
}

inline bool isOnlyThread() {
    std::error_code none;
    std::filesystem::directory_iterator const threads{"/proc/self/task", none};
    return std::distance(begin(threads), end(threads)) <= 1;
}

/// True if the descriptor becomes readable before so much time has passed.
inline bool isReadableWithin(int descriptor, std::chrono::milliseconds time) {
    pollfd waiting{descriptor, POLLIN, 0};
    return poll(&waiting, 1, static_cast<int>(time.count())) == 1;
}

/// Of all its threads.
inline std::chrono::milliseconds processorTimeOfProcess() {
    return std::chrono::milliseconds{std::clock() / (CLOCKS_PER_SEC / 1'000)};
}

inline std::chrono::nanoseconds processorTimeOfThisThread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::nanoseconds{time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

// ---- signals -----------------------------------------------------------------------------------

/// Where the system lets it, the calling thread goes on on the processor of that number, counted
/// modulo how many there are.
inline void runOnProcessor([[maybe_unused]] std::size_t number) noexcept {
#if defined(__linux__)
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number % std::max(1U, std::thread::hardware_concurrency()), &one);
    sched_setaffinity(0, sizeof one, &one);
#endif
}

inline constexpr bool kHasSignals = true;

inline bool areSignalsBlocked() {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    bool areBlocked = true;
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE})
        areBlocked = areBlocked && sigismember(&blocked, signal) == 1;
    return areBlocked;
}

inline void unblockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
}

// ---- processes ---------------------------------------------------------------------------------

/// For a death test: what hangs is ended by a signal, which is not the exit that is expected.
inline void endInTheEnd() { alarm(120); }

[[noreturn]] inline void pauseForEver() {
    for (;;) pause();
}

}  // namespace timingwheel::test
