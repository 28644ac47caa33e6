#include "VirtualTime.h"

#include <ctime>
#include <dlfcn.h>
#include <sys/epoll.h>

namespace timingwheel::bench {
namespace {

// A loop should not meet a clock near zero, nor one that is older than the kernel.
constexpr std::int64_t kStart = 1'000'000'000;

bool isOn = false;
std::int64_t milliseconds = kStart;

template <class Function>
Function* next(char const* name) noexcept {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int readRealClock(clockid_t clock, timespec* time) noexcept {
    static auto* const read = next<int(clockid_t, timespec*)>("clock_gettime");
    return read(clock, time);
}

/// No events, after as much time as was to be waited.
int pass(int timeout) noexcept {
    if (timeout > 0) milliseconds += timeout;
    return 0;
}

}  // namespace

VirtualTime::VirtualTime() noexcept {
    milliseconds = kStart;
    isOn = true;
}

VirtualTime::~VirtualTime() { isOn = false; }

std::int64_t VirtualTime::now() const noexcept { return milliseconds - kStart; }

void VirtualTime::moveTo(std::int64_t now) noexcept { milliseconds = kStart + now; }

std::chrono::nanoseconds realTime() noexcept {
    timespec time{};
    readRealClock(CLOCK_MONOTONIC, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace timingwheel::bench

using namespace timingwheel::bench;

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    if (!isOn) return readRealClock(clock, time);
    *time = {milliseconds / 1'000, milliseconds % 1'000 * 1'000'000};
    return 0;
}

extern "C" int epoll_wait(int file, epoll_event* events, int most, int timeout) {
    static auto* const wait = next<int(int, epoll_event*, int, int)>("epoll_wait");
    return isOn ? pass(timeout) : wait(file, events, most, timeout);
}

extern "C" int epoll_pwait(int file, epoll_event* events, int most, int timeout,
                           sigset_t const* mask) {
    using Wait = int(int, epoll_event*, int, int, sigset_t const*);
    static auto* const wait = next<Wait>("epoll_pwait");
    return isOn ? pass(timeout) : wait(file, events, most, timeout, mask);
}
