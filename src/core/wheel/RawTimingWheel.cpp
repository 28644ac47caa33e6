#include "core/base/OptionChecks.h"
#include "core/base/platform/Probe.h"

#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/wheel/RawTimingWheel.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace timingwheel::inline v1 {

namespace {

/// A level uses lanes unless its last bucket held fewer entries; also once one bucket cascades that
/// crowds it. The finest one begins without: most of its buckets hold few, which have just come
/// from a coarser level and are still in the cache.
std::size_t crowdOf(TimingWheelLevel const& level) noexcept { return level.number() == 0 ? 8 : 64; }

/// How many of 64 bits this many different entries set: linear counting (K. Whang et al., "A
/// Linear-Time Probabilistic Counting Algorithm for Database Applications", 1990). The last bits
/// show little.
int bitsOf(std::size_t entries) noexcept {
    if (entries == SIZE_MAX) return 65;
    double const samples = static_cast<double>(entries) / RawTimingWheel::kBitOneIn;
    return std::min(61, static_cast<int>(std::lround(64 * (1 - std::exp(-samples / 64)))));
}

}  // namespace

RawTimingWheel::RawTimingWheel(TimingWheelOptions options)
    : clock_{options.start.value()},
      origin_{std::min<std::int64_t>(options.start.value(), 0)},
      geometry_{options.wheelSize, options.levelSizes},
      crowdedFrom_{bitsOf(options.lanesFrom)},
      isCrowded_{options.lanesFrom == 0} {
    buildLevels(clock_);
}

/// Builds all the levels up to `deadline`, or none of them.
void RawTimingWheel::buildLevels(std::int64_t deadline) {
    std::size_t const built = levels_.size();
    try {
        while (levels_.empty() || deadline >= levels_.back().limit()) {
            std::size_t const number = levels_.size();
            std::int64_t const granularity = number == 0 ? 1 : levels_.back().interval();
            TimingWheelLevel& level = levels_.emplace_back(
                static_cast<std::uint32_t>(number), geometry_.sizeOf(number), granularity,
                geometry_.intervalOf(number, granularity), origin_, clock_);
            heap_.addLevel(level.buckets(), granularity);
        }
    } catch (...) {
        heap_.removeLevelsFrom(built);
        levels_.erase(levels_.begin() + static_cast<std::ptrdiff_t>(built), levels_.end());
        throw;
    }
    noteLevels();
}

/// Notes where the search for a distance begins. It ends below the levels that divide.
void RawTimingWheel::noteLevels() noexcept {
    finest_ = &levels_.front().ring();
    std::size_t last = 0;
    for (; last + 1 < levels_.size() && levels_[last + 1].ring().isNear(); ++last)
        levels_[last].ring().standBelow(&levels_[last + 1].ring());
    std::size_t first = 0;
    for (unsigned bit = 0; bit < firstRing_.size(); ++bit) {
        while (first < last &&
               static_cast<std::uint64_t>(levels_[first].interval()) <= std::uint64_t{1} << bit)
            ++first;
        firstRing_[firstRing_.size() - 1 - bit] = first == 0 ? nullptr : &levels_[first].ring();
    }
    if (isCrowded_) useLanes();
    nextTurn_ = levels_.front().nextTurn();
    if (!hasFlushed()) noteQuiet();
}

/// What the hot path leaves out: a new level, or a level whose slots are found by division.
Placement RawTimingWheel::linkFar(TimerTaskEntry& entry, Tick deadline, bool owns) {
    if (owns) {
        reserve(deadline);
        entry.setDeadline(deadline);
    }
    if (entry.isQueued()) TimerTaskList::bridge(entry);
    return link(entry, farSpotOf(deadline.value()));
}

/// An entry that nobody reserved for may lie beyond the last level: it waits in the farthest bucket
/// and is placed again from there. So some level always reaches.
RawTimingWheel::Spot RawTimingWheel::farSpotOf(std::int64_t deadline) noexcept {
    deadline = std::min(deadline, levels_.back().limit() - 1);
    auto level = levels_.begin();
    while (deadline >= level->limit()) ++level;
    return {&level->ring(), level->ring().slotsBehind(deadline)};
}

