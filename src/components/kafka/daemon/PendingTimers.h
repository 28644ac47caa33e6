#pragma once

#include "components/kafka/daemon/PendingTimer.h"

#include <timingwheel/wheel/TimingWheel.h>

#include <boost/intrusive/unordered_set.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What a partition has pending: the library's wheel, in ticks of a millisecond since 1970, and a
/// table by id.
///
/// Knows nothing of Kafka: it is given commands and the time. A clock that was set back turns the
/// wheel back with it, so that nothing is early by the clock as it is now. What is due on arrival
/// stands beside the wheel, in the order of time: a backlog comes the earliest first.
///
/// Complexity     each call O(1); for what was due on arrival O(log(such)); for a clock that was
///                set back O(pending)
/// Memory         a block for each timer, a word for each bucket of the table
/// Thread safety  none: one thread at a time
class PendingTimers {
public:
    explicit PendingTimers(std::int64_t now);
    PendingTimers(PendingTimers const&) = delete;
    PendingTimers& operator=(PendingTimers const&) = delete;
    ~PendingTimers();

    std::size_t size() const noexcept { return table_.size(); }
    /// Memory used by all timers and the table.
    std::size_t bytes() const noexcept;

    PendingTimer* find(std::string_view id) noexcept;
    std::string const& topicOf(PendingTimer const& timer) const { return topics_[timer.target()]; }

    /// Adds a timer and returns the one of the same id that it replaces, if there is one. Strong
    /// exception safety.
    struct Scheduled {
        PendingTimer* timer;
        PendingTimer::Owner replaced;
    };
    Scheduled schedule(Command const& command);
    /// REQUIRES of both: it is pending here.
    void pushBack(PendingTimer& timer, std::int64_t at);
    [[nodiscard]] PendingTimer::Owner remove(PendingTimer& timer) noexcept;

    /// Follows the clock, and takes what is due by it, the earliest first: at most `atMost`, and
    /// none once they have `atMostBytes`.
    std::vector<PendingTimer::Owner> takeDue(
        std::int64_t now, std::size_t atMost,
        std::size_t atMostBytes = std::numeric_limits<std::size_t>::max());

    /// When takeDue will have something to do, at the earliest.
    std::optional<std::int64_t> nextExpiration() const noexcept;
    /// When the earliest is due, exactly. O(pending).
    std::optional<std::int64_t> earliest() const noexcept;

private:
    struct IdOf {
        using type = std::string_view;
        type operator()(PendingTimer const& timer) const noexcept { return timer.id(); }
    };
    using Table =
        boost::intrusive::unordered_set<PendingTimer, boost::intrusive::key_of_value<IdOf>,
                                        boost::intrusive::hash<std::hash<std::string_view>>,
                                        boost::intrusive::equal<std::equal_to<>>,
                                        boost::intrusive::power_2_buckets<true>>;
    static constexpr std::size_t kFirstBuckets = 64;
    static constexpr std::int64_t kWheelSize = 256;

    std::uint32_t targetOf(std::string_view topic);
    void reserve();
    using Overdue = std::set<std::pair<std::int64_t, PendingTimer*>>;
    // The size of a node of the tree in the usual libraries.
    static constexpr std::size_t kOverdueNode = sizeof(Overdue::value_type) + 4 * sizeof(void*);

    Overdue::node_type nodeFor(PendingTimer& timer, std::int64_t at);
    void place(PendingTimer& timer, Overdue::node_type node);
    void unplace(PendingTimer& timer) noexcept;
    void turnBack(std::int64_t now);

    std::vector<Table::bucket_type> buckets_;
    Table table_;
    std::optional<TimingWheel<PendingTimer>> wheel_;
    Overdue overdue_;  // what was due on arrival: not in the wheel
    std::vector<std::string> topics_;
    std::unordered_map<std::string, std::uint32_t> targets_;
    std::size_t bytes_ = 0;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
