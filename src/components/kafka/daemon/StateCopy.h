#pragma once

#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Horizon.h"
#include "components/kafka/daemon/PendingTimers.h"
#include "components/kafka/daemon/Placement.h"
#include "components/kafka/daemon/Record.h"

#include <timingwheel/Clock.h>

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace timingwheel::inline v1::kafka {

/// What the committed records of a partition's state say, up to an offset: what is pending, and how
/// far the commands are taken in. A Follower reads it ahead; a new owner reads it on, up to its
/// mark, and begins with it. What the owner then makes of the timers is no copy any more.
///
/// It must meet each tombstone before compaction removes it. The topic keeps them for an hour or
/// more (Topics::check). So a copy that was not at the end of the log for kMaxAge is of no use: its
/// reader was suspended, or is too slow.
///
/// While memory is full, what it takes is far, whenever it is due.
///
/// Thread safety  none: one thread at a time
class StateCopy {
public:
    static constexpr std::chrono::minutes kMaxAge{30};
    /// In place of an offset, if there is none.
    static constexpr std::int64_t kNoOffset = -1;

    /// An empty one. The clock counts while the machine is suspended.
    StateCopy(Shared& shared, std::int32_t partition, Clock const& clock = Clock::continuous());

    PendingTimers timers;

    /// Takes what a StateReader has read: a record, or where the log ends. Throws
    /// std::runtime_error if it is too old, or if a timer belongs to another partition.
    void take(rd_kafka_message_t const& message, Placement const& placement,
              Horizon const& horizon);
    /// Where reading goes on.
    std::int64_t next() const noexcept { return next_; }
    /// The offset behind the commands that the state has taken in; kNoOffset if it has none.
    std::int64_t position() const noexcept { return position_; }

    bool isTooOld() const noexcept { return clock_.now() - asOf_ > kMaxAge; }
    /// A broker, asked at `asked`, has said that the log ends at `end`. Once the copy has read so
    /// far, it is as old as the question.
    void settle(std::int64_t end, Clock::TimePoint asked);
    bool isSettled() const noexcept { return !question_; }
    /// True once the first question is settled.
    bool wasAtTheEnd() const noexcept { return wasAtTheEnd_; }
    Clock::TimePoint now() const noexcept { return clock_.now(); }

    /// Has the worker's memory count it as it is now.
    void account() { memory_.set(timers.bytes()); }

private:
    struct Question {
        std::int64_t end;
        Clock::TimePoint asked;
    };

    void take(Record const& record, Placement const& placement, Horizon const& horizon);
    void ignore(Record const& record, std::string const& problem);
    void settle() noexcept;

    Shared const& shared_;
    std::int32_t const partition_;
    Clock const& clock_;
    MemoryShare memory_;
    Clock::TimePoint asOf_;  // what was committed by then is in it, or was compacted away
    std::optional<Question> question_;
    bool wasAtTheEnd_ = false;
    std::int64_t next_ = RD_KAFKA_OFFSET_BEGINNING;
    std::int64_t position_ = kNoOffset;
    std::size_t malformed_ = 0;
};

}  // namespace timingwheel::inline v1::kafka
