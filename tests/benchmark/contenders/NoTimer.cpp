#include "compare/Filled.h"

#include <cstddef>

namespace timingwheel::bench {
namespace {

Result readClock(Request const& request) {
    constexpr std::size_t kReadings = 1'000;
    std::size_t readings = 0;
    auto const start = loads::Steady::now();
    auto now = start;
    do {
        for (std::size_t i = 0; i < kReadings; ++i) now = loads::Steady::now();
        readings += kReadings;
    } while (now - start < request.budget);
    return {{"ns", loads::count(now - start) / static_cast<double>(readings)}};
}

/// What one reading of the clock costs, which most timers do for each schedule.
Registration const registration{{
                                    .id = "ClockRead",
                                    .title = "clock read",
                                    .usage = "no timer: one `std::chrono::steady_clock::now()`",
                                    .variant = true,
                                },
                                {{"clock", readClock}}};

}  // namespace
}  // namespace timingwheel::bench
