#include <timingwheel/wheel/HashedWheelSlot.h>
#include <timingwheel/wheel/detail/EntryLinks.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

namespace timingwheel::inline v1 {

namespace {

constexpr std::size_t kFirstRoom = 8;
constexpr std::size_t kMostEntries = std::size_t{1} << detail::EntryLinks::kIndexBits;

// How many are compared at once, in a loop without an exit, which compilers turn into vector
// instructions.
constexpr std::size_t kBlock = 32;

}  // namespace

// If the second array finds no memory, the first just has more room than it needs.
void HashedWheelSlot::grow() {
    // No location has a larger index. Only with 32-bit links does memory not run out before, and to
    // callers both are the same.
    if (entries_.size() == kMostEntries) throw std::bad_alloc{};
    std::size_t const room = std::clamp(2 * entries_.size(), kFirstRoom, kMostEntries);
    turns_.reserve(room);
    entries_.reserve(room);
}

void HashedWheelSlot::shrink() noexcept {
    try {
        HashedWheelSlot small{*this};  // a copy has no room to spare
        small.grow();
        *this = std::move(small);
    } catch (std::bad_alloc const&) {
        // No memory to save memory with: the slot stays as large as it is.
    }
}

void HashedWheelSlot::tidyNow(std::uint32_t number) noexcept {
    if (entries_.empty()) {
        *this = HashedWheelSlot{};
        return;
    }
    std::size_t to = 0;
    for (std::size_t from = 0; from < entries_.size(); ++from) {
        if (entries_[from] == nullptr) continue;
        if (to != from) {
            entries_[to] = entries_[from];
            turns_[to] = turns_[from];
            detail::EntryLinks::setLocation(*entries_[to], {number, to});
        }
        ++to;
    }
    entries_.resize(to);
    turns_.resize(to);
    holes_ = 0;
}

std::size_t HashedWheelSlot::find(std::uint32_t turn, std::size_t from) const noexcept {
    std::uint32_t const* const turns = turns_.data();
    std::size_t const end = turns_.size();
    for (; from + kBlock <= end; from += kBlock) {
        std::uint32_t found = 0;
        std::span<std::uint32_t const, kBlock> const block{turns + from, kBlock};
        for (std::uint32_t const other : block) found |= other == turn ? 1U : 0U;
        if (found != 0) break;
    }
    while (from < end && turns[from] != turn) ++from;
    return std::min(from, end);
}

}  // namespace timingwheel::inline v1
