#pragma once

/// What tests need of the system, with one side for POSIX and one for Windows. What a system does
/// not have is a constant. A test that cannot do without it skips itself, and whole files are left
/// out by tests/CMakeLists.txt.
#if defined(_WIN32)
#    include <support/platform/Windows.h>
#else
#    include <support/platform/Posix.h>
#endif
