#pragma once

#include "components/kafka/daemon/Admin.h"
#include "components/kafka/daemon/Assignment.h"
#include "components/kafka/daemon/Inbox.h"
#include "components/kafka/daemon/Record.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// The commands of a partition, each once and in their order. Reports those that retention removed
/// unread.
class CommandReader {
public:
    /// Begins at `offset`, or where the log begins. Throws std::runtime_error if it ends before.
    CommandReader(Assignment& assignment, Inbox& inbox, std::int64_t offset, Range log);
    CommandReader(CommandReader const&) = delete;
    CommandReader& operator=(CommandReader const&) = delete;
    ~CommandReader() { inbox_.close(); }

    /// Commands as views of what the consumer has read.
    struct Batch {
        std::vector<Record> commands;
        std::vector<Inbox::Read> messages;
        std::uint64_t lost = 0;  // commands before its end that retention has removed
        std::int64_t begin = 0;  // its first command, or its end
    };
    /// The next commands, at most as many as a transaction takes. Waits for `patience` if there are
    /// none. If memory is full, a schedule waits, and all behind it.
    Batch read(std::chrono::milliseconds patience);

    /// All before this offset is read.
    std::int64_t next() const noexcept { return next_; }
    /// When the last batch was read.
    std::chrono::steady_clock::time_point readAt() const noexcept { return readAt_; }
    /// The offsets up to the end of the log, committed or not: an open transaction counts.
    void showLag() const;

private:
    struct Gap {
        std::int64_t from;
        std::int64_t to;
        std::int64_t logBegin;  // when it was read
    };

    std::uint64_t reportLost(std::vector<Gap> const& gaps) const;

    Assignment& assignment_;
    Inbox& inbox_;
    std::int64_t next_;
    std::chrono::steady_clock::time_point readAt_;
};

}  // namespace timingwheel::inline v1::kafka
