#pragma once

#include "soak/Lifetime.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace timingwheel::soak {

/// What all lifetimes of one kind of timer left.
struct OfKind {
    std::uint64_t timers = 0;
    LedgerSum sum;
    std::uint64_t periodicRuns = 0;
    std::uint64_t wakeUps = 0;
    LatenessHistogram lateness;

    void add(Remains const& remains) noexcept;
};

/// The whole soak, up to now.
class Report {
public:
    explicit Report(std::uint64_t seed) : seed_{seed}, started_{std::chrono::steady_clock::now()} {}

    void add(Kind kind, Remains const& remains) noexcept;
    void addOperations(OperationCounts const& operations) noexcept { operations_ += operations; }

    /// Looks at the resident memory and, each few seconds, prints how far it is.
    void goOn(OperationCounts const& ofCallers, std::uint64_t findings);
    /// Tables in Markdown, and the verdict.
    std::string text(std::uint64_t findings) const;

    std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - started_; }

private:
    std::string operationsTable() const;
    std::string kindsTable() const;
    std::string outcomesTable() const;
    std::string memory() const;

    std::uint64_t const seed_;
    std::chrono::steady_clock::time_point const started_;
    std::chrono::nanoseconds said_{};
    std::array<OfKind, kKinds> kinds_;
    OperationCounts operations_;
    /// Between two timers, in bytes.
    struct Memory {
        std::int64_t resident = 0;
        std::int64_t allocated = 0;  ///< and not freed; 0 where malloc does not tell
    };
    static Memory memoryNow();
    static std::string inWords(Memory memory);

    Memory settled_;  ///< after the first minute
    Memory highest_;
    Memory last_;
};

}  // namespace timingwheel::soak
