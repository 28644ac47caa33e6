#pragma once

#include "frame/Contender.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

/// What timers are used for, as scripts that are the same for every timer under measurement.
namespace timingwheel::bench::choosing {

using std::chrono::nanoseconds;

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

/// The script of the request: kept until one of a hundred thousand timers or more is wanted.
Script const& scriptOf(Request const& request);

}  // namespace timingwheel::bench::choosing
