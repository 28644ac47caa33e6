#pragma once

#include <timingwheel/detail/platform/Standard.h>

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A set of slots, 0 to size - 1: a bitmap, then a bitmap of its words that are not 0, and so on
/// until one word is left.
///
/// Complexity     everything O(log64 of the size): one word up to 64 slots, four for 2^20 of them
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
        if (depth_ == 1) {
            words_[0] |= bitOf(slot);
            return;
        }
        for (std::uint32_t i = 0; i < depth_; ++i, slot /= 64) {
            std::uint64_t& word = wordOf(i, slot);
            std::uint64_t const before = word;
            word = before | bitOf(slot);
            if (before != 0) return;
        }
    }

    void remove(std::uint32_t slot) noexcept {
        if (depth_ == 1) {
            words_[0] &= ~bitOf(slot);
            return;
        }
        for (std::uint32_t i = 0; i < depth_; ++i, slot /= 64) {
            std::uint64_t& word = wordOf(i, slot);
            word &= ~bitOf(slot);
            if (word != 0) return;
        }
    }

    bool contains(std::uint32_t slot) const noexcept {
        return (words_[slot / 64] & bitOf(slot)) != 0;
    }

    bool empty() const noexcept { return words_[begin_[depth_ - 1]] == 0; }

    /// The next one after `slot`, in a circle: `slot` itself comes last. REQUIRES: not empty.
    std::uint32_t nextAfter(std::uint32_t slot) const noexcept {
        assert(!empty());
        if (depth_ == 1) {
            std::uint64_t const above = words_[0] & ~std::uint64_t{1} << slot;
            return firstOf(above != 0 ? above : words_[0]);
        }
        for (std::uint32_t i = 0; i < depth_; ++i, slot /= 64) {
            std::uint64_t const above = wordOf(i, slot) & ~std::uint64_t{1} << slot % 64;
            if (above != 0) return firstBelow(i, slot / 64 * 64 + firstOf(above));
        }
        return firstBelow(depth_ - 1, firstOf(words_[begin_[depth_ - 1]]));
    }

private:
    static constexpr std::uint32_t kMaxDepth = 4;

    static std::uint64_t bitOf(std::uint32_t slot) noexcept {
        return std::uint64_t{1} << slot % 64;
    }
    static std::uint32_t firstOf(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(std::countr_zero(word));
    }
    std::uint64_t& wordOf(std::uint32_t depth, std::uint32_t slot) const noexcept {
        return words_[begin_[depth] + slot / 64];
    }
    /// The first slot that a bit of the bitmap at `depth` stands for.
    std::uint32_t firstBelow(std::uint32_t depth, std::uint32_t slot) const noexcept {
        while (depth > 0) slot = slot * 64 + firstOf(words_[begin_[--depth] + slot]);
        return slot;
    }

    std::unique_ptr<std::uint64_t[]> words_;
    std::uint32_t depth_ = 0;
    std::uint32_t begin_[kMaxDepth] = {};
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
