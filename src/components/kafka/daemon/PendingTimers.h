#pragma once

#include "components/kafka/daemon/DueMinutes.h"
#include "components/kafka/daemon/FarTimers.h"
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

namespace timingwheel::inline v1::kafka {

/// What a partition has pending: the library's wheel, in ticks of a millisecond since 1970, and a
/// table by id.
///
/// Knows nothing of Kafka: it is given commands and the time. A clock that was set back turns the
/// wheel back with it, so that nothing is early by the clock as it is now. What is due on arrival
/// stands beside the wheel, in the order of time: a backlog comes the earliest first. Of a timer
/// that is far it keeps only when it is due and where the state has it: see Horizon.
///
/// Complexity     each call O(1), and what DueMinutes says; for what was due on arrival
///                O(log(such)); for a clock that was set back O(pending)
/// Memory         a block for each near timer and a word for each bucket of the table; at most 40
///                bytes for each far one; and what DueMinutes says
/// Thread safety  none: one thread at a time
class PendingTimers {
public:
    explicit PendingTimers(std::int64_t now);
    PendingTimers(PendingTimers const&) = delete;
    PendingTimers& operator=(PendingTimers const&) = delete;
    ~PendingTimers();

    std::size_t size() const noexcept { return table_.size() + far_.size(); }
    /// Memory used by all of it.
    std::size_t bytes() const noexcept;

    /// Null if none of that id is pending, or if it is far.
    PendingTimer* find(std::string_view id) noexcept;
    bool contains(std::string_view id) noexcept { return find(id) != nullptr || far_.find(id); }
    std::string const& topicOf(PendingTimer const& timer) const { return topics_[timer.target()]; }

    /// Adds a timer, in place of one of the same id if there is one. Strong exception safety.
    struct Scheduled {
        PendingTimer* timer;
        bool hasReplaced;
        PendingTimer::Owner replaced;  // null if that was far
    };
    Scheduled schedule(Command const& command);
    /// Takes the timer of that id out, near or far. Of a far one only the id is known. Null if it
    /// is not pending.
    [[nodiscard]] PendingTimer::Owner takeOut(std::string_view id);
    /// REQUIRES of both: it is pending here.
    void pushBack(PendingTimer& timer, std::int64_t at);
    [[nodiscard]] PendingTimer::Owner remove(PendingTimer& timer) noexcept;
    /// Adds a timer again that was taken or removed. REQUIRES: no other has its id.
    PendingTimer const& putBack(PendingTimer::Owner timer, std::int64_t at);

    FarTimers const& far() const noexcept { return far_; }
    /// Adds a far timer, whose record the state has at `offset`, in place of one of the same id.
    void addFar(Command const& command, std::int64_t offset);
    /// Makes a near timer a far one. REQUIRES: it is pending here.
    void putAway(PendingTimer& timer, std::int64_t offset);
    /// Makes a far timer a near one. False if the one of that id is not far, or not of `offset`.
    bool bringNear(Command const& command, std::int64_t offset);
    /// FarTimers::beginPass, and collect.
    void beginPassOfFar() noexcept { far_.beginPass(); }
    bool collectFar(std::int64_t time, std::size_t atMost, std::vector<std::int64_t>& offsets) {
        return far_.collect(time, atMost, offsets);
    }

    /// Follows the clock, and takes what is due by it, the earliest first: at most `atMost`, and
    /// none once they have `atMostBytes`.
    std::vector<PendingTimer::Owner> takeDue(
        std::int64_t now, std::size_t atMost,
        std::size_t atMostBytes = std::numeric_limits<std::size_t>::max());

    /// Follows the clock, and keeps what is due: it stands beside the wheel from then on.
    void advance(std::int64_t now);

    /// When takeDue will have something to do, at the earliest.
    std::optional<std::int64_t> nextExpiration() const noexcept;
    /// When the earliest near one is due, exactly. O(pending).
    std::optional<std::int64_t> earliest() const noexcept;
    /// How many are due when.
    DueMinutes const& minutes() const noexcept { return minutes_; }

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
    void reserve(std::int64_t at);
    using Overdue = std::set<std::pair<std::int64_t, PendingTimer*>>;
    // The size of a node of the tree in the usual libraries.
    static constexpr std::size_t kOverdueNode = sizeof(Overdue::value_type) + 4 * sizeof(void*);

    Overdue::node_type nodeFor(PendingTimer& timer, std::int64_t at);
    PendingTimer* add(PendingTimer::Owner timer, Overdue::node_type node);
    void place(PendingTimer& timer, Overdue::node_type node);
    void unplace(PendingTimer& timer) noexcept;
    bool removeFar(std::string_view id) noexcept;
    void turnBack(std::int64_t now);

    std::vector<Table::bucket_type> buckets_;
    Table table_;
    std::optional<TimingWheel<PendingTimer>> wheel_;
    Overdue overdue_;  // what was due on arrival: not in the wheel
    FarTimers far_;    // of no id that the table has
    std::vector<std::string> topics_;
    std::unordered_map<std::string, std::uint32_t> targets_;
    DueMinutes minutes_;
    std::size_t bytes_ = 0;
};

}  // namespace timingwheel::inline v1::kafka
