#include "core/base/OptionChecks.h"

#include <timingwheel/wheel/LevelGeometry.h>

#include <string>

namespace timingwheel {
inline namespace v1 {

namespace {

std::uint32_t checkedSize(std::string const& option, std::int64_t size) {
    detail::requireAtLeast(option, size, LevelGeometry::kMinWheelSize);
    detail::requireAtMost(option, size, LevelGeometry::kMaxWheelSize);
    return static_cast<std::uint32_t>(size);
}

std::vector<std::uint32_t> checkedSizes(std::int64_t wheelSize,
                                        std::span<std::int64_t const> levelSizes) {
    if (levelSizes.empty()) return {checkedSize("wheelSize", wheelSize)};
    if (levelSizes.size() > LevelGeometry::kMaxLevels)
        detail::refuseOption("levelSizes", "of " + std::to_string(levelSizes.size()) + " levels",
                             "of at most " + std::to_string(LevelGeometry::kMaxLevels));
    std::vector<std::uint32_t> sizes;
    for (std::int64_t const size : levelSizes)
        sizes.push_back(checkedSize("levelSizes[" + std::to_string(sizes.size()) + "]", size));
    return sizes;
}

}  // namespace

LevelGeometry::LevelGeometry(std::int64_t wheelSize, std::span<std::int64_t const> levelSizes)
    : sizes_{checkedSizes(wheelSize, levelSizes)} {}

}  // namespace v1
}  // namespace timingwheel
