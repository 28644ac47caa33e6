#pragma once

#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/detail/platform/Prefetch.h>
#include <timingwheel/wheel/RawTimingWheel.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1 {

/// A hierarchical timing wheel of the user's own objects: told the time, without thread, clock or
/// lock. For caches and simulators.
///
///     struct Lease : timingwheel::TimerTaskEntry { ... };
///     timingwheel::TimingWheel<Lease> wheel{{.wheelSize = 20}};
///     if (wheel.add(lease, timingwheel::Tick{25}).isDue()) lease.end();
///     wheel.advanceTo(timingwheel::Tick{25}, [](Lease& lease) { lease.end(); });
///
/// Built for many entries, most of them cancelled or moved before they are due. `RawTimingWheel`
/// describes how it works, what it costs and its invariants; this class only adds the type.
///
/// Order          advanceTo hands entries over by deadline; within one tick in no promised order
/// Thread safety  none: one thread at a time
/// Lifetime       entries belong to the caller, and must outlive their stay in the wheel
/// Errors         std::invalid_argument for an option out of range, std::bad_alloc if a level
///                cannot be built; both change nothing
template <std::derived_from<TimerTaskEntry> Entry>
class TimingWheel {
public:
    explicit TimingWheel(TimingWheelOptions options = {}) : raw_{std::move(options)} {}

    /// Adds an entry. The result says whether it is due already; then it was not stored.
    /// REQUIRES: the entry is in no wheel.
    Placement add(Entry& entry, Tick deadline) { return raw_.add(entry, deadline); }

    /// Takes an entry out. Returns false if it was in no wheel. REQUIRES: it is not in another one.
    bool cancel(Entry& entry) noexcept {
        if (!entry.isQueued()) return false;
        raw_.remove(entry);
        return true;
    }

    /// Moves an entry, queued or not, to another deadline. REQUIRES: it is not in another wheel.
    Placement reschedule(Entry& entry, Tick deadline) {
        return entry.isQueued() ? raw_.reschedule(entry, deadline) : raw_.add(entry, deadline);
    }

    /// Moves an entry to a deadline that is not earlier than its own, by one store: the entry stays
    /// where it is until its bucket expires, and then goes to where its deadline says. For timeouts
    /// that are pushed back often and seldom fire. Returns false, and changes nothing, if the entry
    /// is in no wheel or the deadline is earlier. Builds no level: TimerTaskEntry says what happens
    /// to deadlines that lie beyond all of them.
    bool pushBack(Entry& entry, Tick deadline) noexcept {
        if (!entry.isQueued() || deadline < entry.deadline()) return false;
        entry.TimerTaskEntry::setDeadline(deadline);
        return true;
    }

    // Batches, for a loop that has many entries at hand. Each does what the calls one by one would
    // do, in their order, but fetches the entries from memory side by side: faster where they are
    // not in the cache, which is where a wheel spends most of its time.
    //
    // deadlines[i] belongs to *entries[i]. If the lengths differ, std::invalid_argument is thrown.
    // The levels that the latest deadline needs are built first. Neither error changes anything.
    // An entry may come more than once, but not to `add`. REQUIRES: no pointer is null.
    //
    // `due(entry)` is called for each entry that is due already, and was not stored. It may do what
    // advanceTo allows, but not destroy an entry that is still to come. If it throws, the calls
    // before have taken effect, and no later one. nextExpiration() says whether a driver that
    // sleeps must wake earlier.

    /// Adds each entry. Returns how many are due. REQUIRES: they are in no wheel, and differ.
    template <std::invocable<Entry&> Due>
    std::size_t add(std::span<Entry* const> entries, std::span<Tick const> deadlines, Due&& due) {
        return placeAll(entries, deadlines, due,
                        [this](Entry& entry, Tick deadline) { return add(entry, deadline); });
    }
    /// Moves each entry, queued or not. Returns how many are due.
    template <std::invocable<Entry&> Due>
    std::size_t reschedule(std::span<Entry* const> entries, std::span<Tick const> deadlines,
                           Due&& due) {
        return placeAll(entries, deadlines, due, [this](Entry& entry, Tick deadline) {
            return reschedule(entry, deadline);
        });
    }
    /// Takes each entry out. Returns how many were in the wheel.
    std::size_t cancel(std::span<Entry* const> entries) noexcept {
        std::size_t cancelled = 0;
        forEach(entries, [&](Entry& entry, std::size_t) { cancelled += cancel(entry) ? 1U : 0U; });
        return cancelled;
    }
    /// Pushes each entry back. Returns for how many that was possible; the others are unchanged.
    std::size_t pushBack(std::span<Entry* const> entries, std::span<Tick const> deadlines) {
        requireSameLength(entries, deadlines);
        std::size_t moved = 0;
        forEach(entries, [&](Entry& entry, std::size_t i) {
            moved += pushBack(entry, deadlines[i]) ? 1U : 0U;
        });
        return moved;
    }

