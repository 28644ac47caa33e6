#include "components/store/Writer.h"

#include "core/base/TimeArithmetic.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace timingwheel::inline v1::store {

Writer::Writer(Shared& shared, std::filesystem::path const& file)
    : shared_{shared},
      table_{TimeoutTable::open(file, shared.options)},
      near_{shared},
      removalsAtOnce_{shared.options.maxGroup} {
    shared_.pending = table_->count();
    read();
}

void Writer::run() {
    for (bool isLast = false; !isLast || hasWork();) {
        Mail mail = shared_.inbox.take(hasWork());
        isLast = mail.isLast;
        for (Key const key : mail.ended) near_.finish(key);
        ended_.insert(ended_.end(), mail.ended.begin(), mail.ended.end());
        for (Key const key : mail.early) near_.armEarly(key);
        // Before the group: a caller who knows that the handler has thrown finds it pending.
        for (Key const key : mail.failed) near_.retry(key);
        commit(mail.group);
        for (Key const key : mail.again) near_.queueAgain(key);
        callAgain();
        hasMore_ = hasMore_ || mail.wantsRead;
        if (hasMore_ && near_.hasRoom(ended_.size())) tryToRead();
        std::move(mail.copies.begin(), mail.copies.end(), std::back_inserter(copies_));
        copyOn();
    }
}

/// Even if no mail comes.
bool Writer::hasWork() const noexcept { return canRemove_ || !copies_.empty(); }

// ---- a commit ----------------------------------------------------------------------------------

/// One transaction for what was asked for, and for what has ended, or a part of that. If the disk
/// refuses it, all is as before: callers get the error, and what has ended is tried again.
void Writer::commit(std::vector<Change>& group) {
    if (group.empty() && ended_.empty()) return;
    auto const removed =
        ended_.end() - static_cast<std::ptrdiff_t>(std::min(ended_.size(), removalsAtOnce_));
    std::vector<bool> answers;
    std::int64_t added = 0;
    try {
        Transaction transaction{table_->database()};
        std::for_each(removed, ended_.end(), [&](Key key) { remove(key, added); });
        for (Change const& change : group) answers.push_back(apply(change, added));
        transaction.commit();
    } catch (...) {
        std::exception_ptr const error = std::current_exception();
        near_.rollBack();
        makeRoom();
        for (Change& change : group) change.answer.set_exception(error);
        if (group.empty()) shared_.errors.report({error});
        return;
    }
    std::for_each(removed, ended_.end(), [&](Key key) { near_.forget(key); });
    ended_.erase(removed, ended_.end());
    removalsAtOnce_ = std::min(shared_.options.maxGroup, removalsAtOnce_ * 2);
    canRemove_ = !ended_.empty();
    // After what the handlers did: a thread that sees 0 may look at that.
    shared_.pending.fetch_add(static_cast<std::uint64_t>(added), std::memory_order_release);
    near_.commit();
    for (std::size_t i = 0; i < group.size(); ++i) group[i].answer.set_value(answers[i]);
}

/// After a refusal. What it has written would keep its place in the log, and a smaller commit may
/// still fit.
void Writer::makeRoom() {
    removalsAtOnce_ = std::max<std::size_t>(removalsAtOnce_ / 2, 1);
    canRemove_ = false;
    try {
        table_->emptyLog();
    } catch (StoreError const&) {  // there is no room for that either
    }
    if (!ended_.empty()) tryToWakeLater(&Inbox::wake, retry_);
}

