#include "components/kafka/daemon/FarTimers.h"

#include <algorithm>
#include <stdexcept>

namespace timingwheel::inline v1::kafka {

FarTimers::FarTimers() : buckets_(kFirstBuckets, kNone) {}

std::optional<FarTimers::Timer> FarTimers::find(std::string_view id) const noexcept {
    if (size_ == 0) return std::nullopt;
    Index const found = indexOf(hash_(id));
    if (found == kNone) return std::nullopt;
    return at(found).timer;
}

void FarTimers::add(std::string_view id, Timer timer) {
    reserve();
    SipHash::Value const hash = hash_(id);
    auto const index = static_cast<Index>(size_++);
    Index& first = bucketOf(hash.low);
    at(index) = {timer, hash.low, static_cast<std::uint32_t>(hash.high), first};
    first = index;
}

/// The last entry takes the place of the one that goes. A pass goes from the last to the first, so
/// it does not miss the one that moves.
bool FarTimers::remove(std::string_view id) noexcept {
    if (size_ == 0) return false;
    Index const gone = indexOf(hash_(id));
    if (gone == kNone) return false;
    linkTo(gone) = at(gone).next;
    auto const last = static_cast<Index>(--size_);
    if (gone != last) {
        linkTo(last) = gone;
        at(gone) = at(last);
    }
    left_ = std::min(left_, size_);
    // One block stays for the next that are added.
    if (blocks_.size() > size_ / kPerBlock + 2) blocks_.pop_back();
    return true;
}

bool FarTimers::collect(std::int64_t time, std::size_t atMost, std::vector<std::int64_t>& offsets) {
    for (; left_ > 0 && atMost > 0; --atMost) {
        Timer const& timer = at(static_cast<Index>(--left_)).timer;
        if (timer.at <= time) offsets.push_back(timer.offset);
    }
    return left_ == 0;
}

std::optional<std::int64_t> FarTimers::firstAt(std::vector<std::int64_t> const& sorted) const {
    std::optional<std::int64_t> first;
    for (Index i = 0; i < size_; ++i) {
        std::int64_t const offset = at(i).timer.offset;
        if (std::binary_search(sorted.begin(), sorted.end(), offset))
            first = std::min(offset, first.value_or(offset));
    }
    return first;
}

FarTimers::Index FarTimers::indexOf(SipHash::Value hash) const noexcept {
    Index index = buckets_[hash.low & (buckets_.size() - 1)];
    while (index != kNone && (at(index).hash != hash.low ||
                              at(index).moreOfHash != static_cast<std::uint32_t>(hash.high)))
        index = at(index).next;
    return index;
}

/// What leads to an entry: its bucket, or the entry before it.
FarTimers::Index& FarTimers::linkTo(Index index) noexcept {
    Index* link = &bucketOf(at(index).hash);
    while (*link != index) link = &at(*link).next;
    return *link;
}

/// Makes room for one more.
void FarTimers::reserve() {
    if (size_ == kNone) throw std::length_error{"more far timers than 4,294,967,295"};
    if (size_ == blocks_.size() * kPerBlock)
        blocks_.push_back(std::make_unique_for_overwrite<Entry[]>(kPerBlock));
    if (size_ < buckets_.size()) return;
    buckets_ = std::vector<Index>(buckets_.size() * 2, kNone);
    for (Index i = 0; i < size_; ++i) {
        Index& first = bucketOf(at(i).hash);
        at(i).next = first;
        first = i;
    }
}

}  // namespace timingwheel::inline v1::kafka
