/// TIMINGWHEEL_ABI marks what is compiled once, where the standard library's containers, strings or
/// functions have another layout than usual. It becomes part of each class's name for the linker. A
/// program and a library of different layouts then do not link, and the error says why. Visual C++
/// sees to that itself.

#pragma once

#include <version>

#if defined(_LIBCPP_VERSION) && !defined(_MSC_VER)
#    define TIMINGWHEEL_ABI __attribute__((abi_tag("needs_a_library_built_with_libcxx")))
#elif defined(_GLIBCXX_DEBUG) && !_GLIBCXX_USE_CXX11_ABI
#    define TIMINGWHEEL_ABI \
        __attribute__((     \
            abi_tag("needs_a_library_built_with_GLIBCXX_DEBUG_and_GLIBCXX_USE_CXX11_ABI_0")))
#elif defined(_GLIBCXX_DEBUG)
#    define TIMINGWHEEL_ABI __attribute__((abi_tag("needs_a_library_built_with_GLIBCXX_DEBUG")))
#elif defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI
#    define TIMINGWHEEL_ABI \
        __attribute__((abi_tag("needs_a_library_built_with_GLIBCXX_USE_CXX11_ABI_0")))
#else
#    define TIMINGWHEEL_ABI
#endif
