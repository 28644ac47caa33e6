#pragma once

#include "components/store/NearHorizon.h"
#include "components/store/Shared.h"
#include "components/store/TimeoutTable.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace timingwheel::inline v1::store {

/// Has the file: commits changes in groups, and keeps in memory what is near.
///
/// Thread safety  none: one thread at a time
class Writer {
public:
    /// Opens the file, and reads what is near.
    Writer(Shared& shared, std::filesystem::path const& file);

    /// Works until the last mail is done.
    void run();

private:
    bool hasWork() const noexcept;
    void commit(std::vector<Change>& group);
    void makeRoom();
    bool apply(Change const& change, std::int64_t& added);
    void insert(Change const& change, std::int64_t& added);
    void remove(Key key, std::int64_t& added);
    void copyOn();
    void callAgain();
    void tryToRead();
    void read();
    void wakeAt(Timer& timer, Clock::TimePoint time, void (Inbox::*wake)(), Timeout& wakeUp);
    void tryToWakeLater(void (Inbox::*wake)(), Timeout& wakeUp);

    Shared& shared_;
    std::unique_ptr<TimeoutTable> const table_;
    NearHorizon near_;
    Keys ended_;  // are still in the file
    std::size_t removalsAtOnce_;
    bool canRemove_ = false;  // some of ended_ at once: the disk has taken the last ones
    bool hasMore_ = false;    // to read
    Timeout reading_;
    Timeout retry_;
    std::deque<Copy> copies_;  // asked for; the first is under way
    std::optional<Backup> backup_;
};

}  // namespace timingwheel::inline v1::store
