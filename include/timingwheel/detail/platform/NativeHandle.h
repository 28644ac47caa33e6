/// The system's handle of a waitable object.

#pragma once

namespace timingwheel::inline v1::detail {

#if defined(_WIN32)
using NativeHandle = void*;  ///< a HANDLE
inline constexpr NativeHandle kNoHandle = nullptr;
#else
using NativeHandle = int;  ///< a file descriptor
inline constexpr NativeHandle kNoHandle = -1;
#endif

}  // namespace timingwheel::inline v1::detail
