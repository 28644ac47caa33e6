#pragma once

#include <timingwheel/detail/platform/export.h>

namespace timingwheel::inline v1::detail {

/// Frees the blocks of nodes that the calling thread keeps for its next timeouts. It does so itself
/// when it ends, so this is for a test that counts what was allocated.
TIMINGWHEEL_API void freeKeptNodes() noexcept;

}  // namespace timingwheel::inline v1::detail
