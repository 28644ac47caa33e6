#pragma once

#include "apps/walkthrough/Story.h"

#include <array>
#include <cstdint>
#include <vector>

namespace walkthrough {

/// The worked example: slots on each level, both ends of a level, and a way down that misses none.
inline constexpr std::array<std::int64_t, 9> kExampleDelays{5,   19,  20,    25,     399,
                                                            400, 401, 8'000, 123'456};

/// Levels as in a clock: seconds, minutes, hours. It is 9:15:40.
inline std::vector<std::int64_t> const kClockSizes{60, 60, 24};
inline constexpr std::int64_t kClockStart = 9 * 3'600 + 15 * 60 + 40;

/// Until 9:15:59, 9:16:05, 9:30:00, 18:00:00, 18:30:15, and 7:00:00 on the day after tomorrow.
inline std::vector<std::int64_t> clockDelays() {
    std::vector<std::int64_t> delays;
    for (std::int64_t const time : {33'359, 33'365, 34'200, 64'800, 66'615, 2 * 86'400 + 25'200})
        delays.push_back(time - kClockStart);
    return delays;
}

inline Story::Options clockOptions() {
    return {.levelSizes = kClockSizes,
            .flatSlots = 60,
            .times = Times::Style::clock,
            .start = kClockStart};
}

inline void tellClock(Story& story) {
    for (std::int64_t const delay : clockDelays()) story.schedule(delay);
    while (story.wake()) {
    }
}

inline void tellExample(Story& story) {
    for (std::int64_t const delay : kExampleDelays) story.schedule(delay);
    while (story.wake()) {
    }
}

}  // namespace walkthrough
