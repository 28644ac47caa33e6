#pragma once

// <windows.h>, without the macros that take names of ours.
#if !defined(NOMINMAX)
#    define NOMINMAX
#endif
#if !defined(WIN32_LEAN_AND_MEAN)
#    define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#undef far
#undef near
