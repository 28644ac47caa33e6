#pragma once

#include <cstddef>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// The bytes that processors move between their caches at once. A constant: a program and the
/// library that it links must agree about sizes.
inline constexpr std::size_t kCacheLine = 64;

/// A base for what many threads read all the time: its neighbours in memory, which others may
/// write, are on other cache lines.
struct alignas(kCacheLine) OnACacheLine {};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
