/// TIMINGWHEEL_CALENDAR_API marks what a shared calendar library exports; all else is hidden.

#pragma once

#include <timingwheel/detail/platform/Abi.h>
#include <timingwheel/detail/platform/Standard.h>

#if defined(_WIN32) && defined(TIMINGWHEEL_CALENDAR_SHARED)
#    if defined(TIMINGWHEEL_CALENDAR_BUILDING)
#        define TIMINGWHEEL_CALENDAR_API __declspec(dllexport) TIMINGWHEEL_ABI
#    else
#        define TIMINGWHEEL_CALENDAR_API __declspec(dllimport) TIMINGWHEEL_ABI
#    endif
#elif defined(__GNUC__) && !defined(_WIN32)
#    define TIMINGWHEEL_CALENDAR_API __attribute__((visibility("default"))) TIMINGWHEEL_ABI
#else
#    define TIMINGWHEEL_CALENDAR_API TIMINGWHEEL_ABI
#endif
