#pragma once

#include <timingwheel/wheel/RawHashedWheel.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace timingwheel::inline v1 {

/// A flat hashed wheel of the user's own objects: told the time, without thread, clock or lock.
///
///     struct Lease : timingwheel::TimerTaskEntry { ... };
///     timingwheel::HashedWheel<Lease> wheel{{.ticksPerWheel = 512}};
///     if (wheel.add(lease, timingwheel::Tick{25}).isDue()) lease.end();
///     wheel.advanceTo(timingwheel::Tick{25}, [](Lease& lease) { lease.end(); });
///
/// Built for short delays, in the order of their arrival, on a clock that ticks anyway.
/// `RawHashedWheel` describes how it works, what it costs and its invariants; this class only adds
/// the type. `TimingWheel` never walks, and needs memory only for a new level.
///
/// Order          advanceTo hands entries over by deadline; within one tick in the order in which
///                they were added or rescheduled
/// Thread safety  none: one thread at a time
/// Lifetime       entries belong to the caller, and must outlive their stay in the wheel
/// Errors         std::invalid_argument for an option out of range, std::bad_alloc if a slot cannot
///                grow; both change nothing
template <std::derived_from<TimerTaskEntry> Entry>
class HashedWheel {
public:
    explicit HashedWheel(HashedWheelOptions options = {}) : raw_{options} {}

    /// Adds an entry. The result says whether it is due already; then it was not stored.
    /// REQUIRES: the entry is in no wheel.
    HashedPlacement add(Entry& entry, Tick deadline) {
        HashedPlacement const placement = raw_.place(entry, deadline);
        entry.TimerTaskEntry::setDeadline(deadline);
        return placement;
    }

    /// Takes an entry out. Returns false if it was in no wheel. REQUIRES: it is not in another one.
    bool cancel(Entry& entry) noexcept {
        if (!entry.isQueued()) return false;
        raw_.remove(entry);
        return true;
    }

    /// Moves an entry, queued or not, to another deadline. REQUIRES: it is not in another wheel.
    HashedPlacement reschedule(Entry& entry, Tick deadline) {
        HashedPlacement const placement =
            entry.isQueued() ? raw_.move(entry, deadline) : raw_.place(entry, deadline);
        entry.TimerTaskEntry::setDeadline(deadline);
        return placement;
    }

    /// The next tick, so never later than the earliest deadline; none if the wheel is empty. O(1).
    std::optional<Tick> nextExpiration() const noexcept { return raw_.nextExpiration(); }

    /// Moves the clock to `now` and hands over every entry that is due by then, once, by deadline.
    /// Returns how many. While the wheel holds entries it walks every tick.
    ///
    /// - `due` may add, cancel and move any entry, even the one it was given.
    /// - An entry that it adds at or before the clock is due at once (`add` says so) and not handed
    ///   over here.
    /// - If `due` throws, the entry it was given counts as handed over, and the next call goes on.
    template <std::invocable<Entry&> Due>
    std::size_t advanceTo(Tick now, Due&& due) {
        std::size_t handedOver = 0;
        while (raw_.beginTick(now)) {
            while (TimerTaskEntry* const entry = raw_.takeDue()) {
                ++handedOver;
                due(static_cast<Entry&>(*entry));
            }
        }
        return handedOver;
    }

    Tick currentTick() const noexcept { return raw_.currentTick(); }
    std::size_t size() const noexcept { return raw_.size(); }
    bool empty() const noexcept { return raw_.empty(); }

    /// What is where, for inspection.
    std::span<HashedWheelSlot const> allSlots() const noexcept { return raw_.allSlots(); }
    /// REQUIRES: the entry is in this wheel.
    std::size_t slotOf(Entry const& entry) const noexcept { return raw_.slotOf(entry); }
    /// How often the entry's slot is visited before the visit that takes it.
    /// REQUIRES: the entry is in this wheel.
    std::int64_t remainingRounds(Entry const& entry) const noexcept {
        return raw_.remainingRounds(entry);
    }

    /// The wheel without the type.
    RawHashedWheel& raw() noexcept { return raw_; }

    /// Throws std::logic_error that names the first broken invariant; std::bad_alloc if there is no
    /// memory for that. O(slots + entries).
    void checkInvariants() const { raw_.checkInvariants(); }

private:
    RawHashedWheel raw_;
};

}  // namespace timingwheel::inline v1
