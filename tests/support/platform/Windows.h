#pragma once

#include "core/base/platform/Windows.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <thread>

namespace timingwheel::test {

// ---- memory ------------------------------------------------------------------------------------

inline void* allocateAligned(std::size_t alignment, std::size_t size) noexcept {
    return _aligned_malloc(size, alignment);
}
inline void freeAligned(void* memory) noexcept { _aligned_free(memory); }

inline void* allocatePages(std::size_t size) noexcept {
    return VirtualAlloc(nullptr, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
}
inline void runOnProcessor(std::size_t number) noexcept {
    SetThreadAffinityMask(
        GetCurrentThread(),
        DWORD_PTR{1} << number % std::max(1U, std::thread::hardware_concurrency()));
}

inline void freePages(void* pages, std::size_t) noexcept { VirtualFree(pages, 0, MEM_RELEASE); }
inline bool openPages(void* pages, std::size_t size) noexcept {
    DWORD before = 0;
    return VirtualProtect(pages, size, PAGE_READWRITE, &before) != FALSE;
}
inline bool closePages(void* pages, std::size_t size) noexcept {
    DWORD before = 0;
    return VirtualProtect(pages, size, PAGE_NOACCESS, &before) != FALSE;
}

// ---- threads -----------------------------------------------------------------------------------

inline constexpr bool kHasProc = false;

/// Unknown: so a watchdog counts all time as time asleep.
inline bool doOthersWantToRun() { return false; }

/// Unknown: so whoever waits for the others waits until the end of its time.
inline bool isOnlyThread() { return false; }

inline bool isReadableWithin(HANDLE handle, std::chrono::milliseconds time) {
    return WaitForSingleObject(handle, static_cast<DWORD>(time.count())) == WAIT_OBJECT_0;
}

inline std::chrono::nanoseconds durationOf(FILETIME time) {
    std::uint64_t const units = std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime;
    return std::chrono::nanoseconds{units * 100};
}

inline std::chrono::milliseconds processorTimeOfProcess() {
    FILETIME unused;
    FILETIME system;
    FILETIME user;
    GetProcessTimes(GetCurrentProcess(), &unused, &unused, &system, &user);
    return std::chrono::floor<std::chrono::milliseconds>(durationOf(system) + durationOf(user));
}

inline std::chrono::nanoseconds processorTimeOfThisThread() {
    FILETIME unused;
    FILETIME system;
    FILETIME user;
    GetThreadTimes(GetCurrentThread(), &unused, &unused, &system, &user);
    return durationOf(system) + durationOf(user);
}

// ---- signals -----------------------------------------------------------------------------------

inline constexpr bool kHasSignals = false;
inline bool areSignalsBlocked() { return false; }
inline void unblockSignals() {}

// ---- processes ---------------------------------------------------------------------------------

/// For a death test: what hangs is ended, with a status that is not the one that is expected.
inline void endInTheEnd() {
    auto const end = [](void*, BOOLEAN) { TerminateProcess(GetCurrentProcess(), 99); };
    static HANDLE timer;
    CreateTimerQueueTimer(&timer, nullptr, end, nullptr, 120'000, 0, WT_EXECUTEONLYONCE);
}

[[noreturn]] inline void pauseForEver() {
    for (;;) ::Sleep(INFINITE);
}

}  // namespace timingwheel::test
