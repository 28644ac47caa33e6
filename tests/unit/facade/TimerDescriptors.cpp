#include "TimerDescriptors.h"

#include <atomic>

#if defined(__linux__)
#    include <cerrno>
#    include <sys/eventfd.h>
#    include <sys/syscall.h>
#    include <sys/timerfd.h>
#    include <unistd.h>
#endif

namespace {
std::atomic<int> settings{0};
std::atomic<bool> areNoneLeft{false};
}  // namespace

#if defined(__linux__)
namespace {

template <class... Arguments>
int create(long call, Arguments... arguments) noexcept {
    if (!areNoneLeft) return static_cast<int>(syscall(call, arguments...));
    errno = EMFILE;
    return -1;
}

}  // namespace

extern "C" int timerfd_create(int clock, int flags) noexcept {
    return create(SYS_timerfd_create, clock, flags);
}
extern "C" int eventfd(unsigned value, int flags) noexcept {
    return create(SYS_eventfd2, value, flags);
}
extern "C" int timerfd_settime(int descriptor, int flags, itimerspec const* to,
                               itimerspec* was) noexcept {
    ++settings;
    return static_cast<int>(syscall(SYS_timerfd_settime, descriptor, flags, to, was));
}
#endif

namespace timingwheel::test {

int descriptorSettings() noexcept { return settings; }

NoDescriptorLeft::NoDescriptorLeft() noexcept { areNoneLeft = true; }
NoDescriptorLeft::~NoDescriptorLeft() { areNoneLeft = false; }

}  // namespace timingwheel::test