/// A row that is due is not pending. It stays until its handler has run, whatever is scheduled
/// meanwhile, so its id may have several: the newest that is pending counts, which is an old one if
/// its handler has thrown. A cancel that answers true ends them all.
bool Writer::apply(Change const& change, std::int64_t& added) {
    Keys const keys = table_->keysOf(change.id);
    if (keys.empty()) {
        if (change.kind == Change::Kind::schedule) insert(change, added);
        return false;
    }
    auto const found =
        std::find_if(keys.begin(), keys.end(), [this](Key key) { return near_.disarm(key); });
    bool const wasPending = found != keys.end();
    switch (change.kind) {
        case Change::Kind::schedule:
            if (wasPending) remove(*found, added);
            insert(change, added);
            break;
        case Change::Kind::reschedule:
            if (!wasPending) break;
            table_->move(*found, change.deadline);
            if (near_.reaches({change.deadline, *found})) near_.arm(table_->read(*found));
            break;
        case Change::Kind::cancel:
            if (!wasPending) break;
            for (Key const key : keys) {
                if (key != *found && !near_.disarm(key)) near_.drop(key);
                remove(key, added);
            }
            break;
    }
    return wasPending;
}

void Writer::insert(Change const& change, std::int64_t& added) {
    Key const key = table_->insert(change.id, change.deadline, change.payload);
    ++added;
    if (near_.reaches({change.deadline, key}))
        near_.arm(
            std::make_shared<Row const>(Row{key, change.deadline, change.id, change.payload}));
}

void Writer::remove(Key key, std::int64_t& added) { added -= table_->remove(key) ? 1 : 0; }

// ---- copies ------------------------------------------------------------------------------------

/// Copies a part of the first, so that changes need not wait for the whole.
void Writer::copyOn() {
    if (copies_.empty()) return;
    constexpr int kPages = 256;  // 1 MiB
    Copy& copy = copies_.front();
    try {
        if (!backup_) backup_.emplace(table_->database(), copy.file, shared_.options.fileSystem);
        if (backup_->step(kPages)) return;
        backup_.reset();
        copy.answer.set_value();
    } catch (...) {
        backup_.reset();
        copy.answer.set_exception(std::current_exception());
    }
    copies_.pop_front();
}

// ---- reading -----------------------------------------------------------------------------------

/// Reads and hands over what waits for its next call, as far as memory has room.
void Writer::callAgain() {
    while (std::optional<Key> const key = near_.nextAgain()) {
        try {
            near_.callAgain(table_->read(*key));
        } catch (...) {
            shared_.errors.report({std::current_exception()});
            near_.retry(*key);
        }
    }
}

void Writer::tryToRead() {
    try {
        read();
    } catch (...) {
        shared_.errors.report({std::current_exception()});
        tryToWakeLater(&Inbox::wakeToRead, reading_);
    }
}

/// Reads what is due within the horizon, or a portion of it, and looks again after half of it.
void Writer::read() {
    using std::chrono::milliseconds;
    Clock::TimePoint const time = shared_.options.clock.get().now();
    std::chrono::nanoseconds const horizon = shared_.options.horizon.nanoseconds();
    std::int64_t const until = detail::deadlineToMilliseconds(Clock::systemTime(time)) +
                               std::chrono::ceil<milliseconds>(horizon).count();
    std::vector<SharedRow> rows;
    std::exception_ptr error;
    hasMore_ = false;
    try {
        hasMore_ = table_->readNear(near_.end(), until, near_.room(), rows);
    } catch (...) {
        error = std::current_exception();
    }
    near_.add(rows);
    if (error) std::rethrow_exception(error);
    if (!hasMore_) near_.moveEnd({until - 1, std::numeric_limits<Key>::max()});
    wakeAt(*shared_.timer, time + horizon / 2, &Inbox::wakeToRead, reading_);
}

/// Wakes the writer once: an earlier wake-up for the same is cancelled.
void Writer::wakeAt(Timer& timer, Clock::TimePoint time, void (Inbox::*wake)(), Timeout& wakeUp) {
    wakeUp.cancel();
    wakeUp = timer.newTimeout([&inbox = shared_.inbox, wake] { (inbox.*wake)(); }, time);
}

void Writer::tryToWakeLater(void (Inbox::*wake)(), Timeout& wakeUp) {
    try {
        wakeAt(*shared_.retryTimer,
               shared_.options.retryClock.get().now() + shared_.options.retryDelay.nanoseconds(),
               wake, wakeUp);
    } catch (...) {
        shared_.errors.report({std::current_exception()});
    }
}

}  // namespace timingwheel::inline v1::store
