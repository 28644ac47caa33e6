#pragma once

#include <support/Figure.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <stdexcept>

/// The book that proves guarantee G3: each accepted schedule is an account with a number of its
/// own, and exactly one outcome is booked on it.
namespace timingwheel::test {

enum class Outcome : std::uint8_t { ran, cancelled, returned, rejected };

/// What was booked, summed up.
struct LedgerSum {
    std::uint64_t accepted = 0;
    std::uint64_t ran = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t returned = 0;
    std::uint64_t rejected = 0;
    std::uint64_t none = 0;     ///< accounts without an outcome
    std::uint64_t several = 0;  ///< accounts with more than one
    std::uint64_t early = 0;    ///< ran before the deadline that was last agreed upon

    LedgerSum& operator+=(LedgerSum const& other) noexcept {
        accepted += other.accepted;
        ran += other.ran;
        cancelled += other.cancelled;
        returned += other.returned;
        rejected += other.rejected;
        none += other.none;
        several += other.several;
        early += other.early;
        return *this;
    }

    friend std::ostream& operator<<(std::ostream& out, LedgerSum const& sum) {
        return out << "accepted " << sum.accepted << " = ran " << sum.ran << " + cancelled "
                   << sum.cancelled << " + returned " << sum.returned << " + rejected "
                   << sum.rejected << "; none " << sum.none << ", several " << sum.several
                   << ", early " << sum.early;
    }
};

/// Thread safety  open and book from any thread; agree by whoever alone moves that deadline;
///                sum when all is over
class Ledger {
public:
    using Id = std::uint32_t;
    using TimePoint = std::chrono::steady_clock::time_point;

    explicit Ledger(std::size_t capacity)
        : capacity_{capacity}, accounts_{std::make_unique<Account[]>(capacity)} {}

    /// A number for a schedule that is about to be tried.
    Id open(TimePoint deadline) {
        std::size_t const id = opened_.fetch_add(1, std::memory_order_relaxed);
        if (id >= capacity_) throw std::length_error{"the ledger is full"};
        agree(static_cast<Id>(id), deadline);
        return static_cast<Id>(id);
    }
    /// The schedule was accepted, or not.
    void accept(Id id) noexcept { accounts_[id].isAccepted = true; }

    bool isAccepted(Id id) const noexcept { return accounts_[id].isAccepted; }

    /// The deadline is now this one: what runs before it is early.
    void agree(Id id, TimePoint deadline) noexcept {
        accounts_[id].deadline = deadline.time_since_epoch().count();
    }

    void ran(Id id, TimePoint now) noexcept {
        accounts_[id].ranAt = now.time_since_epoch().count();
        book(id, Outcome::ran);
    }
    void book(Id id, Outcome outcome) noexcept {
        // Two bits for each outcome, so that one that comes twice is seen.
        accounts_[id].outcomes.fetch_add(bit(outcome), std::memory_order_release);
    }
    bool hasEnded(Id id) const noexcept {
        return accounts_[id].outcomes.load(std::memory_order_acquire) != 0;
    }

    bool has(Id id, Outcome outcome) const noexcept {
        return accounts_[id].outcomes.load(std::memory_order_acquire) / bit(outcome) % 4 != 0;
    }

    /// How many accounts there are, and may be.
    std::size_t opened() const noexcept { return opened_.load(std::memory_order_acquire); }
    std::size_t capacity() const noexcept { return capacity_; }

    /// How late each was that is known to have run then, after the deadline last agreed upon.
    template <class Function>
    void forEachLateness(Function&& function) const {
        for (std::size_t id = 0; id < opened(); ++id) {
            if (accounts_[id].ranAt != 0)
                function(std::chrono::nanoseconds{accounts_[id].ranAt - accounts_[id].deadline});
        }
    }

    LedgerSum sum() const noexcept {
        LedgerSum sum;
        std::size_t const opened = opened_.load(std::memory_order_acquire);
        for (std::size_t id = 0; id < opened; ++id) add(accounts_[id], sum);
        return sum;
    }

    /// Expects that the books are right.
    static void expectRight(LedgerSum const& sum) {
        EXPECT_EQ(sum.accepted, sum.ran + sum.cancelled + sum.returned + sum.rejected) << sum;
        EXPECT_EQ(sum.none, 0U) << sum;
        EXPECT_EQ(sum.several, 0U) << sum;
        EXPECT_EQ(sum.early, 0U) << sum;
    }

private:
    struct Account {
        std::int64_t deadline = 0;
        std::int64_t ranAt = 0;
        std::atomic<std::uint8_t> outcomes{0};
        bool isAccepted = false;
    };

    static std::uint8_t bit(Outcome outcome) noexcept {
        return static_cast<std::uint8_t>(1U << (2 * static_cast<unsigned>(outcome)));
    }

    static void add(Account const& account, LedgerSum& sum) noexcept {
        unsigned const outcomes = account.outcomes.load(std::memory_order_acquire);
        auto const times = [&](Outcome outcome) { return outcomes / bit(outcome) % 4; };
        std::uint64_t const all = times(Outcome::ran) + times(Outcome::cancelled) +
                                  times(Outcome::returned) + times(Outcome::rejected);
        sum.accepted += account.isAccepted ? 1U : 0U;
        sum.ran += times(Outcome::ran);
        sum.cancelled += times(Outcome::cancelled);
        sum.returned += times(Outcome::returned);
        sum.rejected += times(Outcome::rejected);
        sum.none += account.isAccepted && all == 0 ? 1U : 0U;
        sum.several += all > (account.isAccepted ? 1U : 0U) ? 1U : 0U;
        sum.early += times(Outcome::ran) > 0 && account.ranAt < account.deadline ? 1U : 0U;
    }

    std::size_t const capacity_;
    std::unique_ptr<Account[]> accounts_;
    std::atomic<std::size_t> opened_{0};
};

/// The figures of G3 of `who`, whose operations were so many; expects that the books are right.
inline void tellTheSum(std::string const& who, LedgerSum const& sum, Of operations) {
    std::cout << who << ": " << sum << '\n';
    Ledger::expectRight(sum);
    figure("G3", "accepted that did not have exactly one outcome, " + who, sum.none + sum.several,
           exactly(0), operations);
    figure("G3", "accepted, less ran, cancelled, returned and rejected, " + who,
           static_cast<double>(sum.accepted) -
               static_cast<double>(sum.ran + sum.cancelled + sum.returned + sum.rejected),
           exactly(0), operations);
}

}  // namespace timingwheel::test
