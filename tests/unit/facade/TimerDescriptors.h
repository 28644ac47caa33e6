#pragma once

/// Between this program and the system where that makes timer descriptors: functions of the same
/// names take the place of timerfd_create(2), timerfd_settime(2) and eventfd(2), on Linux.
namespace timingwheel::test {

/// How often a descriptor was set so far.
int descriptorSettings() noexcept;

/// While one lives, the system has no descriptor left for timers. (With a real limit the
/// undefined-behaviour sanitizer would have none either, and complain of exceptions.)
class NoDescriptorLeft {
public:
    NoDescriptorLeft() noexcept;
    NoDescriptorLeft(NoDescriptorLeft const&) = delete;
    NoDescriptorLeft& operator=(NoDescriptorLeft const&) = delete;
    ~NoDescriptorLeft();
};

}  // namespace timingwheel::test
