#pragma once

#include "apps/walkthrough/Story.h"

#include <array>
#include <cstdint>

namespace walkthrough {

/// The worked example: slots on each level, both ends of a level, and a way down that misses none.
inline constexpr std::array<std::int64_t, 9> kExampleDelays{5,   19,  20,    25,     399,
                                                            400, 401, 8'000, 123'456};

inline void tellExample(Story& story) {
    for (std::int64_t const delay : kExampleDelays) story.schedule(delay);
    while (story.wake()) {
    }
}

}  // namespace walkthrough
