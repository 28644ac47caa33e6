#pragma once

#include <timingwheel/detail/platform/LowestBit.h>
#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/detail/platform/Standard.h>

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace timingwheel::inline v1::detail {

/// A set of slots, 0 to size - 1: a bitmap, then a bitmap of its words that are not 0, and so on
/// until one word is left.
///
/// Complexity     O(log64 of the size), unless said otherwise: one word up to 64 slots, four for
///                2^20 of them
/// Memory         a bit a slot and 1.6 % more; only the constructor allocates
/// Thread safety  none
class SlotSet {
public:
    /// REQUIRES: 1 <= size <= 2^24.
    explicit SlotSet(std::uint32_t size) {
        assert(size > 0);
        std::uint32_t words = size;
        std::uint32_t all = 0;
        do {
            assert(depth_ < kMaxDepth);
            words = (words + 63) / 64;
            begin_[depth_++] = all;
            all += words;
        } while (words > 1);
        words_ = std::make_unique<std::uint64_t[]>(all);
    }

    void add(std::uint32_t slot) noexcept {
        std::uint64_t& word = words_[slot / 64];
        std::uint64_t const before = word;
        word = before | bitOf(slot);
        if (!isOneWord() && before == 0) noteWord(slot / 64);
    }

    void remove(std::uint32_t slot) noexcept {
        std::uint64_t& word = words_[slot / 64];
        word &= ~bitOf(slot);
        if (!isOneWord() && word == 0) forgetWord(slot / 64);
    }

    bool contains(std::uint32_t slot) const noexcept {
        return (words_[slot / 64] & bitOf(slot)) != 0;
    }

    bool empty() const noexcept { return words_[begin_[depth_ - 1]] == 0; }

    /// O(slots / 64).
    std::size_t size() const noexcept {
        std::size_t size = 0;
        for (std::uint32_t i = 0; i < (isOneWord() ? 1U : begin_[1]); ++i)
            size += static_cast<std::size_t>(std::popcount(words_[i]));
        return size;
    }
    /// True if there are no more than 64 slots.
    bool isOneWord() const noexcept { return depth_ == 1; }

    /// The next one after `slot`, in a circle: `slot` itself comes last. REQUIRES: not empty.
    std::uint32_t nextAfter(std::uint32_t slot) const noexcept {
        assert(!empty());
        return isNextInWord(slot) ? nextInWord(slot) : nextWordAfter(slot / 64);
    }

    /// True if the word of `slot` is known to hold the next one after it.
    bool isNextInWord(std::uint32_t slot) const noexcept {
        return isOneWord() || words_[slot / 64] >> 1U >> slot % 64 != 0;
    }
    /// Removes `slot`, and returns the next one after it. O(1). REQUIRES: isNextInWord(slot).
    std::uint32_t removeInWord(std::uint32_t slot) noexcept {
        std::uint32_t const next = nextInWord(slot);
        words_[slot / 64] &= ~bitOf(slot);
        return next;
    }

private:
    static constexpr std::uint32_t kMaxDepth = 4;

    static std::uint64_t bitOf(std::uint32_t slot) noexcept {
        return std::uint64_t{1} << slot % 64;
    }
    /// Whether there is one above `slot` is chance. So the word is turned: no branch.
    std::uint32_t nextInWord(std::uint32_t slot) const noexcept {
        std::uint64_t const turned = std::rotr(words_[slot / 64], static_cast<int>(slot + 1));
        return slot / 64 * 64 + (slot + 1 + lowestBit(turned)) % 64;
    }
    std::uint64_t& wordOf(std::uint32_t depth, std::uint32_t slot) const noexcept {
        return words_[begin_[depth] + slot / 64];
    }

    // The bitmaps of words seldom change, and are seldom searched. Inline, they would save
    // registers for all.
    TIMINGWHEEL_NO_INLINE void noteWord(std::uint32_t number) noexcept {
        for (std::uint32_t i = 1; i < depth_; ++i, number /= 64) {
            std::uint64_t& word = wordOf(i, number);
            std::uint64_t const before = word;
            word = before | bitOf(number);
            if (before != 0) return;
        }
    }
    TIMINGWHEEL_NO_INLINE void forgetWord(std::uint32_t number) noexcept {
        for (std::uint32_t i = 1; i < depth_; ++i, number /= 64) {
            std::uint64_t& word = wordOf(i, number);
            word &= ~bitOf(number);
            if (word != 0) return;
        }
    }
    /// The first slot of the next word in the circle.
    TIMINGWHEEL_NO_INLINE std::uint32_t nextWordAfter(std::uint32_t number) const noexcept {
        for (std::uint32_t i = 1; i < depth_; ++i, number /= 64) {
            std::uint64_t const above = wordOf(i, number) & ~std::uint64_t{1} << number % 64;
            if (above != 0) return firstBelow(i, number / 64 * 64 + lowestBit(above));
        }
        return firstBelow(depth_ - 1, lowestBit(words_[begin_[depth_ - 1]]));
    }
    /// The first slot that a bit of the bitmap at `depth` stands for.
    std::uint32_t firstBelow(std::uint32_t depth, std::uint32_t slot) const noexcept {
        while (depth > 0) slot = slot * 64 + lowestBit(words_[begin_[--depth] + slot]);
        return slot;
    }

    std::unique_ptr<std::uint64_t[]> words_;
    std::uint32_t depth_ = 0;
    std::uint32_t begin_[kMaxDepth] = {};
};

}  // namespace timingwheel::inline v1::detail
