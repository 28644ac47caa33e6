#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What timers are used for, as scripts that are the same for every timer under measurement.
namespace timingwheel::choosing {

using std::chrono::nanoseconds;

/// A kind of timeouts. They begin at random times within `span`, with a random delay each.
struct Mix {
    char const* id;
    /// For sentences, and in full.
    char const* name;
    char const* title;
    nanoseconds shortest;
    nanoseconds longest;
    nanoseconds span;
    /// How many in a hundred are cancelled, at a random time up to `answeredWithin` after they
    /// began; no shortest delay is over by then.
    int cancelledPercent = 0;
    nanoseconds answeredWithin{};
    /// How often each is pushed back by its whole delay, after a random part, up to a fifth, of it.
    int pushBacks = 0;
};

std::span<Mix const> mixes() noexcept;

struct Step {
    enum class What : std::uint32_t { begin, pushBack, cancel };

    nanoseconds time;
    std::uint32_t id;
    What what;
};

/// The steps in the order of time; the same for the same arguments. Neighbours in time are none in
/// memory: a timer's number says nothing of when it begins.
struct Script {
    Script(Mix const& mix, std::size_t count, std::uint64_t seed);

    std::vector<nanoseconds> delays;
    std::vector<Step> steps;
};

}  // namespace timingwheel::choosing
