#include "base/OptionChecks.h"

#include <timingwheel/wheel/LevelGeometry.h>

#include <string>

namespace timingwheel {
inline namespace v1 {

namespace {

std::uint32_t checkedWheelSize(std::int64_t wheelSize) {
    if (wheelSize < LevelGeometry::kMinWheelSize)
        detail::refuseOption("wheelSize", std::to_string(wheelSize),
                             "at least " + std::to_string(LevelGeometry::kMinWheelSize));
    if (wheelSize > LevelGeometry::kMaxWheelSize)
        detail::refuseOption("wheelSize", std::to_string(wheelSize),
                             "at most " + std::to_string(LevelGeometry::kMaxWheelSize));
    return static_cast<std::uint32_t>(wheelSize);
}

}  // namespace

LevelGeometry::LevelGeometry(std::int64_t wheelSize) : wheelSize_{checkedWheelSize(wheelSize)} {}

}  // namespace v1
}  // namespace timingwheel
