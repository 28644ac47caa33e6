#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace demo {

/// The deadline nearest to `wanted` ticks after a timer's start whose way down skips no level.
///
/// A task goes to the level of its deadline's leading digit, written to the base of the wheel's
/// size. When its bucket expires that digit is used up, and the task goes to the level of the next
/// digit that is not zero. So no digit may be zero: with 20 slots, 8,500 ticks are the digits 1, 1,
/// 5, 0, which end on level 1, where 8,499 (1, 1, 4, 19) take levels 3, 2, 1 and 0.
inline std::int64_t deadlineThroughAllLevels(std::int64_t wanted, std::int64_t wheelSize) {
    std::vector<std::int64_t> digits;  // the last one first
    for (std::int64_t rest = std::max<std::int64_t>(wanted, 1); rest > 0; rest /= wheelSize)
        digits.push_back(rest % wheelSize);
    auto const valueOf = [wheelSize](std::vector<std::int64_t> const& number) {
        std::int64_t value = 0;
        for (std::size_t i = number.size(); i-- > 0;) value = value * wheelSize + number[i];
        return value;
    };
    std::size_t zero = digits.size();  // the leading one
    while (zero > 0 && digits[zero - 1] != 0) --zero;
    if (zero == 0) return valueOf(digits);

    // Up: the least digits from there on. Down: the greatest, and one less before them.
    std::vector<std::int64_t> up = digits;
    std::fill_n(up.begin(), zero, 1);
    std::vector<std::int64_t> down = digits;
    std::size_t before = zero;
    while (before + 1 < down.size() && down[before] == 1) ++before;
    --down[before];
    std::fill_n(down.begin(), before, wheelSize - 1);

    std::int64_t const above = valueOf(up);
    std::int64_t const below = valueOf(down);
    return above - wanted < wanted - below ? above : below;
}

}  // namespace demo
