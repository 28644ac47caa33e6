#include "base/OptionChecks.h"

#include <timingwheel/wheel/RawTimingWheel.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace timingwheel {
inline namespace v1 {

namespace {

[[noreturn]] void broken(char const* invariant, TimingWheelLevel const& level,
                         TimerTaskList const& bucket, std::int64_t value) {
    std::ostringstream message;
    message << invariant << " is broken at level " << level.number() << ", slot " << bucket.slot()
            << ", expiration " << bucket.expiration() << ", level's clock " << level.clock() << ": "
            << value;
    throw std::logic_error{message.str()};
}

}  // namespace

RawTimingWheel::RawTimingWheel(TimingWheelOptions options)
    : origin_{std::min<std::int64_t>(options.start.value(), 0)},
      geometry_{options.wheelSize, options.levelSizes},
      lanesFrom_{options.lanesFrom} {
    clock_ = positionOf(options.start);
    buildLevels(clock_);
}

RawTimingWheel::~RawTimingWheel() = default;

/// Builds all the levels up to `position`, or none of them.
void RawTimingWheel::buildLevels(std::int64_t position) {
    std::size_t const built = levels_.size();
    try {
        while (levels_.empty() || position >= levels_.back().limit()) {
            std::size_t const number = levels_.size();
            std::int64_t const granularity = number == 0 ? 1 : levels_.back().interval();
            TimingWheelLevel& level = levels_.emplace_back(
                static_cast<std::uint32_t>(number), geometry_.sizeOf(number), granularity,
                geometry_.intervalOf(number, granularity), clock_);
            if (number > 0) level.setLanesFrom(lanesFrom_);
            heap_.addLevel(level.buckets(), granularity);
        }
    } catch (...) {
        heap_.removeLevelsFrom(built);
        levels_.erase(levels_.begin() + static_cast<std::ptrdiff_t>(built), levels_.end());
        throw;
    }
    moveClockToTurn(clock_);  // the new levels change the reach and the next turn
}

/// A level's clock moves only when the next finer level's has passed a slot of it, so the first one
/// that stays ends the search.
void RawTimingWheel::moveClockToTurn(std::int64_t position) noexcept {
    clock_ = position;
    levels_.front().moveClock(position);
    for (std::size_t i = 1; i < levels_.size() && position >= levels_[i].nextSlot(); ++i)
        levels_[i].moveClock(position);
    reach_ = levels_.back().limit();
    // A single level's reach changes with each step.
    nextTurn_ = levels_.size() == 1 ? position : levels_.front().nextTurn();
}

bool RawTimingWheel::mayHold(TimerTaskEntry const& entry) const noexcept {
    using Traits = TimerTaskList::List::node_traits;
    // The sentinels of this wheel's lists lie in its buckets.
    auto const isHere = [](void const* node, void const* begin, void const* end) {
        return std::greater_equal<>{}(node, begin) && std::less<>{}(node, end);
    };
    auto const isOurs = [&](void const* node) {
        if (isHere(node, &flushed_, &flushed_ + 1) || isHere(node, &gathered_, &gathered_ + 1))
            return true;
        return std::any_of(levels_.begin(), levels_.end(), [&](TimingWheelLevel const& level) {
            auto const buckets = level.buckets();
            return isHere(node, buckets.data(), buckets.data() + buckets.size());
        });
    };
    auto const* const first = TimerTaskList::List::value_traits::to_node_ptr(entry);
    auto const* node = first;
    for (std::size_t i = 0; i < kMostLookedAt; ++i) {
        node = Traits::get_next(node);
        if (isOurs(node)) return true;
        if (node == first) return false;  // once round, past the sentinel of another wheel
    }
    return true;
}

Tick RawTimingWheel::advanceClock(Tick tick) noexcept {
    constexpr int kMostDisarmed = 64;
    std::int64_t const position = positionOf(tick);
    if (position <= clock_ || hasFlushed()) return currentTick();
    for (int disarmed = 0; disarmed < kMostDisarmed; ++disarmed) {
        if (heap_.top().expiration > position || !heap_.top().bucket->empty()) break;
        disarmEarliest();
    }
    moveClock(std::min(position, heap_.top().expiration));
    return currentTick();
}

TimerTaskList& RawTimingWheel::disarmEarliest() noexcept {
    TimerTaskList& bucket = *heap_.top().bucket;
    heap_.pop();
    bucket.disarm();
    return bucket;
}

RawTimingWheel::Flush RawTimingWheel::flushEarliest() noexcept {
    assert(!hasFlushed());
    // Expect the finest level's next buckets to be as crowded as its last one was.
    if (flushedLevel_ == 0)
        levels_[0].setLanesFrom(flushed_.taken() < kCrowdedBucket ? SIZE_MAX : lanesFrom_);

    std::int64_t const expiration = heap_.top().expiration;
    moveClock(expiration);
    // The stamp comes off before any entry is placed again: one that lands in this very slot is
    // for the next turn, and must find an unarmed bucket.
    TimerTaskList& bucket = disarmEarliest();
    flushed_.takeAll(bucket);
    flushedLevel_ = bucket.level();
    // The next bucket's first entries come from memory while this one's are placed.
    if (!heap_.empty()) heap_.top().bucket->prefetchEnds();
    return {bucket.level(), bucket.slot(), tickOf(expiration)};
}

void RawTimingWheel::gatherAll() noexcept {
    gathered_.addAll(flushed_);
    heap_.forEach([&](DelayHeap::Item const& item) { gathered_.addAll(*item.bucket); });
}

void RawTimingWheel::restart(Tick tick) noexcept {
    gatherAll();
    while (!heap_.empty()) disarmEarliest();
    std::int64_t const position = positionOf(tick);
    assert(position >= 0);
    for (TimingWheelLevel& level : levels_) level.restart(position);
    moveClockToTurn(position);
}

TimerTaskEntry* RawTimingWheel::takeAny() noexcept {
    if (!gathered_.empty()) return takeGathered();
    if (hasFlushed()) return &takeFlushed();
    while (!heap_.empty() && heap_.top().bucket->empty()) disarmEarliest();
    if (heap_.empty()) return nullptr;
    --size_;
    return &heap_.top().bucket->takeFirst();
}

void RawTimingWheel::checkInvariants(Deadlines deadlines) const {
    std::unordered_map<TimerTaskList const*, std::int64_t> armed;
    for (DelayHeap::Item const& item : heap_.items())
        if (!armed.emplace(item.bucket, item.expiration).second)
            broken("H1 (armed once)", levels_[item.bucket->level()], *item.bucket, item.expiration);

    std::size_t counted = flushed_.entries().size() + gathered_.entries().size();
    auto const checkLanes = [](TimingWheelLevel const& level, TimerTaskList const& bucket) {
        for (unsigned lane = 1; lane < TimerTaskList::kLanes; ++lane)
            for (TimerTaskEntry const& entry : bucket.lane(lane))
                if (TimerTaskList::laneOf(entry) != lane)
                    broken("L1 (lane of the address)", level, bucket, lane);
    };

    for (TimingWheelLevel const& level : levels_) {
        std::int64_t const size = geometry_.sizeOf(level.number());
        for (TimerTaskList const& bucket : level.buckets()) {
            auto const inHeap = armed.find(&bucket);
            if (bucket.isArmed() != (inHeap != armed.end()))
                broken("H1 (in the heap while armed)", level, bucket, bucket.expiration());
            if (bucket.isArmed() && inHeap->second != bucket.expiration())
                broken("H2 (expiration changed in the heap)", level, bucket, inHeap->second);
            if (level.clock() != level.startOfSlot(clock_))
                broken("W1 (clock is the wheel's, rounded down)", level, bucket, clock_);
            if (!bucket.empty() && !bucket.isArmed())
                broken("W3 (holds an entry, so is armed)", level, bucket, bucket.expiration());

            checkLanes(level, bucket);
            for (TimerTaskEntry const& entry : bucket.entries()) {
                std::int64_t const deadline = positionOf(entry.deadline());
                ++counted;
                if (deadline < bucket.expiration())
                    broken("W3 (expiration <= deadline)", level, bucket, deadline);
                if (deadlines == Deadlines::mayBeLater) continue;
                if (deadline / level.granularity() % size != bucket.slot())
                    broken("W2 (slot of the deadline)", level, bucket, deadline);
                if (deadline >= bucket.expiration() + level.granularity())
                    broken("W3 (deadline within the slot)", level, bucket, deadline);
                if (bucket.expiration() == clock_) continue;  // waits for its flush
                if (deadline < level.clock() + level.granularity() || deadline >= level.limit())
                    broken("W4 (deadline within the level's range)", level, bucket, deadline);
            }
        }
    }
    if (counted != size_) {
        std::ostringstream message;
        message << "the size is broken: " << size_ << " counted, " << counted << " in buckets";
        throw std::logic_error{message.str()};
    }
}

}  // namespace v1
}  // namespace timingwheel
