#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace demo {

/// A deadline near `wanted` ticks after a timer's start whose way down touches every level.
///
/// A task goes to the level of its deadline's leading digit, written to the base of the wheel's
/// size. When its bucket expires that digit is used up, and the task goes to the level of the next
/// digit that is not zero. So no digit may be zero: with 20 slots, 8,500 ticks are the digits 1, 1,
/// 5, 0, which end on level 1, where 8,506 (1, 1, 5, 6) take levels 3, 2, 1 and 0. The last digit is
/// at least a third of a level, for the last step to be seen.
inline std::int64_t deadlineThroughAllLevels(std::int64_t wanted, std::int64_t wheelSize) {
    std::vector<std::int64_t> digits;
    for (std::int64_t rest = std::max<std::int64_t>(wanted, 1); rest > 0; rest /= wheelSize)
        digits.push_back(rest % wheelSize);
    std::int64_t deadline = 0;
    for (std::size_t level = digits.size(); level-- > 0;) {
        bool const isLast = level == 0 && digits.size() > 1;
        std::int64_t const least = isLast ? std::max<std::int64_t>(wheelSize / 3, 1) : 1;
        deadline = deadline * wheelSize + std::max(digits[level], least);
    }
    return deadline;
}

}  // namespace demo
