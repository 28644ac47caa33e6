#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace demo {

/// What a timer looks like at one instant. draw() draws it.
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

    /// How often a second.
    struct Rates {
        std::uint64_t scheduled = 0;
        std::uint64_t cancelled = 0;
        std::uint64_t pushedBack = 0;
        std::uint64_t cascades = 0;
        std::uint64_t runs = 0;
        std::uint64_t wakeUps = 0;
    };

    struct Lateness {
        std::chrono::nanoseconds half{};       ///< of the last second
        std::chrono::nanoseconds hundredth{};  ///< of the last second: 99 % are within it
        std::chrono::nanoseconds worst{};      ///< of all
    };

    std::chrono::nanoseconds tick{};
    std::size_t wheelSize = 0;
    std::chrono::nanoseconds elapsed{};
    std::chrono::nanoseconds duration{};
    std::uint64_t pending = 0;
    std::vector<Level> levels;     ///< the finest first
    std::vector<Expiration> next;  ///< the earliest first
    Rates rates;
    Lateness lateness;
};

}  // namespace demo
