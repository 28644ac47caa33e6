#pragma once

#include <timingwheel/detail/platform/Standard.h>

/// For the seldom part of a function that is called often: inlined there, it would have that save
/// registers which only the seldom part needs.
#if defined(_MSC_VER) && !defined(__clang__)
#    define TIMINGWHEEL_NO_INLINE __declspec(noinline)
#else
#    define TIMINGWHEEL_NO_INLINE [[gnu::noinline]]
#endif
