#pragma once

#include <timingwheel/Tick.h>
#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/HashedWheelSlot.h>
#include <timingwheel/wheel/TimerTaskEntry.h>
#include <timingwheel/wheel/detail/EntryLinks.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace timingwheel::inline v1 {

struct HashedWheelOptions {
    /// Slots: 1 to 1,073,741,824, rounded up to a power of two.
    std::int64_t ticksPerWheel = 512;
    /// Where the wheel's clock begins.
    Tick start{0};
};

/// What became of an entry that was placed, and what the caller must do next.
class [[nodiscard("an entry that is due was not stored: run it")]] HashedPlacement {
public:
    HashedPlacement() noexcept = default;
    explicit HashedPlacement(bool earliest) noexcept : stored_{true}, earliest_{earliest} {}

    /// The deadline was reached already: the entry was *not* stored, and the caller runs it.
    bool isDue() const noexcept { return !stored_; }
    /// The wheel was empty. It has a next expiration now, so the caller wakes a driver that sleeps.
    bool isEarliest() const noexcept { return earliest_; }

private:
    bool stored_ = false;
    bool earliest_ = false;
};

/// The flat hashed wheel, without the type of its entries: `HashedWheel` adds that.
///
/// One ring of slots, one tick each. An entry goes into the slot (deadline mod slots), whichever
/// turn of the ring it is due on, and stays there until it is taken or removed: nothing cascades.
/// While the wheel holds anything, it walks every tick, one by one, and searches the tick's slot
/// for what is due on this very turn. Within a tick entries come in the order of their arrival. An
/// empty wheel's clock jumps.
///
/// Built for deadlines that are mostly within a few turns, and for users who need the order of
/// arrival or a steady tick. An entry that waits for a later turn costs 4 bytes of reading at each
/// visit; the entry itself is neither read nor written. `RawTimingWheel` sleeps where this one
/// ticks, and spends nothing on what is far away.
///
/// Flow: `place` puts an entry into its slot; `beginTick` moves the clock one tick and opens the
/// visit of its slot; `takeDue` hands over what is due there, one by one, and closes the visit.
/// Nothing here calls back: functions return what the caller must know.
///
/// Worked example, 8 slots, ticks of one second, clock at 0 (slot, rounds to go):
///
///     deadline 3     slot 3, 0 rounds   taken at the first visit, at 3
///     deadline 8     slot 0, 0 rounds   the clock has left slot 0: its next visit is at 8
///     deadline 10    slot 2, 1 round    passed over at 2, taken at 10
///     deadline 17    slot 1, 2 rounds   passed over at 1 and at 9, taken at 17
///
/// Units          ticks; nothing is rounded
/// Complexity     place, remove, move and nextExpiration O(1), amortised where a slot grows or
///                closes its holes; a tick O(entries of its slot / 16 + those due)
/// Memory         56 bytes a slot, all made at once (28 KiB for 512, 56 GiB for the largest wheel);
///                12 bytes an entry in its slot's arrays, which after growing have room for twice
///                as many entries, and may be half holes. `place`, `move` and `reserve` allocate.
///                remove and walking do not; they give back what an emptied slot held
/// Thread safety  none: one thread at a time
/// Lifetime       entries belong to the caller; the wheel's destructor unlinks those it still holds
/// Errors         std::invalid_argument for an option out of range, std::bad_alloc from what
///                allocates; both change nothing
///
/// Invariants, checked by checkInvariants():
///   F1  an entry's location names the slot and the index where the wheel keeps it
///   F2  slot and turn are those of its deadline: deadline mod slots, and deadline / slots mod 2^32
///   F3  the size is the number of entries in slots
///   F4  what is in a slot is due later than the clock; while a visit is open, the visited slot
///       may also hold what is due at the clock
///   F5  a slot does not end with a hole; at most half of it are holes, except in the visited one
/// All of them require that a placed entry's deadline does not change, except by `move`.
///
/// Source: G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 6; Netty's
/// `HashedWheelTimer` (there with linked slots, whose every entry's rounds are counted down).
class TIMINGWHEEL_API RawHashedWheel {
public:
    static constexpr std::int64_t kMinTicksPerWheel = 1;
    static constexpr std::int64_t kMaxTicksPerWheel = std::int64_t{1}
                                                      << detail::EntryLinks::kSlotBits;

    explicit RawHashedWheel(HashedWheelOptions options);
    ~RawHashedWheel();
    RawHashedWheel(RawHashedWheel const&) = delete;
    RawHashedWheel& operator=(RawHashedWheel const&) = delete;

