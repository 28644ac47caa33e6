/// TIMINGWHEEL_KAFKA_API marks what a shared kafka library exports; all else is hidden.

#pragma once

#include <timingwheel/detail/platform/Abi.h>
#include <timingwheel/detail/platform/Standard.h>

#if defined(_WIN32) && defined(TIMINGWHEEL_KAFKA_SHARED)
#    if defined(TIMINGWHEEL_KAFKA_BUILDING)
#        define TIMINGWHEEL_KAFKA_API __declspec(dllexport) TIMINGWHEEL_ABI
#    else
#        define TIMINGWHEEL_KAFKA_API __declspec(dllimport) TIMINGWHEEL_ABI
#    endif
#elif defined(__GNUC__) && !defined(_WIN32)
#    define TIMINGWHEEL_KAFKA_API __attribute__((visibility("default"))) TIMINGWHEEL_ABI
#else
#    define TIMINGWHEEL_KAFKA_API TIMINGWHEEL_ABI
#endif
