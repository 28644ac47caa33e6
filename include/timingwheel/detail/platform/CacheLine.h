#pragma once

#include <timingwheel/detail/platform/Standard.h>

#include <cstddef>

namespace timingwheel::inline v1::detail {

/// How many bytes processors move between their caches at once. A constant, because a program and
/// the library that it links must agree on sizes.
inline constexpr std::size_t kCacheLine = 64;

/// A base for what many threads read all the time. Its neighbours in memory, which others may
/// write, then lie on other cache lines.
struct alignas(kCacheLine) OnACacheLine {};

}  // namespace timingwheel::inline v1::detail
