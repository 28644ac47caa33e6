/// TIMINGWHEEL_API marks what a shared timingwheel library exports; all else is hidden.

#pragma once

#include <timingwheel/detail/platform/Standard.h>

#if defined(_WIN32) && defined(TIMINGWHEEL_SHARED)
#    if defined(TIMINGWHEEL_BUILDING)
#        define TIMINGWHEEL_API __declspec(dllexport)
#    else
#        define TIMINGWHEEL_API __declspec(dllimport)
#    endif
#elif defined(__GNUC__) && !defined(_WIN32)
#    define TIMINGWHEEL_API __attribute__((visibility("default")))
#else
#    define TIMINGWHEEL_API
#endif
