/// Refuses a compiler mode before C++20 with one error instead of hundreds.

#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#    error "timingwheel needs C++20: compile with -std=c++20, or /std:c++20"
// No file: ends the compilation, since what follows would only hide the reason.
#    include <timingwheel-needs-C++20>
#endif
