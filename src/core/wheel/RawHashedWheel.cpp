#include "core/base/OptionChecks.h"

#include <timingwheel/detail/platform/Prefetch.h>
#include <timingwheel/wheel/RawHashedWheel.h>

#include <bit>
#include <sstream>
#include <stdexcept>
#include <string>

namespace timingwheel {
inline namespace v1 {

using detail::EntryLinks;
using detail::EntryLocation;

namespace {

std::size_t checkedSlots(std::int64_t ticksPerWheel) {
    detail::requireAtLeast("ticksPerWheel", ticksPerWheel, RawHashedWheel::kMinTicksPerWheel);
    detail::requireAtMost("ticksPerWheel", ticksPerWheel, RawHashedWheel::kMaxTicksPerWheel);
    return std::bit_ceil(static_cast<std::size_t>(ticksPerWheel));
}

[[noreturn]] void broken(char const* invariant, std::size_t slot, std::size_t index, Tick clock) {
    std::ostringstream message;
    message << invariant << " is broken at slot " << slot << ", index " << index << ", clock "
            << clock;
    throw std::logic_error{message.str()};
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

HashedPlacement RawHashedWheel::stored() noexcept {
    ++size_;
    return HashedPlacement{size_ == 1};
}

HashedPlacement RawHashedWheel::place(TimerTaskEntry& entry, Tick deadline) {
    assert(!entry.isQueued());
    if (deadline <= clock_) return {};
    std::uint32_t const slot = slotOf(deadline);
    EntryLinks::setLocation(entry, {slot, slots_[slot].add(entry, turnOf(deadline))});
    return stored();
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
    endVisit();
    return nullptr;
}

void RawHashedWheel::endVisit() noexcept {
    visiting_ = false;
    searched_ = 0;
    slots_[slotOf(clock_)].tidy(slotOf(clock_));
}

TimerTaskEntry* RawHashedWheel::takeAny() noexcept {
    if (empty()) return nullptr;
    while (slots_[takeAnyFrom_].empty())
        takeAnyFrom_ = (takeAnyFrom_ + 1) & static_cast<std::uint32_t>(slots_.size() - 1);
    HashedWheelSlot& slot = slots_[takeAnyFrom_];
    TimerTaskEntry& entry = slot.takeLast();
    EntryLinks::clearLocation(entry);
    --size_;
    if (!visiting_ || takeAnyFrom_ != slotOf(clock_)) slot.tidy(takeAnyFrom_);
    return &entry;
}

void RawHashedWheel::checkSlot(std::uint32_t number) const {
    HashedWheelSlot const& slot = slots_[number];
    bool const visited = visiting_ && number == slotOf(clock_);
    std::size_t holes = 0;
    for (std::size_t index = 0; index < slot.extent(); ++index) {
        TimerTaskEntry const* const entry = slot.entries()[index];
        if (entry == nullptr) {
            ++holes;
            continue;
        }
        if (!EntryLinks::hasLocation(*entry) ||
            EntryLinks::locationOf(*entry) != EntryLocation{number, index})
            broken("F1 (the entry's location is here)", number, index, clock_);
        if (slotOf(entry->deadline()) != number || turnOf(entry->deadline()) != slot.turns()[index])
            broken("F2 (slot and turn of the deadline)", number, index, clock_);
        if (entry->deadline() < clock_ || (entry->deadline() == clock_ && !visited))
            broken("F4 (due later than the clock)", number, index, clock_);
    }
    if (holes != slot.holes()) broken("F3 (holes of a slot)", number, holes, clock_);
    if (!slot.empty() && slot.entries().back() == nullptr)
        broken("F5 (does not end with a hole)", number, slot.extent(), clock_);
    if (!visited && holes > slot.extent() / 2)
        broken("F5 (at most half are holes)", number, holes, clock_);
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

}  // namespace v1
}  // namespace timingwheel
