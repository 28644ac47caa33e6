#include "TimerDescriptors.h"

#include <atomic>

#if defined(__linux__)
#    include <cerrno>
#    include <filesystem>
#    include <fstream>
#    include <sstream>
#    include <sys/eventfd.h>
#    include <sys/syscall.h>
#    include <sys/timerfd.h>
#    include <unistd.h>
#endif

namespace {
std::atomic<int> settings{0};
std::atomic<int> settingsThatHear{0};
std::atomic<bool> areNoneLeft{false};
std::atomic<bool> isSetBeforeEachWait{false};
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

// glibc says that these throw nothing, and musl does not.
extern "C" int timerfd_create(int clock, int flags) noexcept(noexcept(timerfd_create(0, 0))) {
    return create(SYS_timerfd_create, clock, flags);
}
extern "C" int eventfd(unsigned value, int flags) noexcept(noexcept(eventfd(0, 0))) {
    return create(SYS_eventfd2, value, flags);
}
extern "C" int timerfd_settime(int descriptor, int flags, itimerspec const* to,
                               itimerspec* was) noexcept(noexcept(timerfd_settime(0, 0, nullptr,
                                                                                  nullptr))) {
    ++settings;
    bool const hears = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
    if (hears) ++settingsThatHear;
    long const result = syscall(SYS_timerfd_settime, descriptor, flags, to, was);
    if (result != 0 || !hears || !isSetBeforeEachWait) return static_cast<int>(result);
    errno = ECANCELED;  // it is set nevertheless
    return -1;
}
#endif

namespace timingwheel::test {

int descriptorSettings() noexcept { return settings; }
int settingsThatHearOfSteps() noexcept { return settingsThatHear; }

StepBeforeEachWait::StepBeforeEachWait() noexcept { isSetBeforeEachWait = true; }
StepBeforeEachWait::~StepBeforeEachWait() { isSetBeforeEachWait = false; }

#if defined(__linux__)
std::string clockOf(int descriptor) {
    std::ifstream const file{"/proc/self/fdinfo/" + std::to_string(descriptor)};
    std::ostringstream text;
    text << file.rdbuf();
    std::string const all = text.str();
    std::size_t const at = all.find("clockid: ");
    return at == std::string::npos ? all : all.substr(at + 9, all.find('\n', at) - at - 9);
}

int descriptorsOf(clockid_t clock) {
    int count = 0;
    for (auto const& each : std::filesystem::directory_iterator{"/proc/self/fdinfo"})
        if (clockOf(std::stoi(each.path().filename())) == std::to_string(clock)) ++count;
    return count;
}
#endif

NoDescriptorLeft::NoDescriptorLeft() noexcept { areNoneLeft = true; }
NoDescriptorLeft::~NoDescriptorLeft() { areNoneLeft = false; }

}  // namespace timingwheel::test
