#include "core/driver/book/PendingWalk.h"

namespace timingwheel::inline v1::detail {

PendingWalk::PendingWalk(FoundTimeouts& found, TickScale const& scale, std::size_t notes)
    : found_{found}, scale_{scale} {
    noted_.reserve(notes);
    taken_.reserve(notes);
}

void PendingWalk::prepare() {
    for (; movedFrom_ < movedTo_; ++movedFrom_) moved_.insert(found_.entryAt(movedFrom_));
    found_.append(taken_);
    found_.makeRoom(kPerHold);
}

void PendingWalk::begin() noexcept {
    noted_.swap(taken_);
    left_ = kPerHold;
}

void PendingWalk::note(TimeoutEntry& entry) noexcept {
    FoundTimeouts notes{noted_, scale_};
    if (notes.isFull())
        hasMissed_ = true;
    else
        notes.add(entry);
}

bool PendingWalk::through(RawTimingWheel& wheel) noexcept {
    std::size_t buckets = kBucketsPerHold;
    while (TimerTaskList::List* const list = wheel.nextList(place_, buckets)) {
        if (!visit(*list)) return false;
        ++place_.list;
    }
    return buckets > 0;
}

/// What comes into the list meanwhile comes to its end: what the walk must find stands before that.
bool PendingWalk::visit(TimerTaskList::List& list) noexcept {
    std::size_t const from = found_.size();
    auto entry = list.begin();
    for (; entry != list.end() && (moved_.empty() || !moved_.contains(&*entry)); ++entry) {
        if (left_ == 0) {
            list.splice(list.end(), list, list.begin(), entry);
            movedFrom_ = from;
            movedTo_ = found_.size();
            return false;
        }
        --left_;
        found_.add(static_cast<TimeoutEntry&>(*entry));
    }
    return true;
}

bool PendingWalk::along(ListCursor& cursor, ListCursor::Lists lists) noexcept {
    return cursor.goOn(lists, left_, [this](TimerTaskEntry& entry) {
        found_.add(static_cast<TimeoutEntry&>(entry));
    });
}

}  // namespace timingwheel::inline v1::detail
