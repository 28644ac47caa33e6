#pragma once

#include "apps/walkthrough/Story.h"

#include <array>
#include <cstdint>

namespace walkthrough {

/// The worked example: slots on each level, both ends of a level, and a way down that misses none.
inline constexpr std::array<std::int64_t, 9> kExampleDelays{5,   19,  20,    25,     399,
                                                            400, 401, 8'000, 123'456};

/// Levels as in a clock: seconds, minutes, hours. It is 9:15:40.
inline Story::Options clockOptions() {
    return {.levelSizes = {60, 60, 24},
            .flatSlots = 60,
            .style = Times::Style::clock,
            .start = 9 * 3'600 + 15 * 60 + 40};
}

/// Until 9:15:59, 9:16:05, 9:30:00, 18:00:00, 18:30:15, and 7:00:00 on the day after tomorrow.
inline constexpr std::array<std::int64_t, 6> kClockDelays{19, 25, 860, 31'460, 33'275, 164'660};

void scheduleAll(Story& story, auto const& delays) {
    for (std::int64_t const delay : delays) story.schedule(delay);
}

}  // namespace walkthrough
