#pragma once

#include "components/kafka/daemon/Record.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// When and where to, of a timer.
struct Due {
    std::int64_t at;  // milliseconds since 1970
    std::string_view to;
};

/// What a partition has pending by the records of its state, given in their order: the last of an
/// id counts, and a tombstone ends it.
///
/// Memory  about 100 bytes for each timer, and its id if that is longer than 15 bytes; no keys,
///         headers or values
class Snapshot {
public:
    void take(Record const& record);

    std::size_t size() const noexcept { return timers_.size(); }
    /// Records that no worker has written.
    std::size_t foreign() const noexcept { return foreign_; }
    void visit(std::function<void(std::string_view id, Due due)> const& visitor) const;

private:
    struct Timer {
        std::int64_t at;
        std::string const* to;  // one of topics_
    };

    std::unordered_map<std::string, Timer> timers_;
    std::unordered_set<std::string> topics_;
    std::size_t foreign_ = 0;
};

/// The timers of a list: the earliest of those that are added, at most `limit`.
class Earliest {
public:
    struct Timer {
        std::int64_t at;
        std::string id;
        std::string to;

        friend auto operator<=>(Timer const&, Timer const&) = default;
    };

    /// REQUIRES: 1 or more.
    explicit Earliest(std::size_t limit) : limit_{limit} {}

    void add(std::string_view id, Due due);

    /// All that were added.
    std::size_t count() const noexcept { return count_; }
    /// The earliest first; of the same time in the order of their ids.
    std::vector<Timer> timers() const;

private:
    std::size_t limit_;
    std::size_t count_ = 0;
    std::vector<Timer> heap_;  // the latest in front
};

/// How many timers are due, and when.
struct Forecast {
    struct Row {
        char const* when;
        std::int64_t within;  // ms from now; the row begins behind the one before
        std::size_t timers = 0;
    };
    static constexpr std::int64_t kLater = std::numeric_limits<std::int64_t>::max();

    std::int64_t now;
    std::array<Row, 7> rows{{{"overdue", 0},
                             {"within a minute", 60'000},
                             {"within an hour", 3'600'000},
                             {"within a day", 86'400'000},
                             {"within a week", 7 * std::int64_t{86'400'000}},
                             {"within 30 days", 30 * std::int64_t{86'400'000}},
                             {"later", kLater}}};
    std::optional<std::int64_t> farthest = {};

    void add(std::int64_t at) noexcept;
};

}  // namespace timingwheel::inline v1::kafka
