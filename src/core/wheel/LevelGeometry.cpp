#include "core/base/OptionChecks.h"

#include <timingwheel/wheel/LevelGeometry.h>

#include <string>

namespace timingwheel::inline v1 {

LevelGeometry::LevelGeometry(std::int64_t wheelSize, std::span<std::int64_t const> levelSizes) {
    if (levelSizes.size() > kMaxLevels)
        detail::refuseOption("levelSizes", "of " + std::to_string(levelSizes.size()) + " levels",
                             "of at most " + std::to_string(kMaxLevels));
    auto const add = [&](std::string const& option, std::int64_t size) {
        detail::requireAtLeast(option, size, kMinWheelSize);
        detail::requireAtMost(option, size, kMaxWheelSize);
        sizes_.push_back(static_cast<std::uint32_t>(size));
    };
    for (std::int64_t const size : levelSizes)
        add("levelSizes[" + std::to_string(sizes_.size()) + "]", size);
    if (levelSizes.empty()) add("wheelSize", wheelSize);
}

}  // namespace timingwheel::inline v1
