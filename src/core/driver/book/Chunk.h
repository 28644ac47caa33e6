#pragma once

#include <timingwheel/detail/TimeoutEntry.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace timingwheel::inline v1::detail {

/// Entries that are due, which the driver has taken out of the wheel and enters one by one without
/// the lock.
///
/// One word decides who has an entry: it has a bit for each that is still free. The driver claims
/// an entry by clearing its bit, and so does a thread that cancels, moves or returns it, under the
/// lock. The word also says which entry the driver has claimed last, and whether a thread waits for
/// the end of that run. So one compare-and-set ends a run, begins the next, and sees who waits.
///
/// The driver touches no entry that it has not claimed, so a hook that was taken back in time may
/// be destroyed at once. docs/decisions/0013 has the states and the races.
///
/// Thread safety  claim() and noteMarked() by the driver, without the lock, where it may ask for
///                current(), too. Everything else under it
class Chunk {
public:
    /// As many as a crowded bucket has lanes: the next of each comes from memory while these run.
    static constexpr std::size_t kSize = 8;

    // The driver fills it and empties it. Under the lock.

    /// False from the first add() to end().
    bool empty() const noexcept { return count_ == 0; }
    bool isFull() const noexcept { return count_ == kSize; }
    /// REQUIRES: not full, and nothing was claimed yet.
    void add(TimeoutEntry& entry) noexcept {
        entries_[count_] = &entry;
        word_.store(word_.load(std::memory_order_relaxed) | bitOf(count_++),
                    std::memory_order_relaxed);
    }
    /// How many were not taken back: what is free, and what the driver has claimed.
    std::size_t size() const noexcept { return count_ - takenBack_; }
    /// How many the driver has claimed by now. They are counted as pending until end().
    std::size_t claimed() const noexcept {
        std::uint64_t const free = word_.load(std::memory_order_acquire) & kFree;
        return size() - static_cast<std::size_t>(std::popcount(free));
    }
    /// Empties it, and returns how many the driver has claimed. REQUIRES: none is free.
    std::size_t end() noexcept {
        word_.store(0, std::memory_order_relaxed);
        marked_.store(0, std::memory_order_relaxed);
        return std::exchange(count_, 0) - std::exchange(takenBack_, 0);
    }

    // Without the lock.

    struct Claimed {
        TimeoutEntry* entry;  ///< null if none is free
        bool isAwaited;       ///< a thread waits for the end of the run before
    };
    /// Ends the run of the last one and begins that of the next.
    Claimed claim() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        for (;;) {
            std::uint64_t const free = seen & kFree;
            if (free == 0) return {nullptr, false};
            auto const next = static_cast<std::size_t>(std::countr_zero(free));
            std::uint64_t const left = free & (free - 1);
            if (word_.compare_exchange_weak(seen, left | (next + 1) << kCurrentShift,
                                            std::memory_order_acq_rel, std::memory_order_relaxed))
                return {entries_[next], (seen & kAwaited) != 0};
        }
    }

    /// The entry that was claimed last says so now.
    void noteMarked() noexcept {
        marked_.store(marked_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    // For others, under the lock.

    /// Waits until what the driver has claimed by now says that it runs, or has expired. It says so
    /// next.
    void waitForMarks() const noexcept;

    /// Takes an entry back. Returns false if the driver has claimed it.
    bool takeBack(TimeoutEntry const& entry) noexcept {
        for (std::size_t i = 0; i < count_; ++i)
            if (entries_[i] == &entry) return takeBack(i);
        return false;
    }
    /// Takes any entry back; null if none is free.
    TimeoutEntry* takeBackAny() noexcept {
        for (std::size_t i = 0; i < count_; ++i)
            if (takeBack(i)) return entries_[i];
        return nullptr;
    }
    /// The entry that the driver has claimed last; null if there is none, or it was forgotten. To
    /// be compared only: the driver may be ending it.
    TimeoutEntry const* current() const noexcept {
        std::size_t const number = currentNumber();
        return number == 0 ? nullptr : entries_[number - 1];
    }
    /// The current one dies inside its own run. REQUIRES: this is the driver's thread.
    void forgetCurrent() noexcept { entries_[currentNumber() - 1] = nullptr; }
    /// The next claim() returns isAwaited.
    void await() noexcept { word_.fetch_or(kAwaited, std::memory_order_acq_rel); }

private:
    static constexpr std::uint64_t kFree = (std::uint64_t{1} << kSize) - 1;
    static constexpr unsigned kCurrentShift = 32;  // of the current one's number, from 1 on
    static constexpr std::uint64_t kNumber = 63;
    static constexpr std::uint64_t kAwaited = std::uint64_t{1} << 63;
    static_assert(kSize <= 32);

    std::size_t currentNumber() const noexcept {
        return word_.load(std::memory_order_acquire) >> kCurrentShift & kNumber;
    }
    static std::uint64_t bitOf(std::size_t index) noexcept { return std::uint64_t{1} << index; }

    bool takeBack(std::size_t index) noexcept {
        std::uint64_t const bit = bitOf(index);
        if ((word_.fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0) return false;
        ++takenBack_;
        return true;
    }

    std::array<TimeoutEntry*, kSize> entries_{};
    std::size_t count_ = 0;
    std::size_t takenBack_ = 0;
    std::atomic<std::uint64_t> word_{0};
    std::atomic<std::size_t> marked_{0};  // written by the driver only
};

}  // namespace timingwheel::inline v1::detail
