#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace timingwheel::bench {

/// How long each of very many calls took: a histogram of 64 classes for each power of two, so that
/// a percentile is at most 1.6 % too high. It never allocates, which would be one of the delays
/// that it is to find.
class Latencies {
public:
    void add(std::chrono::nanoseconds time) noexcept {
        auto const ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
        ++counts_[classOf(ns)];
        ++total_;
        longest_ = std::max(longest_, ns);
    }

    std::size_t total() const noexcept { return total_; }
    double maxUs() const noexcept { return static_cast<double>(longest_) / 1e3; }

    /// The time that `part` of the calls, 0 to 1, did not exceed.
    double percentileUs(double part) const noexcept {
        auto const wanted = static_cast<std::size_t>(part * static_cast<double>(total_));
        std::size_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted) return static_cast<double>(std::min(endOf(i), longest_)) / 1e3;
        }
        return maxUs();
    }

private:
    static constexpr unsigned kBits = 6;
    static constexpr std::uint64_t kClasses = 1U << kBits;

    static std::size_t classOf(std::uint64_t ns) noexcept {
        if (ns < kClasses) return ns;
        auto const shift = static_cast<unsigned>(std::bit_width(ns)) - kBits - 1;
        return (shift + 1) * kClasses + ((ns >> shift) - kClasses);
    }

    /// The longest time of a class.
    static std::uint64_t endOf(std::size_t index) noexcept {
        if (index < kClasses) return index;
        auto const shift = static_cast<unsigned>(index / kClasses) - 1;
        return ((index % kClasses + kClasses + 1) << shift) - 1;
    }

    std::array<std::size_t, (64 - kBits + 1) * kClasses> counts_{};
    std::size_t total_ = 0;
    std::uint64_t longest_ = 0;
};

}  // namespace timingwheel::bench
