#pragma once

#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {

/// How many slots each level of a wheel has, and how wide they are. All levels have `wheelSize`.
///
/// Units          ticks
/// Complexity     O(levels)
/// Thread safety  immutable
/// Errors         std::invalid_argument for a size out of range
class TIMINGWHEEL_API LevelGeometry {
public:
    static constexpr std::int64_t kMinWheelSize = 2;
    /// A level's buckets, 64 bytes each, are made at once: 64 MiB for the largest. The bound keeps
    /// a mistyped value from exhausting the memory.
    static constexpr std::int64_t kMaxWheelSize = 1'048'576;
    /// No wheel has more levels: two slots each, over the whole range of ticks.
    static constexpr std::size_t kMaxLevels = 60;
    /// Caps a level's range: two ticks lie less than 2^60 apart. Of a capped level, size times
    /// granularity may not fit 64 bits.
    static constexpr std::int64_t kWidest = std::int64_t{1} << 61;

    explicit LevelGeometry(std::int64_t wheelSize);

    /// Slots of a level. Levels count from 0, the finest.
    std::uint32_t sizeOf(std::size_t /*level*/) const noexcept { return wheelSize_; }

    /// Range of a level whose slots are `granularity` wide; at most kWidest.
    std::int64_t intervalOf(std::size_t level, std::int64_t granularity) const noexcept {
        std::int64_t const size = sizeOf(level);
        return granularity > kWidest / size ? kWidest : granularity * size;
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
    std::uint32_t wheelSize_;
};

}  // namespace v1
}  // namespace timingwheel
