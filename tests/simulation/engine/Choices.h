#pragma once

#include "VectorClock.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace timingwheel::test::simulation {

/// One of the threads that may go on.
struct Candidate {
    ThreadId thread;
    bool isCurrent = false;     ///< it ran last: another one preempts it
    bool letsTimePass = false;  ///< it sleeps: time passes until it is woken by that
};

/// Decides whatever a run leaves open. The same choices make the same run.
class Choices {
public:
    virtual ~Choices() = default;

    /// Who goes on. The current thread comes first if it can, one that lets time pass last.
    virtual std::size_t whoGoesOn(std::span<Candidate const> candidates) = 0;
    /// Which of so many stores a load reads, counted from the newest.
    virtual std::size_t whichStore(std::size_t stores) = 0;
    /// Which of so many waiters a notification wakes.
    virtual std::size_t whichWaiter(std::size_t waiters) = 0;
    /// Whether a wait ends, or a weak compare-and-set fails, without a reason.
    virtual bool isSpurious() = 0;
    /// Whether an allocation fails that may.
    virtual bool isOutOfMemory() = 0;
    /// How many nanoseconds a step takes.
    virtual std::int64_t duration() = 0;
};

/// A walk by chance, of a temper that the seed decides as well: how often threads change, whether
/// by priorities (PCT: Burckhardt et al. 2010), how stale loads are, how time goes by.
class RandomChoices final : public Choices {
public:
    explicit RandomChoices(std::uint64_t seed);

    std::size_t whoGoesOn(std::span<Candidate const> candidates) override;
    std::size_t whichStore(std::size_t stores) override;
    std::size_t whichWaiter(std::size_t waiters) override { return below(waiters); }
    bool isSpurious() override { return oneIn(spuriousOneIn_); }
    bool isOutOfMemory() override { return oneIn(failsOneIn_); }
    std::int64_t duration() override;

private:
    std::size_t below(std::size_t bound);
    /// Never for 0.
    bool oneIn(std::size_t count) { return count != 0 && below(count) == 0; }
    std::size_t byPriority(std::span<Candidate const> candidates);

    std::mt19937_64 random_;
    bool hasPriorities_;
    std::size_t switchOneIn_;
    std::size_t staleOneIn_;
    std::size_t timePassesOneIn_;
    std::size_t spuriousOneIn_;
    std::size_t failsOneIn_;
    std::int64_t longestStep_;
    std::uint64_t lowest_ = std::uint64_t{1} << 32;
    std::vector<std::uint64_t> priorities_;
};

/// What was decided in one run, kept where the explorer, which is another process, sees it.
struct Decisions {
    static constexpr std::size_t kMost = 1 << 16;
    struct One {
        std::uint16_t taken;
        std::uint16_t of;
        bool mayDepart;  ///< all but the first alternative are departures
    };
    std::size_t toRepeat = 0;  ///< so many of them stand already
    std::size_t made = 0;
    One list[kMost];
};

/// Which of the courses with the most departures are gone through: one in so many, by the seed. All
/// with fewer are.
struct Sample {
    std::size_t oneIn = 1;
    std::minstd_rand random{1};
};

/// Goes through all decisions, one run after the other: those that stand are repeated, and what
/// follows takes the first alternative. By the first alternatives a thread goes on until it waits,
/// then comes the next, and a load reads the newest store. A run departs from that so many times at
/// most (as in delay bounding: Emmi, Qadeer and Rakamaric 2011).
class SystematicChoices final : public Choices {
public:
    static constexpr std::size_t kAnyNumber = SIZE_MAX;

    SystematicChoices(Decisions& decisions, std::size_t departures) noexcept
        : decisions_{decisions}, departuresLeft_{departures} {}

    std::size_t whoGoesOn(std::span<Candidate const> candidates) override {
        return departFromFirst(candidates.size());
    }
    std::size_t whichStore(std::size_t stores) override { return departFromFirst(stores); }
    std::size_t whichWaiter(std::size_t waiters) override { return decide(waiters, false); }
    bool isSpurious() override { return false; }
    bool isOutOfMemory() override { return departFromFirst(2) == 1; }
    std::int64_t duration() override { return 1; }

    /// Prepares the next run. False when there was none left.
    static bool next(Decisions& decisions, std::size_t departures, Sample& sample) noexcept;

private:
    std::size_t departFromFirst(std::size_t alternatives);
    std::size_t decide(std::size_t alternatives, bool mayDepart);

    Decisions& decisions_;
    std::size_t departuresLeft_;
};

}  // namespace timingwheel::test::simulation
