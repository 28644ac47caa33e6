#pragma once

#include "components/store/Shared.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace timingwheel::inline v1::store {

/// What is near, in memory: in the wheel, or due, or its handler runs, has thrown, or has returned
/// and the row is still in the file.
///
/// Plain data with steps. It knows no file. The timers' threads get rows for DueRows and keys for
/// the Inbox, and reach nothing of this.
///
/// Thread safety  none: one thread at a time
class NearHorizon {
public:
    explicit NearHorizon(Shared& shared) : shared_{shared} {}

    // What is read from the file, in the order of places.

    /// What is not beyond this is here.
    Place end() const noexcept { return end_; }
    bool reaches(Place place) const noexcept { return place <= end_; }
    /// Takes what was read behind the end, and moves the end there.
    void add(std::vector<SharedRow> const& rows);
    /// The file has nothing else before this.
    void moveEnd(Place end) noexcept;
    Amount room() const noexcept;
    /// Whether to read on, if beside what is here so many others have ended.
    bool hasRoom(std::size_t ended) const noexcept;

    // What a group of changes does: each of these counts once the group is committed.

    /// Takes it out of the wheel. False if it is due, or its handler has run.
    bool disarm(Key key);
    /// It was due, and its id is cancelled. Its handler is not called, unless a thread has taken it
    /// from DueRows already. Then it is not called again.
    void drop(Key key) { dropped_.push_back(key); }
    void arm(SharedRow row);
    void commit();
    void rollBack();

    // What becomes of those that were due.

    /// The clock was set back.
    void armEarly(Key key);
    /// Its handler has thrown.
    void retry(Key key);
    /// Its handler is to be called again, once memory has room.
    void queueAgain(Key key) { again_.push_back(key); }
    /// Takes the first of those, if memory has room.
    std::optional<Key> nextAgain();
    void callAgain(SharedRow const& row);
    /// Its handler has returned. Until it is removed from the file, its id may not find it pending.
    void finish(Key key);
    void forget(Key key);

private:
    /// Without its row it waits for the next call of its handler, which has thrown, or for its
    /// removal from the file.
    struct Near {
        SharedRow row;
        Timeout timeout;
        unsigned failures = 0;        // of its handler
        Clock::TimePoint nextCall{};  // by retryClock, after a failure
    };

    void enter(SharedRow const& row);
    void placeByDeadline(Near& near);
    void placeForNextCall(Key key, Near& near);
    template <class Task>
    void place(Near& near, Timer& timer, Clock::TimePoint time, Task task);
    Amount& amountOf(Near const& near) { return near.failures == 0 ? held_ : called_; }
    void hold(Near& near, SharedRow const& row);
    void release(Near& near);

    Shared& shared_;
    std::unordered_map<Key, Near> near_;
    Amount held_;               // the rows of near_ whose handlers have not thrown
    Amount called_;             // and those whose handlers are called again
    std::size_t retrying_ = 0;  // of near_, whose handlers have thrown
    std::deque<Key> again_;
    static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    Place end_{kLowest, kLowest};

    // Of the group.
    std::unordered_set<Key> disarmed_;
    Keys dropped_;
    std::map<Key, SharedRow> arms_;
};

}  // namespace timingwheel::inline v1::store