void RawTimingWheel::addSample(TimerTaskEntry const& entry) noexcept {
    if (isCrowded_) {
        if (++inLane_ == kInARow / kOneIn) useNextLane();
        return;
    }
    if (!isSample(entry, kBitOneIn)) return;
    // Samples that lie at equal distances must not share a bit: so mix once more.
    std::uint32_t const spread = TimerTaskList::spread(entry);
    bits_ |= std::uint64_t{1} << ((spread ^ spread >> 11U) * 0x2C1B'3C6DU >> 26U);
    if (std::popcount(bits_) >= crowdedFrom_) useLanes();
}

/// From now on, each level decides anew after a flush of one of its buckets.
void RawTimingWheel::useLanes() noexcept {
    isCrowded_ = true;
    for (std::size_t i = 1; i < levels_.size(); ++i) levels_[i].open(lane_);
}

/// All entries go to one lane, whatever their buckets, until about kInARow have been added or
/// moved. So what was added in a row lies in a row in its lane, and the processor fetches ahead by
/// itself; and the ends of few lanes are in use, which stay in the cache.
void RawTimingWheel::useNextLane() noexcept {
    lane_ = lane_ % (TimerTaskList::kLists - 1) + 1;
    inLane_ = 0;
    for (TimingWheelLevel const& level : levels_)
        if (level.usesLanes()) level.ring().open(lane_);
}

std::size_t RawTimingWheel::size() const noexcept {
    std::size_t size = flushed_.list().size() + gathered_.list().size();
    heap_.forEach([&](DelayHeap::Item const& item) { size += item.bucket->size(); });
    return size;
}

bool RawTimingWheel::empty() const noexcept {
    bool empty = flushed_.empty() && gathered_.empty();
    heap_.forEach([&](DelayHeap::Item const& item) { empty = empty && item.bucket->empty(); });
    return empty;
}

bool RawTimingWheel::arm(TimerTaskList& bucket, Spot spot) noexcept {
    std::int64_t const expiration = spot.ring->startAt(spot.behind);
    bucket.arm(expiration);
    TIMINGWHEEL_PROBE_3(arm, &bucket, bucket.level(), expiration);
    quietUntil_ = std::min(quietUntil_, expiration);  // it is not after the earliest one
    return heap_.push(bucket);
}

void RawTimingWheel::moveClock(std::int64_t tick) noexcept {
    clock_ = tick;
    if (tick < nextTurn_) return;
    levels_.front().moveTurn(tick);
    nextTurn_ = levels_.front().nextTurn();
    // A level's clock moves only when the next finer level's has passed a slot of it. So the first
    // one that stays ends the search.
    for (std::size_t i = 1; i < levels_.size() && levels_[i].moveClock(tick); ++i) continue;
}

bool RawTimingWheel::mayHold(TimerTaskEntry const& entry) const noexcept {
    using Traits = TimerTaskList::List::node_traits;
    // The sentinels of this wheel's lists lie in its buckets, or in itself.
    auto const isOurs = [&](void const* node) {
        return (std::greater_equal<>{}(node, this) && std::less<>{}(node, this + 1)) ||
               std::any_of(levels_.begin(), levels_.end(),
                           [&](TimingWheelLevel const& level) { return level.holds(node); });
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

Tick RawTimingWheel::advanceClockFar(Tick tick) noexcept {
    constexpr int kMostDisarmed = 64;
    if (hasFlushed()) return currentTick();
    if (tick.value() > clock_) {
        for (int disarmed = 0; disarmed < kMostDisarmed; ++disarmed) {
            if (heap_.earliest() > tick.value() || !heap_.top().bucket->empty()) break;
            disarmEarliest();
        }
        moveClock(std::min(tick.value(), heap_.earliest()));
    }
    noteQuiet();  // also after a flush that has moved the clock there
    return currentTick();
}

TimerTaskList& RawTimingWheel::disarmEarliest() noexcept {
    TimerTaskList& bucket = heap_.pop();
    bucket.disarm();
    return bucket;
}

/// With few pending nearly every flush is of the finest level. So what others need is a call.
TimerTaskList& RawTimingWheel::flushEarliest() noexcept {
    assert(!hasFlushed());
    // Expect the level's next buckets to be as crowded as its last one was.
    if (isCrowded_ && flushedFrom_ != nullptr) [[unlikely]] {
        TimingWheelLevel& level = levels_[flushedFrom_->level()];
        bool const isCrowd = flushed_.taken() >= crowdOf(level);
        if (isCrowd != level.usesLanes()) level.open(isCrowd ? lane_ : 0);
    }

    moveClock(heap_.earliest());
    // The stamp comes off before any entry is placed again: one that lands in this very slot is
    // for the next turn, and must find an unarmed bucket.
    TimerTaskList& bucket = disarmEarliest();
    flushedFrom_ = &bucket;
    TIMINGWHEEL_PROBE_3(wake, &bucket, bucket.level(), clock_);
    if (bucket.level() == 0)  // nothing else goes there before the clock moves on
        flushed_.takeFrom(bucket);
    else
        flushed_.takeAll(bucket);
    quietUntil_ = INT64_MIN;
    // The next bucket's first entries come from memory while this one's are placed.
    if (isCrowded_ && !heap_.empty()) heap_.top().bucket->prefetchFirst();
    return bucket;
}

/// Turns a level to lanes when the flushed bucket has cascaded so many entries that they crowd it.
/// The level's own last bucket, of few, could not tell.
void RawTimingWheel::useLanesBelow(std::uint32_t above) noexcept {
    for (std::size_t i = 0; i < above; ++i) {
        std::int64_t const slots = levels_[above].granularity() / levels_[i].granularity();
        if (!levels_[i].usesLanes() &&
            flushed_.taken() / crowdOf(levels_[i]) >= static_cast<std::size_t>(slots))
            levels_[i].open(lane_);
    }
}

/// For a cascade.
inline TimerTaskList const& RawTimingWheel::linkFrom(unsigned list, TimerTaskEntry& entry,
                                                     Spot spot) noexcept {
    std::uint64_t const slot = spot.ring->slotAt(spot.behind);
    return linkInto(listFrom(list, *spot.ring, slot), entry, spot, slot).bucket();
}

/// For a cascade, which inlines the rest.
TIMINGWHEEL_NO_INLINE TimerTaskList const& RawTimingWheel::linkElsewhere(TimerTaskEntry& entry,
                                                                         Tick deadline,
                                                                         unsigned list) noexcept {
    Spot const spot = spotOf(deadline);
    return linkFrom(list, entry, spot.ring == nullptr ? farSpotOf(deadline.value()) : spot);
}

/// For a cascade. With few in a bucket it is chance whether an entry is the first: then to arm the
/// bucket for each takes less than a branch that is guessed wrong.
inline TimerTaskList& RawTimingWheel::linkFinest(TimerTaskEntry& entry, std::int64_t deadline,
                                                 unsigned list) noexcept {
    detail::BucketRing& ring = *finest_;
    std::uint64_t const slot = ring.slotAt(ring.ticksBehind(deadline));
    TimerTaskList& bucket = ring.buckets()[slot];
    bool const hasLane = ring.usesLanes();
    TimerTaskList::add(entry, listFrom(list, ring, slot));
    if (hasLane && bucket.isArmed()) return bucket;
    bucket.arm(deadline);
    TIMINGWHEEL_PROBE_3(arm, &bucket, std::int64_t{0}, deadline);
    heap_.pushFinest(static_cast<std::uint32_t>(slot));
    return bucket;
}

/// Nearly all land on the level below; the others are searched for.
std::size_t RawTimingWheel::cascade(std::size_t& atMost) noexcept {
    std::uint32_t const above = flushedFrom_->level();
    bool const isFinest = above == 1;
    detail::BucketRing* ring = nullptr;
    std::int64_t limit = INT64_MIN;  // of the level below, if its slots are not found by division
    std::int64_t from = INT64_MIN;   // the limit of the next finer one
    std::size_t const most = std::min(atMost, kAtOnce);
    if (isCrowded_ && flushed_.taken() >= kAtOnce) [[unlikely]] {
        useLanesBelow(above);
        useNextLane();  // for those that come from first lists
    }
    if (above > 0) {
        TimingWheelLevel const* const below = &levels_[above - 1];
        ring = &below->ring();
        if (isFinest || ring->isNear()) limit = below->limit();
        if (!isFinest) from = (below - 1)->limit();
    }
    std::int64_t const clock = clock_;
    std::size_t left = most;
    std::size_t lower = 0;
    std::int64_t earliest = DelayHeap::kNever;
    auto const place = [&, limit, from, clock, ring](TimerTaskEntry& entry,
                                                     unsigned list) noexcept {
        std::int64_t const deadline = entry.deadline().value();
        if (deadline <= clock) return false;
        TimerTaskList const* bucket = nullptr;
        if (deadline >= limit || deadline < from) {
            bucket = &linkElsewhere(entry, Tick{deadline}, list);
            if (bucket->level() >= above) --lower;
        } else if (isFinest) {
            bucket = &linkFinest(entry, deadline, list);
            earliest = std::min(earliest, deadline);
        } else {
            bucket = &linkFrom(list, entry, {ring, ring->nearSlotsBehind(deadline)});
        }
        ++lower;
        TIMINGWHEEL_PROBE_2(cascade, &entry, bucket);
        return true;
    };
    flushed_.placeAll(left, place);
    if (earliest != DelayHeap::kNever)
        heap_.noteFinest(
            static_cast<std::uint32_t>(finest_->slotAt(finest_->ticksBehind(earliest))), earliest);
    atMost -= most - left;
    return lower;
}

void RawTimingWheel::gatherAll() noexcept {
    gathered_.addAll(flushed_.list());
    flushed_.forgetBucket();
    heap_.forEach([&](DelayHeap::Item const& item) { gathered_.addAll(*item.bucket); });
}

void RawTimingWheel::restart(Tick tick) noexcept {
    gatherAll();
    while (!heap_.empty()) disarmEarliest();
    assert(tick.value() >= origin_);
    clock_ = tick.value();
    for (TimingWheelLevel& level : levels_) level.restart(origin_);
    nextTurn_ = levels_.front().nextTurn();
    noteQuiet();
}

TimerTaskEntry* RawTimingWheel::takeAny() noexcept {
    if (!gathered_.empty()) return takeGathered();
    if (hasFlushed()) return &takeFlushed();
    while (!heap_.empty() && heap_.top().bucket->empty()) disarmEarliest();
    return heap_.empty() ? nullptr : &heap_.top().bucket->takeFirst();
}

/// Null behind the last. What leaves a bucket by a flush goes to a place behind it.
TimerTaskList* RawTimingWheel::bucketAt(WalkPlace const& place) noexcept {
    if (place.level < levels_.size()) return &levels_[place.level].bucket(place.slot);
    if (place.level > levels_.size() || place.slot > 1) return nullptr;
    return place.slot == 0 ? &flushed_.list() : &gathered_.list();
}

TimerTaskList::List* RawTimingWheel::nextList(WalkPlace& place, std::size_t& buckets) noexcept {
    for (; buckets > 0; --buckets) {
        TimerTaskList* const bucket = bucketAt(place);
        if (bucket == nullptr) return nullptr;
        for (; place.list < bucket->lists(); ++place.list)
            if (!TimerTaskList::isEmpty(bucket->list(place.list))) return &bucket->list(place.list);
        place.list = 0;
        ++place.slot;
        if (place.level < levels_.size() && place.slot == levels_[place.level].size()) {
            ++place.level;
            place.slot = 0;
        }
    }
    return nullptr;
}

void RawTimingWheel::checkInvariants(Deadlines deadlines) const {
    std::unordered_map<TimerTaskList const*, std::int64_t> heap;
    heap_.forEach([&](DelayHeap::Item const& item) { heap[item.bucket] = item.expiration; });

    auto const check = [&](TimingWheelLevel const& level, TimerTaskList const& bucket) {
        std::int64_t const expiration = bucket.expiration();
        auto const require = [&](bool holds, char const* invariant, std::int64_t value) {
            if (holds) return;
            std::ostringstream message;
            message << invariant << " is broken at level " << level.number() << ", slot "
                    << bucket.slot() << ", expiration " << expiration << ", level's clock "
                    << level.clock() << ": " << value;
            throw std::logic_error{message.str()};
        };
        auto const item = heap.find(&bucket);
        std::int64_t const inHeap = item == heap.end() ? TimerTaskList::kUnarmed : item->second;
        require(bucket.isArmed() == (item != heap.end()), "H1 (in the heap while armed)",
                expiration);
        require(inHeap == expiration, "H2 (expiration changed in the heap)", inHeap);
        require((clock_ - level.clock()) / level.granularity() == 0 &&
                    (level.clock() - origin_) % level.granularity() == 0,
                "W1 (clock is the wheel's, rounded down)", clock_);
        if (&flushed_.list() == &bucket) return;  // its entries are handed over where they are
        require(bucket.empty() || bucket.isArmed(), "W3 (holds an entry, so is armed)", expiration);

        bucket.forEach([&](TimerTaskEntry const& entry) {
            std::int64_t const deadline = entry.deadline().value();
            require(deadline >= expiration, "W3 (expiration <= deadline)", deadline);
            if (deadlines == Deadlines::mayBeLater) return;
            require((deadline - origin_) / level.granularity() % level.size() == bucket.slot(),
                    "W2 (slot of the deadline)", deadline);
            require(deadline < expiration + level.granularity(), "W3 (deadline within the slot)",
                    deadline);
            if (expiration == clock_) return;  // waits for its flush
            require(deadline >= level.clock() + level.granularity() && deadline < level.limit(),
                    "W4 (deadline within the level's range)", deadline);
        });
    };
    for (TimingWheelLevel const& level : levels_)
        for (TimerTaskList const& bucket : level.buckets()) check(level, bucket);
}

}  // namespace timingwheel::inline v1
