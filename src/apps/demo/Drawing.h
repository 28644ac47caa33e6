#pragma once

#include "apps/demo/Options.h"
#include "apps/terminal/Terminal.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace demo {

/// What a timer looks like at one instant.
struct Picture {
    struct Slot {
        std::size_t slot = 0;
        std::size_t timeouts = 0;
    };
    struct Level {
        std::chrono::nanoseconds granularity{};
        std::size_t hand = 0;     ///< the slot in which the clock stands
        std::size_t fullest = 0;  ///< how many timeouts a bar of full height means
        std::vector<Slot> armed;  ///< those whose bucket is in the delay heap
    };
    struct Expiration {
        std::size_t level = 0;
        std::size_t slot = 0;
        std::chrono::nanoseconds in{};
        std::size_t timeouts = 0;
    };

    std::chrono::nanoseconds tick{};
    std::size_t wheelSize = 0;
    std::chrono::nanoseconds elapsed{};
    std::chrono::nanoseconds duration{};
    std::uint64_t pending = 0;
    std::vector<Level> levels;                                 ///< the finest first
    std::vector<Expiration> next;                              ///< the earliest first
    std::vector<std::pair<std::string, std::uint64_t>> rates;  ///< how often a second
    std::string lateness;
};

/// Draws a picture in lines that fit the size, with only what the terminal can show.
///
/// The levels are stacked, the finest at the bottom: timeouts fall. A slot is a bar as high as its
/// bucket is full; a cell of several slots shows the fullest. With few rows the bars become lower,
/// then the coarsest levels are left out.
std::vector<std::string> draw(Picture const& picture, Terminal::Size size,
                              Terminal::Abilities abilities);

}  // namespace demo
