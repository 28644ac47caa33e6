#pragma once

#include <timingwheel/wheel/TimerTaskEntry.h>

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// Where a flat wheel keeps an entry: which slot, and where in the slot's array.
struct EntryLocation {
    std::uint32_t slot;
    std::size_t index;

    bool operator==(EntryLocation const&) const = default;
};

/// The two links of an entry, for code that keeps it in something other than a bucket.
///
/// - A bucket of `TimingWheel` uses both.
/// - A `HashedWheel` holds its entries in arrays and needs no neighbours, but an entry has to know
///   its location. The *first* link keeps it, as an odd number; no entry lies at an odd address.
/// - A flat wheel never touches the *second* link. The wheel's owner may build singly linked lists
///   through it, even of entries that the wheel holds.
///
/// `isQueued()` says whether the first link is anything but null. An entry must have that link
/// cleared when it dies (asserted).
///
/// Complexity     everything O(1)
/// Thread safety  none: plain words, guarded like the entry
class EntryLinks {
public:
    /// Links of 32 bits, as in WebAssembly, hold locations in smaller wheels.
    static constexpr unsigned kIndexBits = sizeof(std::uintptr_t) == 8 ? 33 : 18;
    static constexpr unsigned kSlotBits = sizeof(std::uintptr_t) * 8 - 1 - kIndexBits;

    /// True while the first link is a location.
    static bool hasLocation(TimerTaskEntry const& entry) noexcept {
        return (bitsOf(linksOf(entry).next_) & 1U) != 0;
    }
    /// REQUIRES: hasLocation(entry).
    static EntryLocation locationOf(TimerTaskEntry const& entry) noexcept {
        assert(hasLocation(entry));
        std::uintptr_t const bits = bitsOf(linksOf(entry).next_);
        return {static_cast<std::uint32_t>(bits >> (1 + kIndexBits)),
                bits >> 1 & ((std::uintptr_t{1} << kIndexBits) - 1)};
    }
    static void setLocation(TimerTaskEntry& entry, EntryLocation location) noexcept {
        assert(location.slot < 1U << kSlotBits && location.index < std::size_t{1} << kIndexBits);
        // Never dereferenced, so it need not be aligned.
        linksOf(entry).next_ =
            reinterpret_cast<Node*>(std::uintptr_t{location.slot} << (1 + kIndexBits) |
                                    std::uintptr_t{location.index} << 1 | 1U);
    }
    static void clearLocation(TimerTaskEntry& entry) noexcept { linksOf(entry).next_ = nullptr; }

    /// The second link. REQUIRES: not in a bucket.
    static TimerTaskEntry* second(TimerTaskEntry const& entry) noexcept {
        Node* const node = linksOf(entry).prev_;
        return node == nullptr ? nullptr : Traits::to_value_ptr(node);
    }
    static void setSecond(TimerTaskEntry& entry, TimerTaskEntry* other) noexcept {
        linksOf(entry).prev_ = other == nullptr ? nullptr : Traits::to_node_ptr(*other);
    }

    /// The second link as the address of a cell that points back to the entry. REQUIRES: the same.
    static std::atomic<TimerTaskEntry*>* cell(TimerTaskEntry const& entry) noexcept {
        return reinterpret_cast<std::atomic<TimerTaskEntry*>*>(linksOf(entry).prev_);
    }
    static void setCell(TimerTaskEntry& entry, std::atomic<TimerTaskEntry*>* cell) noexcept {
        linksOf(entry).prev_ = reinterpret_cast<Node*>(cell);
    }

private:
    using Traits =
        boost::intrusive::list<TimerTaskEntry,
                               boost::intrusive::base_hook<TimerTaskLinks>>::value_traits;
    using Node = Traits::node_traits::node;

    static Node& linksOf(TimerTaskEntry& entry) noexcept { return *Traits::to_node_ptr(entry); }
    static Node const& linksOf(TimerTaskEntry const& entry) noexcept {
        return *Traits::to_node_ptr(entry);
    }
    static std::uintptr_t bitsOf(Node const* link) noexcept {
        return reinterpret_cast<std::uintptr_t>(link);
    }
};

}  // namespace timingwheel::inline v1::detail
