#include "components/store/NearHorizon.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

namespace timingwheel::inline v1::store {

void NearHorizon::add(std::vector<SharedRow> const& rows) {
    for (SharedRow const& row : rows) enter(row);
    if (!rows.empty()) moveEnd(rows.back()->place());
}

void NearHorizon::moveEnd(Place end) noexcept { end_ = std::max(end_, end); }

Amount NearHorizon::room() const noexcept {
    DurableTimerOptions const& options = shared_.options;
    return {options.maxRead - std::min(options.maxRead, held_.rows),
            options.maxBytes - std::min(options.maxBytes, held_.bytes)};
}

/// What keeps its place in memory counts, too: what could not be removed, and the keys of those
/// whose handlers have thrown. If all of them do, reading on would not help.
bool NearHorizon::hasRoom(std::size_t ended) const noexcept {
    DurableTimerOptions const& options = shared_.options;
    return held_.rows <= options.maxRead / 2 && held_.bytes <= options.maxBytes / 2 &&
           retrying_ + ended < options.maxRead;
}

// ---- a group of changes ------------------------------------------------------------------------

bool NearHorizon::disarm(Key key) {
    arms_.erase(key);
    if (disarmed_.contains(key)) return true;
    auto const found = near_.find(key);
    if (found == near_.end()) return true;  // far, or not armed yet
    if (!found->second.timeout.cancel()) return false;
    disarmed_.insert(key);
    return true;
}

void NearHorizon::arm(SharedRow row) {
    Key const key = row->key;
    arms_[key] = std::move(row);
}

void NearHorizon::commit() {
    for (Key const key : std::exchange(disarmed_, {})) forget(key);
    for (Key const key : std::exchange(dropped_, {})) forget(key);
    for (auto const& [key, row] : std::exchange(arms_, {})) enter(row);
}

void NearHorizon::rollBack() {
    for (Key const key : std::exchange(disarmed_, {})) {
        Near& near = near_.at(key);
        if (near.failures == 0)
            placeByDeadline(near);
        else
            placeForNextCall(key, near);
    }
    dropped_.clear();
    arms_.clear();
}

// ---- what was due ------------------------------------------------------------------------------

void NearHorizon::armEarly(Key key) {
    auto const found = near_.find(key);
    if (found == near_.end()) return;
    SharedRow const row = found->second.row;
    forget(key);
    enter(row);
}

void NearHorizon::retry(Key key) {
    auto const found = near_.find(key);
    if (found == near_.end()) return;
    Near& near = found->second;
    release(near);
    if (near.failures == 0) ++retrying_;
    constexpr unsigned kMostDoublings = 6;
    near.nextCall =
        shared_.options.retryClock.get().now() +
        shared_.options.retryDelay.nanoseconds() * (1 << std::min(near.failures, kMostDoublings));
    ++near.failures;
    placeForNextCall(key, near);
}

std::optional<Key> NearHorizon::nextAgain() {
    while (!again_.empty()) {
        if (called_.rows >= shared_.options.maxRead || called_.bytes >= shared_.options.maxBytes)
            break;
        Key const key = again_.front();
        again_.pop_front();
        if (near_.contains(key)) return key;
    }
    return {};
}

void NearHorizon::callAgain(SharedRow const& row) {
    hold(near_.at(row->key), row);
    shared_.due.add(row);
}

void NearHorizon::finish(Key key) {
    auto const found = near_.find(key);
    if (found == near_.end()) return;
    release(found->second);
    found->second.timeout = {};
}

void NearHorizon::forget(Key key) {
    auto const found = near_.find(key);
    if (found == near_.end()) return;
    release(found->second);
    if (found->second.failures > 0) --retrying_;
    near_.erase(found);
}

// ---- in the wheel ------------------------------------------------------------------------------

void NearHorizon::enter(SharedRow const& row) {
    Near& near = near_[row->key];
    hold(near, row);
    placeByDeadline(near);
}

void NearHorizon::placeByDeadline(Near& near) {
    place(near, *shared_.timer, Clock::wallTime(fromFile(near.row->deadline)),
          [&due = shared_.due, row = std::weak_ptr{near.row}] { due.add(row); });
}

void NearHorizon::placeForNextCall(Key key, Near& near) {
    place(near, *shared_.retryTimer, near.nextCall,
          [&inbox = shared_.inbox, key] { inbox.put(key, &Mail::again); });
}

template <class Task>
void NearHorizon::place(Near& near, Timer& timer, Clock::TimePoint time, Task task) {
    near.timeout = {};
    try {
        near.timeout = timer.newTimeout(std::move(task), time);
    } catch (...) {
        // What is in the file waits for the next start.
        shared_.errors.report({std::current_exception()});
    }
}

// ---- in memory ---------------------------------------------------------------------------------

void NearHorizon::hold(Near& near, SharedRow const& row) {
    near.row = row;
    Amount& amount = amountOf(near);
    ++amount.rows;
    amount.bytes += row->bytes();
}

void NearHorizon::release(Near& near) {
    if (!near.row) return;
    Amount& amount = amountOf(near);
    --amount.rows;
    amount.bytes -= near.row->bytes();
    near.row = {};
}

}  // namespace timingwheel::inline v1::store