    /// The clock: the last tick that was walked, or is being walked.
    Tick currentTick() const noexcept { return clock_; }
    /// Slots: a power of two.
    std::int64_t ticksPerWheel() const noexcept { return static_cast<std::int64_t>(slots_.size()); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    /// The next tick to walk: none if the wheel is empty, the clock's own while a visit is open,
    /// otherwise the one after it, whatever is due then. O(1).
    std::optional<Tick> nextExpiration() const noexcept {
        if (empty()) return std::nullopt;
        return visiting_ ? clock_ : clock_ + 1;
    }

    /// Makes room in the slot of `deadline` for one more entry, so that the next `place` or `move`
    /// to that slot does not throw.
    void reserve(Tick deadline) {
        if (deadline > clock_) slots_[slotOf(deadline)].makeRoom();
    }

    /// Puts an entry into the slot of its deadline, unless it is due.
    /// REQUIRES: the entry is in no wheel.
    HashedPlacement place(TimerTaskEntry& entry) { return place(entry, entry.deadline()); }
    /// The same for a deadline that the caller stores into the entry afterwards, at once.
    HashedPlacement place(TimerTaskEntry& entry, Tick deadline);

    /// Moves an entry to the slot of `deadline`, behind all that is there, or takes it out if it is
    /// due by then. The caller stores the deadline into the entry afterwards, at once.
    /// REQUIRES: the entry is in this wheel.
    HashedPlacement move(TimerTaskEntry& entry, Tick deadline);

    /// Takes an entry out. REQUIRES: the entry is in this wheel.
    void remove(TimerTaskEntry& entry) noexcept;

    /// Moves the clock to the next tick and opens its visit, or goes on with an open visit. Returns
    /// false if there is none: the next tick is beyond `limit`, or the wheel is empty. An empty
    /// wheel's clock goes to `limit` at once, but never back.
    bool beginTick(Tick limit) noexcept {
        if (visiting_) return true;
        if (empty()) {
            if (limit > clock_) clock_ = limit;
            return false;
        }
        if (clock_ >= limit) return false;
        clock_ = clock_ + 1;
        visiting_ = true;
        return true;
    }

    /// Takes out the next entry that is due at this tick, in the order of arrival. If there is
    /// none, closes the visit and returns nothing. Between two calls anything may be placed, moved
    /// and removed; what is placed is for a later tick.
    TimerTaskEntry* takeDue() noexcept;

    /// Takes out any entry; nothing if the wheel is empty. The clock does not move.
    /// O(slots + entries) for all of them.
    TimerTaskEntry* takeAny() noexcept;

    /// What is where, for inspection.
    std::span<HashedWheelSlot const> allSlots() const noexcept { return slots_; }
    /// REQUIRES: the entry is in this wheel.
    static std::size_t slotOf(TimerTaskEntry const& entry) noexcept {
        return detail::EntryLinks::locationOf(entry).slot;
    }
    /// Visits of its slot that pass the entry over, before the one that takes it.
    /// REQUIRES: the entry is in this wheel.
    std::int64_t remainingRounds(TimerTaskEntry const& entry) const noexcept {
        // An entry that is due at this very tick waits for the visit that is open.
        std::int64_t const ticks = entry.deadline().value() - clock_.value();
        return ticks == 0 ? 0 : (ticks - 1) / ticksPerWheel();
    }

    /// Throws std::logic_error that names the first broken invariant; std::bad_alloc if there is no
    /// memory for that. O(slots + entries).
    void checkInvariants() const;

private:
    // Ticks as unsigned numbers wrap from the largest to 0 as slots do. So a negative tick needs no
    // special arithmetic.
    std::uint32_t slotOf(Tick tick) const noexcept {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(tick.value()) &
                                          (slots_.size() - 1));
    }
    std::uint32_t turnOf(Tick tick) const noexcept {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(tick.value()) >> slotBits_);
    }

    bool isAt(TimerTaskEntry const& entry, detail::EntryLocation location) const noexcept;
    void leave(detail::EntryLocation location) noexcept;
    void findDue(HashedWheelSlot const& slot) noexcept;
    void checkSlot(std::uint32_t number) const;

    std::vector<HashedWheelSlot> slots_;
    Tick clock_;
    std::size_t size_ = 0;
    unsigned slotBits_;
    bool visiting_ = false;

    // How far the visit is. Some indices are found ahead of time, so that entries are on their way
    // from memory while those before them run.
    static constexpr std::size_t kAhead = 8;
    std::array<std::size_t, kAhead> found_{};
    std::size_t foundNext_ = 0;
    std::size_t foundEnd_ = 0;
    std::size_t searched_ = 0;

    std::uint32_t takeAnyFrom_ = 0;
};

}  // namespace timingwheel::inline v1
