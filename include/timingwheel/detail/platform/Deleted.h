/// TIMINGWHEEL_DELETED("reason") deletes a function, and says why in C++26. In earlier modes
/// compilers warn of the reason.

#pragma once

#if defined(__cpp_deleted_function) && __cplusplus > 202302L
#    define TIMINGWHEEL_DELETED(reason) = delete (reason)
#else
#    define TIMINGWHEEL_DELETED(reason) = delete
#endif
