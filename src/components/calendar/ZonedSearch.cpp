#include "components/calendar/ZonedSearch.h"

#include "components/calendar/LocalSearch.h"

#include <algorithm>
#include <cstdint>

namespace timingwheel::inline v1::calendar {

namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

// No clocks have ever been turned by more than a day and some hours.
constexpr std::int64_t kMargin = 3 * kDay;
// A day inside the years 1 to 9999, so that neither an offset nor the zones leave them.
constexpr std::int64_t kEarliest = -719162 * kDay + kDay;
constexpr std::int64_t kLatest = 2932897 * kDay - kDay;

/// A span of the zone in plain numbers, with the offsets before and after it.
struct Stretch {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t offset;
    std::int64_t before;
    std::int64_t after;
};

std::int64_t offsetAt(TimeZone const& zone, std::int64_t instant) {
    return zone.spanAt(sys_seconds{seconds{instant}}).offset.count();
}

Stretch stretchAt(TimeZone const& zone, std::int64_t instant) {
    auto const span = zone.spanAt(sys_seconds{seconds{instant}});
    Stretch found{};
    found.begin = std::max<std::int64_t>(span.begin.time_since_epoch().count(), kEarliest);
    found.end = std::min<std::int64_t>(span.end.time_since_epoch().count(), kLatest);
    found.offset = span.offset.count();
    found.before = found.begin > kEarliest ? offsetAt(zone, found.begin - 1) : found.offset;
    found.after = found.end < kLatest ? offsetAt(zone, found.end) : found.offset;
    return found;
}

/// A local time between two that the clocks skipped at the beginning of this stretch.
bool missesOneInItsGap(CalendarFields const& fields, Stretch const& stretch) {
    if (stretch.offset <= stretch.before) {
        return false;
    }
    auto const missed = nextLocal(fields, stretch.begin + stretch.before);
    return missed && *missed < stretch.begin + stretch.offset;
}

}  // namespace

std::optional<sys_seconds> nextInZone(CalendarFields const& fields, sys_seconds after,
                                      TimeZone const& zone, CalendarPolicy policy) {
    std::int64_t const last = std::min<std::int64_t>(after.time_since_epoch().count(), kLatest);
    std::int64_t from = std::max(last + 1, kEarliest);
    while (from < kLatest) {
        Stretch const stretch = stretchAt(zone, from);
        std::int64_t low = from + stretch.offset;
        std::int64_t high = stretch.end + stretch.offset;
        if (!fields.byElapsedTime) {
            if (from == stretch.begin && policy.gap == Gap::atItsEnd &&
                missesOneInItsGap(fields, stretch)) {
                return sys_seconds{seconds{from}};
            }
            if (policy.overlap == Overlap::first) {
                low = std::max(low, stretch.begin + stretch.before);
            } else if (policy.overlap == Overlap::last) {
                high = std::min(high, stretch.end + stretch.after);
            }
        }
        auto const found = nextLocal(fields, low);
        if (found && *found < high) {
            return sys_seconds{seconds{*found - stretch.offset}};
        }
        // Nothing matches between `low` and what was found: most changes between need no look. One
        // that is near may turn the clocks back to before `low`, also behind the last match.
        if (stretch.end - from < kMargin) {
            from = stretch.end;
        } else if (found) {
            from = std::max(stretch.end, *found - stretch.offset - kMargin);
        } else {
            return {};
        }
    }
    return {};
}

}  // namespace timingwheel::inline v1::calendar
