#pragma once

#include "components/kafka/daemon/SipHash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// Timers that are due beyond the horizon: of each when, where the state has it, and a hash of its
/// id. The rest is read from there when it comes near.
///
/// The hash has 96 bits and a secret key, so two ids that meet are not to be expected, nor to be
/// made: of 10^8 ids two meet by a chance of 10^-13.
///
/// Complexity     each call O(1), but for the table of buckets, which doubles
/// Memory         36 to 40 bytes a timer
/// Thread safety  none: one thread at a time
class FarTimers {
public:
    struct Timer {
        std::int64_t at;      // ms since 1970
        std::int64_t offset;  // of its record in the state
    };

    FarTimers();

    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept {
        return blocks_.capacity() * sizeof(Block) + blocks_.size() * kPerBlock * sizeof(Entry) +
               buckets_.capacity() * sizeof buckets_.front();
    }

    std::optional<Timer> find(std::string_view id) const noexcept;
    /// REQUIRES: it has none of that id.
    void add(std::string_view id, Timer timer);
    /// False if it has none of that id.
    bool remove(std::string_view id) noexcept;

    /// Begins a pass through all timers, also if another is under way.
    void beginPass() noexcept { left_ = size_; }
    /// Goes on with the pass, over at most `atMost`, and adds to `offsets` those that are due by
    /// `time`; some twice. True at its end: it has seen all that were there at its beginning and
    /// still are.
    bool collect(std::int64_t time, std::size_t atMost, std::vector<std::int64_t>& offsets);
    /// The first of these offsets, in order, that a timer has. O(all).
    std::optional<std::int64_t> firstAt(std::vector<std::int64_t> const& sorted) const;

private:
    using Index = std::uint32_t;
    static constexpr Index kNone = 0xffff'ffff;
    static constexpr std::size_t kPerBlock = 4'096;
    static constexpr std::size_t kFirstBuckets = 64;

    struct Entry {
        Timer timer;
        std::uint64_t hash;
        std::uint32_t moreOfHash;
        Index next;  // of its bucket
    };
    static_assert(sizeof(Entry) == 32);
    using Block = std::unique_ptr<Entry[]>;

    Entry& at(Index index) const noexcept { return blocks_[index / kPerBlock][index % kPerBlock]; }
    Index& bucketOf(std::uint64_t hash) noexcept { return buckets_[hash & (buckets_.size() - 1)]; }
    Index indexOf(SipHash::Value hash) const noexcept;
    Index& linkTo(Index index) noexcept;
    void reserve();

    SipHash const hash_;
    std::vector<Block> blocks_;
    std::vector<Index> buckets_;  // the first entry of each
    std::size_t size_ = 0;
    std::size_t left_ = 0;  // of the pass: entries before this one
};

}  // namespace timingwheel::inline v1::kafka
