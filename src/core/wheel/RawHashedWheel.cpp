#include "core/base/OptionChecks.h"

#include <timingwheel/detail/platform/Prefetch.h>
#include <timingwheel/wheel/RawHashedWheel.h>

#include <bit>
#include <sstream>
#include <stdexcept>
#include <string>

namespace timingwheel::inline v1 {

using detail::EntryLinks;
using detail::EntryLocation;

namespace {

std::size_t checkedSlots(std::int64_t ticksPerWheel) {
    detail::requireAtLeast("ticksPerWheel", ticksPerWheel, RawHashedWheel::kMinTicksPerWheel);
    detail::requireAtMost("ticksPerWheel", ticksPerWheel, RawHashedWheel::kMaxTicksPerWheel);
    return std::bit_ceil(static_cast<std::size_t>(ticksPerWheel));
}

}  // namespace

RawHashedWheel::RawHashedWheel(HashedWheelOptions options)
    : slots_(checkedSlots(options.ticksPerWheel)),
      clock_{options.start},
      slotBits_{static_cast<unsigned>(std::countr_zero(slots_.size()))} {}

/// Releases the entries that are still here, as a bucket does, so they can be placed elsewhere.
RawHashedWheel::~RawHashedWheel() {
    while (takeAny() != nullptr) {
    }
}

HashedPlacement RawHashedWheel::place(TimerTaskEntry& entry, Tick deadline) {
    assert(!entry.isQueued());
    if (deadline <= clock_) return {};
    std::uint32_t const slot = slotOf(deadline);
    EntryLinks::setLocation(entry, {slot, slots_[slot].add(entry, turnOf(deadline))});
    return HashedPlacement{++size_ == 1};
}

HashedPlacement RawHashedWheel::move(TimerTaskEntry& entry, Tick deadline) {
    if (deadline <= clock_) {
        remove(entry);
        return {};
    }
    // For a moment the entry is in two slots, so nothing is lost if the new one finds no memory.
    EntryLocation const old = EntryLinks::locationOf(entry);
    assert(isAt(entry, old));
    std::uint32_t const slot = slotOf(deadline);
    EntryLinks::setLocation(entry, {slot, slots_[slot].add(entry, turnOf(deadline))});
    leave(old);
    return HashedPlacement{false};
}

void RawHashedWheel::remove(TimerTaskEntry& entry) noexcept {
    EntryLocation const location = EntryLinks::locationOf(entry);
    assert(isAt(entry, location));
    EntryLinks::clearLocation(entry);
    --size_;
    leave(location);
}

/// For assertions: false if the location is in another wheel.
bool RawHashedWheel::isAt(TimerTaskEntry const& entry, EntryLocation location) const noexcept {
    return location.slot < slots_.size() && location.index < slots_[location.slot].extent() &&
           slots_[location.slot].entries()[location.index] == &entry;
}

/// Indices of the visited slot must not change; the visit tidies up at its end.
void RawHashedWheel::leave(EntryLocation location) noexcept {
    HashedWheelSlot& slot = slots_[location.slot];
    slot.remove(location.index);
    if (!visiting_ || location.slot != slotOf(clock_)) slot.tidy(location.slot);
}

/// Looks ahead for the next entries of this turn, so that they are prefetched while others run.
void RawHashedWheel::findDue(HashedWheelSlot const& slot) noexcept {
    std::uint32_t const turn = turnOf(clock_);
    foundNext_ = 0;
    foundEnd_ = 0;
    while (foundEnd_ < kAhead && searched_ < slot.extent()) {
        std::size_t const index = slot.find(turn, searched_);
        searched_ = index + 1;
        if (index == slot.extent() || slot.entries()[index] == nullptr) continue;
        detail::prefetchToWrite(slot.entries()[index]);  // harmless if it moves meanwhile
        found_[foundEnd_++] = index;
    }
}

TimerTaskEntry* RawHashedWheel::takeDue() noexcept {
    if (!visiting_) return nullptr;
    HashedWheelSlot& slot = slots_[slotOf(clock_)];
    for (;;) {
        if (foundNext_ == foundEnd_) findDue(slot);
        if (foundNext_ == foundEnd_) break;
        // It may have gone since, and another entry that is due later may have its index.
        std::size_t const index = found_[foundNext_++];
        if (index >= slot.extent()) continue;
        TimerTaskEntry* const entry = slot.entries()[index];
        // Turns are compared modulo 2^32, so compare the deadline too.
        if (entry == nullptr || entry->deadline() != clock_) continue;
        EntryLinks::clearLocation(*entry);
        --size_;
        slot.remove(index);
        return entry;
    }
    visiting_ = false;
    searched_ = 0;
    slot.tidy(slotOf(clock_));
    return nullptr;
}

TimerTaskEntry* RawHashedWheel::takeAny() noexcept {
    if (empty()) return nullptr;
    while (slots_[takeAnyFrom_].empty())
        takeAnyFrom_ = (takeAnyFrom_ + 1) & static_cast<std::uint32_t>(slots_.size() - 1);
    TimerTaskEntry* const entry = slots_[takeAnyFrom_].entries().back();
    remove(*entry);
    return entry;
}

void RawHashedWheel::checkSlot(std::uint32_t number) const {
    HashedWheelSlot const& slot = slots_[number];
    auto const require = [&](bool holds, char const* invariant, std::size_t index) {
        if (holds) return;
        std::ostringstream message;
        message << invariant << " is broken at slot " << number << ", index " << index << ", clock "
                << clock_;
        throw std::logic_error{message.str()};
    };
    bool const visited = visiting_ && number == slotOf(clock_);
    std::size_t holes = 0;
    for (std::size_t index = 0; index < slot.extent(); ++index) {
        TimerTaskEntry const* const entry = slot.entries()[index];
        if (entry == nullptr) {
            ++holes;
            continue;
        }
        Tick const deadline = entry->deadline();
        require(EntryLinks::hasLocation(*entry) &&
                    EntryLinks::locationOf(*entry) == EntryLocation{number, index},
                "F1 (the entry's location is here)", index);
        require(slotOf(deadline) == number && turnOf(deadline) == slot.turns()[index],
                "F2 (slot and turn of the deadline)", index);
        require(deadline > clock_ || (deadline == clock_ && visited),
                "F4 (due later than the clock)", index);
    }
    require(slot.size() + holes == slot.extent(), "F3 (holes of a slot)", holes);
    require(slot.empty() || slot.entries().back() != nullptr, "F5 (does not end with a hole)",
            slot.extent());
    require(visited || holes <= slot.extent() / 2, "F5 (at most half are holes)", holes);
}

void RawHashedWheel::checkInvariants() const {
    std::size_t counted = 0;
    for (std::uint32_t number = 0; number < slots_.size(); ++number) {
        checkSlot(number);
        counted += slots_[number].size();
    }
    if (counted != size_) {
        std::ostringstream message;
        message << "F3 (the size) is broken: " << size_ << " counted, " << counted << " in slots";
        throw std::logic_error{message.str()};
    }
}

}  // namespace timingwheel::inline v1
