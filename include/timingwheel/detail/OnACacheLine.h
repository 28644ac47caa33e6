#pragma once

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A base of what many threads read all the time: neighbours in memory, which may be written, are
/// on other cache lines.
struct alignas(64) OnACacheLine {};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
