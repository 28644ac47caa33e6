/// The library's version: the one place where it is written. The build and the Conan recipe read
/// the first three lines.

#pragma once

#define TIMINGWHEEL_VERSION_MAJOR 0
#define TIMINGWHEEL_VERSION_MINOR 1
#define TIMINGWHEEL_VERSION_PATCH 0

/// As one number, to compare: `#if TIMINGWHEEL_VERSION >= 200` asks for 0.2.0.
#define TIMINGWHEEL_VERSION                                                \
    (TIMINGWHEEL_VERSION_MAJOR * 10000 + TIMINGWHEEL_VERSION_MINOR * 100 + \
     TIMINGWHEEL_VERSION_PATCH)

/// "0.1.0".
#define TIMINGWHEEL_VERSION_STRING                                                  \
    TIMINGWHEEL_STRING_OF(TIMINGWHEEL_VERSION_MAJOR)                                \
    "." TIMINGWHEEL_STRING_OF(TIMINGWHEEL_VERSION_MINOR) "." TIMINGWHEEL_STRING_OF( \
        TIMINGWHEEL_VERSION_PATCH)
#define TIMINGWHEEL_STRING_OF(number) TIMINGWHEEL_STRING_OF_TEXT(number)
#define TIMINGWHEEL_STRING_OF_TEXT(text) #text
