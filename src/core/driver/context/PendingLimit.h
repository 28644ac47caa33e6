#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace timingwheel::inline v1::detail {

/// How many timeouts of one timer may be pending. Without a limit nothing is counted, so threads
/// share no counter.
///
/// Thread safety  any number of threads. A thread that gets the room of a timeout sees that this is
///                no longer pending, and so does not count it as such
class PendingLimit {
public:
    /// `most` 0 means no limit, and SIZE_MAX that they are only counted. `timerName` must outlive
    /// this.
    PendingLimit(std::size_t most, std::string const& timerName) noexcept
        : most_{most}, timerName_{timerName} {}

    /// Counts one more. Returns false at the limit.
    bool tryAcquire() noexcept {
        if (most_ == SIZE_MAX)
            count_.fetch_add(1, std::memory_order_relaxed);
        else if (most_ != 0)
            return acquireCounted();
        return true;
    }
    /// The same; throws RejectedExecution at the limit.
    void acquire() {
        if (!tryAcquire()) refuse();
    }
    /// Throws RejectedExecution.
    [[noreturn]] void refuse() const;
    /// Counts `count` less.
    void release(std::size_t count = 1) noexcept {
        if (most_ != 0) count_.fetch_sub(count, std::memory_order_release);
    }

    /// How many are counted. REQUIRES: there is a limit.
    std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    /// How often there was no room.
    std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

private:
    bool acquireCounted() noexcept;

    std::size_t const most_;
    std::string const& timerName_;
    std::atomic<std::size_t> count_{0};
    std::atomic<std::uint64_t> refused_{0};
};

}  // namespace timingwheel::inline v1::detail
