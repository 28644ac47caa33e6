#pragma once

#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1::kafka {

/// The time of day, in milliseconds since 1970.
inline std::int64_t nowInMilliseconds() {
    using namespace std::chrono;
    return floor<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace timingwheel::inline v1::kafka