    /// Never later than the earliest deadline; none if no bucket is armed. O(1).
    std::optional<Tick> nextExpiration() const noexcept { return raw_.nextExpiration(); }

    /// Moves the clock to `now` and hands over every entry that is due by then, once, by deadline.
    /// Returns how many.
    ///
    /// - `due` may add, cancel and move any entry, even the one it was given.
    /// - An entry that it adds at or before the clock is due at once (`add` says so) and not handed
    ///   over here.
    /// - If `due` throws, the entry it was given counts as handed over, and the next call goes on.
    template <std::invocable<Entry&> Due>
    std::size_t advanceTo(Tick now, Due&& due) {
        // Most steps of a clock find nothing to do and skip the rest.
        if (raw_.advanceQuietly(now)) [[likely]]
            return 0;
        return handOver(now, due);
    }

    Tick currentTick() const noexcept { return raw_.currentTick(); }
    std::size_t size() const noexcept { return raw_.size(); }
    bool empty() const noexcept { return raw_.empty(); }

    /// What is where, for inspection.
    std::span<TimingWheelLevel const> levels() const noexcept { return raw_.levels(); }
    DelayHeap const& delayHeap() const noexcept { return raw_.delayHeap(); }

    /// The wheel without the type.
    RawTimingWheel& raw() noexcept { return raw_; }

    /// Throws std::logic_error that names the first broken invariant; std::bad_alloc. O(entries).
    void checkInvariants() const { raw_.checkInvariants(); }

private:
    template <class Due>
    TIMINGWHEEL_NO_INLINE std::size_t handOver(Tick now, Due& due) {
        std::size_t handedOver = 0;
        do {
            while (TimerTaskEntry* const entry = raw_.nextDue()) {
                ++handedOver;
                due(static_cast<Entry&>(*entry));
            }
        } while (raw_.flush(now) != nullptr);
        raw_.advanceClock(now);
        return handedOver;
    }

    template <class Due, class Place>
    std::size_t placeAll(std::span<Entry* const> entries, std::span<Tick const> deadlines, Due& due,
                         Place&& place) {
        requireSameLength(entries, deadlines);
        // A difference is negative if a level is missing. All of them share one sign bit, so none
        // waits for another, as in a search for the latest deadline: in the cache a tenth less.
        std::int64_t const last = raw_.reach().value() - 1;
        std::int64_t left = 0;
        for (Tick const deadline : deadlines) left |= last - deadline.value();
        if (left < 0) [[unlikely]]
            raw_.reserve(*std::max_element(deadlines.begin(), deadlines.end()));
        std::size_t dueAlready = 0;
        forEach(entries, [&](Entry& entry, std::size_t i) {
            if (!place(entry, deadlines[i]).isDue()) return;
            ++dueAlready;
            due(entry);
        });
        return dueAlready;
    }

    static void requireSameLength(std::span<Entry* const> entries,
                                  std::span<Tick const> deadlines) {
        if (entries.size() == deadlines.size()) return;
        throw std::invalid_argument{std::to_string(entries.size()) + " entries and " +
                                    std::to_string(deadlines.size()) +
                                    " deadlines: each entry must have one deadline"};
    }

    /// How many entries of a batch are prefetched ahead of the one it acts on. Their neighbours
    /// need no hint: the processor looks far enough ahead for those.
    static constexpr std::size_t kAhead = 8;
    template <class Act>
    static void forEach(std::span<Entry* const> entries, Act&& act) {
        auto const fetch = [&](std::size_t i) {
            TimerTaskEntry& entry = *entries[i];
            detail::prefetchToWrite(&entry);
            detail::prefetchToWrite(&entry.word());  // it may lie on the next line
        };
        std::size_t const ahead = (std::min)(kAhead, entries.size());
        for (std::size_t i = 0; i < ahead; ++i) fetch(i);
        std::size_t i = 0;
        for (; i + ahead < entries.size(); ++i) {
            fetch(i + ahead);
            act(*entries[i], i);
        }
        for (; i < entries.size(); ++i) act(*entries[i], i);
    }

    RawTimingWheel raw_;
};

}  // namespace timingwheel::inline v1
