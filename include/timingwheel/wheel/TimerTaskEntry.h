#pragma once

#include <timingwheel/Tick.h>

#include <boost/intrusive/list_hook.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <cstdint>

namespace timingwheel::inline v1 {

namespace detail {
template <int boostVersion>
struct TimerTaskTag;
/// With a tag of its own, so that an entry may have other hooks beside it. The tag, with Boost's
/// version, is part of the name of every Boost.Intrusive function for these links. If a program and
/// the compiled library use two versions of Boost, the linker thus confuses none.
using TimerTaskLinks =
    boost::intrusive::list_base_hook<boost::intrusive::tag<TimerTaskTag<BOOST_VERSION>>,
                                     boost::intrusive::void_pointer<TimerTaskTag<BOOST_VERSION>*>,
                                     boost::intrusive::link_mode<boost::intrusive::safe_link>>;
}  // namespace detail

/// One timeout as a wheel sees it: two links and a deadline.
///
/// Derive from it to put objects of your own into a `TimingWheel`. The links belong to the bucket
/// that holds the entry. The entry need not know which one that is: the lists are circular.
///
/// The deadline shares its word with four bits that belong to the entry's owner. RawTimingWheel
/// reads the deadline, once per placement, and writes the word only in add and reschedule, with the
/// bits 0. So an owner may move the deadline of a queued entry to a *later* tick at any time, even
/// from another thread. The wheel sees that when the entry's bucket expires, and places the entry
/// again. Beyond the wheel's reach() it does so once in every turn of its coarsest level.
///
/// Memory         24 bytes
/// Thread safety  the word is atomic; the links are guarded like the wheel
/// Lifetime       the user's; an entry must leave its wheel before it dies (asserted)
class TimerTaskEntry : public detail::TimerTaskLinks {
public:
    static constexpr unsigned kOwnerBits = 4;

    TimerTaskEntry() noexcept = default;
    /// A copy is a new entry with the same deadline, in no wheel.
    TimerTaskEntry(TimerTaskEntry const& other) noexcept
        : detail::TimerTaskLinks{}, word_{pack(other.deadline(), 0)} {}
    /// Changes nothing: the entry stays where it is, with its own deadline.
    TimerTaskEntry& operator=(TimerTaskEntry const&) noexcept { return *this; }

    Tick deadline() const noexcept { return deadlineOf(word_.load(std::memory_order_relaxed)); }

    /// True while the entry is in a wheel.
    bool isQueued() const noexcept { return this->next_ != nullptr; }

    static constexpr std::uint64_t pack(Tick deadline, unsigned ownerBits) noexcept {
        return static_cast<std::uint64_t>(deadline.value()) << kOwnerBits | ownerBits;
    }
    static constexpr Tick deadlineOf(std::uint64_t word) noexcept {
        return Tick::exactly(static_cast<std::int64_t>(word) >> kOwnerBits);
    }
    static constexpr unsigned ownerBitsOf(std::uint64_t word) noexcept {
        return static_cast<unsigned>(word & ((1U << kOwnerBits) - 1));
    }

    /// Deadline and owner's bits: for the owner.
    std::atomic<std::uint64_t>& word() noexcept { return word_; }
    std::atomic<std::uint64_t> const& word() const noexcept { return word_; }
    /// Stores a deadline into the word, with the owner's bits 0.
    void setDeadline(Tick deadline) noexcept {
        word_.store(pack(deadline, 0), std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> word_{0};
};

static_assert(sizeof(TimerTaskEntry) == 24 || sizeof(void*) != 8);

}  // namespace timingwheel::inline v1
