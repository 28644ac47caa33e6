/// TIMINGWHEEL_DELETED("reason") deletes a function, and says why where the compiler can (C++26).

#pragma once

#if defined(__cpp_deleted_function)
#    define TIMINGWHEEL_DELETED(reason) = delete (reason)
#else
#    define TIMINGWHEEL_DELETED(reason) = delete
#endif
