#pragma once

#include <timingwheel/store/DurableTimer.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::store {

/// Of a row. Never used twice: AUTOINCREMENT.
using Key = std::int64_t;
using Keys = std::vector<Key>;

/// Where a row is in the order of deadlines and keys.
using Place = std::pair<std::int64_t, Key>;

/// A row of the table.
struct Row {
    Key key;
    std::int64_t deadline;
    std::string id;
    std::string payload;

    std::size_t bytes() const { return id.size() + payload.size(); }
    Place place() const { return {deadline, key}; }
};

using SharedRow = std::shared_ptr<Row const>;

struct Amount {
    std::size_t rows = 0;
    std::size_t bytes = 0;
};

/// Far times saturate: the file may hold what the clock cannot say.
inline DurableTimer::TimePoint fromFile(std::int64_t time) {
    using std::chrono::milliseconds;
    using Length = DurableTimer::TimePoint::duration;
    constexpr std::int64_t kLast = std::chrono::floor<milliseconds>(Length::max()).count();
    constexpr std::int64_t kFirst = std::chrono::ceil<milliseconds>(Length::min()).count();
    return DurableTimer::TimePoint{milliseconds{std::clamp(time, kFirst, kLast)}};
}

}  // namespace timingwheel::inline v1::store
