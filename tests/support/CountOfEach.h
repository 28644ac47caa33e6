#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace timingwheel::test {

/// Counts each of many by itself. In a sum, one that is lost makes up for one that runs twice.
///
/// Thread safety  count from any thread; the rest when all is over
class CountOfEach {
public:
    explicit CountOfEach(std::size_t size) : times_(size) {}

    void count(std::size_t which) noexcept {
        times_[which].fetch_add(1, std::memory_order_relaxed);
    }
    int of(std::size_t which) const noexcept { return times_[which].load(); }

    std::size_t size() const noexcept { return times_.size(); }
    /// How many were counted more or less often than that.
    std::size_t otherThan(int times) const noexcept {
        return size() - static_cast<std::size_t>(std::count(times_.begin(), times_.end(), times));
    }
    void reset() noexcept {
        for (auto& times : times_) times = 0;
    }

private:
    std::vector<std::atomic<int>> times_;
};

}  // namespace timingwheel::test
