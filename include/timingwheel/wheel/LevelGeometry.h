#pragma once

#include <timingwheel/detail/platform/export.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace timingwheel::inline v1 {

/// How many slots each level of a wheel has, and how wide they are. A slot of a level is as wide as
/// the whole level below it.
///
/// Worked example, levels as in a clock, ticks of a second: sizes 60, 60, 24, 7.
///
///     level  size  a slot is           the level reaches
///     0      60    1: a second         60
///     1      60    60: a minute        3,600
///     2      24    3,600: an hour      86,400
///     3      7     86,400: a day       604,800
///     4      7     604,800: a week     the last size is repeated
///
/// Units          ticks
/// Complexity     O(levels)
/// Thread safety  immutable
/// Errors         std::invalid_argument for a size out of range, or too many sizes; std::bad_alloc
class TIMINGWHEEL_API LevelGeometry {
public:
    static constexpr std::int64_t kMinWheelSize = 2;
    /// A level's buckets, 32 bytes each, are made at once: 32 MiB for the largest. The bound keeps
    /// a mistyped value from exhausting the memory.
    static constexpr std::int64_t kMaxWheelSize = 1'048'576;
    /// No wheel has more levels: two slots each, over the whole range of ticks.
    static constexpr std::size_t kMaxLevels = 60;
    /// Caps a level's range, to whole slots: two ticks lie less than 2^60 apart. Of a capped level,
    /// size times granularity may not fit 64 bits.
    static constexpr std::int64_t kWidest = std::int64_t{1} << 61;

    /// The first levels have `levelSizes`, and those above as many as the last of these. Without
    /// any, all have `wheelSize`.
    explicit LevelGeometry(std::int64_t wheelSize, std::span<std::int64_t const> levelSizes = {});

    /// Slots of a level. Levels count from 0, the finest.
    std::uint32_t sizeOf(std::size_t level) const noexcept {
        return sizes_[(std::min)(level, sizes_.size() - 1)];
    }

    /// Range of a level whose slots are `granularity` wide; at most kWidest.
    std::int64_t intervalOf(std::size_t level, std::int64_t granularity) const noexcept {
        return granularity * (std::min<std::int64_t>)(sizeOf(level), kWidest / granularity);
    }

    /// The granularity of the coarsest level whose slots are at most `ticks` wide, built or not; 1
    /// when `ticks` is less than a turn of the finest.
    std::int64_t granularityWithin(std::int64_t ticks) const noexcept {
        std::int64_t granularity = 1;
        for (std::size_t level = 0; granularity <= ticks / sizeOf(level); ++level)
            granularity *= sizeOf(level);
        return granularity;
    }

private:
    std::vector<std::uint32_t> sizes_;  // of the first levels; the last is repeated
};

}  // namespace timingwheel::inline v1
