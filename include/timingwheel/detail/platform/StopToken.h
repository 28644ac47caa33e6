/// TIMINGWHEEL_STOP_TOKEN: the standard library has std::stop_token.

#pragma once

#include <version>

#if defined(__cpp_lib_jthread)  // libc++ before 20 has no std::stop_token
#    include <stop_token>
#    define TIMINGWHEEL_STOP_TOKEN
#endif
