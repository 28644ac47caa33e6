#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace timingwheel::test::simulation {

/// What a simulated process leaves behind for the one that watches it.
struct Report {
    static constexpr std::size_t kMost = 1 << 20;
    std::uint64_t steps = 0;
    std::uint64_t staleLoads = 0;
    std::uint64_t switches = 0;
    char failure[kMost] = "";

    void reset() noexcept {
        steps = staleLoads = switches = 0;
        failure[0] = '\0';
    }
};

/// Where reports go; set once in each process, before it simulates.
void reportTo(Report& report) noexcept;
Report& report() noexcept;

/// One visible step of a thread. Kept so that a failure can tell how it came about.
void noteStep(unsigned thread, char const* what, void const* where, std::uint64_t value,
              void const* calledFrom) noexcept;

/// Where the program is, for a failure in a step that is not visible.
void notePlace(void const* calledFrom) noexcept;

/// Ends this run and its process: reports what is wrong, and the last steps.
[[noreturn]] void fail(std::string const& what) noexcept;

}  // namespace timingwheel::test::simulation
