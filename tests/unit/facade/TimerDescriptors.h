#pragma once

#if defined(__linux__)
#    include <ctime>
#    include <string>
#endif

/// Between this program and the system where that makes timer descriptors: functions of the same
/// names take the place of timerfd_create(2), timerfd_settime(2) and eventfd(2), on Linux.
namespace timingwheel::test {

/// How often a descriptor was set so far.
int descriptorSettings() noexcept;
/// How often so that it hears when the time of day is set.
int settingsThatHearOfSteps() noexcept;

/// While one lives, the system has no descriptor left for timers. (With a real limit the
/// undefined-behaviour sanitizer would have none either, and complain of exceptions.)
class NoDescriptorLeft {
public:
    NoDescriptorLeft() noexcept;
    NoDescriptorLeft(NoDescriptorLeft const&) = delete;
    NoDescriptorLeft& operator=(NoDescriptorLeft const&) = delete;
    ~NoDescriptorLeft();
};

/// While one lives, the time of day is set just before each wait for a descriptor that hears of it.
class StepBeforeEachWait {
public:
    StepBeforeEachWait() noexcept;
    StepBeforeEachWait(StepBeforeEachWait const&) = delete;
    StepBeforeEachWait& operator=(StepBeforeEachWait const&) = delete;
    ~StepBeforeEachWait();
};

#if defined(__linux__)
/// The number of a timer descriptor's clock, as the system has it.
std::string clockOf(int descriptor);
/// How many descriptors the process has that the kernel makes readable by a clock.
int descriptorsOf(clockid_t clock);
#endif

}  // namespace timingwheel::test
