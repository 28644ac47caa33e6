/// TIMINGWHEEL_API marks what a shared timingwheel library exports; all else is hidden.

#pragma once

#include <timingwheel/detail/platform/Abi.h>
#include <timingwheel/detail/platform/Standard.h>

#if defined(_WIN32) && defined(TIMINGWHEEL_SHARED)
#    if defined(TIMINGWHEEL_BUILDING)
#        define TIMINGWHEEL_API __declspec(dllexport) TIMINGWHEEL_ABI
#    else
#        define TIMINGWHEEL_API __declspec(dllimport) TIMINGWHEEL_ABI
#    endif
#elif defined(__GNUC__) && !defined(_WIN32)
#    define TIMINGWHEEL_API __attribute__((visibility("default"))) TIMINGWHEEL_ABI
#else
#    define TIMINGWHEEL_API TIMINGWHEEL_ABI
#endif

// Headers name these before they define them. A class's first declaration has its attributes.
namespace timingwheel::inline v1 {
class TIMINGWHEEL_API ClockListener;
class TIMINGWHEEL_API StoppedTimeouts;
class TIMINGWHEEL_API Timeout;
class TIMINGWHEEL_API Timer;
class TIMINGWHEEL_API TimerHookBase;
class TIMINGWHEEL_API TimerObserver;
class TIMINGWHEEL_API TimerTask;
}  // namespace timingwheel::inline v1
