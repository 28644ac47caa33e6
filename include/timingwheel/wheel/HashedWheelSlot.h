#pragma once

#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/TimerTaskEntry.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace timingwheel::inline v1 {

/// One slot of a flat wheel: its entries, in the order in which they arrived, of all turns.
///
/// Two parallel arrays: the turn on which an entry is due (the number of turns that the wheel has
/// made by then, cut to 32 bits), and where the entry is. So a visit reads 4 bytes an entry, 16
/// entries to a cache line, and touches no entry that is due on another turn. An entry that leaves
/// makes a hole, so the others keep their order and their indices; `tidy` closes the holes once
/// they are more than half.
///
/// Complexity     everything O(1), amortised where holes are closed; `find` O(entries / 16)
/// Memory         12 bytes an entry; 4 times that at most, for holes and for room to grow. `add`
///                and `makeRoom` allocate, and give back what has become far too large; `tidy`
///                gives back what an empty slot holds. The last holes go with the last entry
/// Thread safety  none: belongs to its wheel
class TIMINGWHEEL_API HashedWheelSlot {
public:
    /// How many entries an emptied slot keeps room for.
    static constexpr std::size_t kKept = 16;

    /// Entries and holes.
    std::size_t extent() const noexcept { return entries_.size(); }
    /// Entries without the holes.
    std::size_t size() const noexcept { return entries_.size() - holes_; }
    bool empty() const noexcept { return entries_.empty(); }
    /// How many entries there is room for.
    std::size_t capacity() const noexcept { return entries_.capacity(); }

    /// In the order of their arrival; a hole is a null pointer.
    std::span<TimerTaskEntry* const> entries() const noexcept { return entries_; }
    /// The turn of each of them, modulo 2^32; that of a hole means nothing.
    std::span<std::uint32_t const> turns() const noexcept { return turns_; }

    /// Makes room for one more. Strong exception safety.
    void makeRoom() {
        if (entries_.size() == entries_.capacity())
            grow();
        else if (entries_.capacity() > kMaySlack && entries_.size() < entries_.capacity() / 8)
            shrink();
    }

    /// Adds an entry behind all others and returns its index. Strong exception safety.
    std::size_t add(TimerTaskEntry& entry, std::uint32_t turn) {
        makeRoom();
        turns_.push_back(turn);
        entries_.push_back(&entry);
        return entries_.size() - 1;
    }

    /// Takes out the entry at `index`. No other index changes. REQUIRES: no hole.
    void remove(std::size_t index) noexcept {
        entries_[index] = nullptr;
        ++holes_;
        if (index + 1 < entries_.size()) return;
        for (; !entries_.empty() && entries_.back() == nullptr; --holes_) {
            entries_.pop_back();
            turns_.pop_back();
        }
    }

    /// Closes the holes if they are more than half, and updates the location of entries that move.
    /// Frees an empty slot's memory. REQUIRES: nobody walks through the slot, as indices change.
    void tidy(std::uint32_t number) noexcept {
        if (holes_ > entries_.size() / 2 || (entries_.empty() && entries_.capacity() > kKept))
            tidyNow(number);
    }

    /// The first index from `from` on with this turn, perhaps a hole; extent() if there is none.
    std::size_t find(std::uint32_t turn, std::size_t from) const noexcept;

private:
    /// Less room than this is not worth giving back while the slot holds something.
    static constexpr std::size_t kMaySlack = 64;

    void grow();
    void shrink() noexcept;
    void tidyNow(std::uint32_t number) noexcept;

    std::vector<std::uint32_t> turns_;
    std::vector<TimerTaskEntry*> entries_;
    std::size_t holes_ = 0;
};

}  // namespace timingwheel::inline v1
