#pragma once

#if defined(__has_feature)
#    define TIMINGWHEEL_HAS_FEATURE(name) __has_feature(name)
#else
#    define TIMINGWHEEL_HAS_FEATURE(name) 0
#endif

namespace timingwheel::inline v1::detail {

/// A sanitizer watches who uses memory after it was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    TIMINGWHEEL_HAS_FEATURE(address_sanitizer) || TIMINGWHEEL_HAS_FEATURE(thread_sanitizer)
constexpr bool kIsMemoryWatched = true;
#else
constexpr bool kIsMemoryWatched = false;
#endif

}  // namespace timingwheel::inline v1::detail

#undef TIMINGWHEEL_HAS_FEATURE
