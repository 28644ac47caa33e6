#include "Script.h"

#include <algorithm>
#include <array>
#include <random>

namespace timingwheel::choosing {

std::span<Mix const> mixes() noexcept {
    using namespace std::chrono_literals;
    static constexpr std::array<Mix, 5> kMixes{{
        {.id = "pacing",
         .name = "media pacing",
         .title = "media, pacing",
         .shortest = 5ms,
         .longest = 20ms,
         .span = 1s},
        {.id = "requests",
         .name = "request timeouts",
         .title = "request timeouts",
         .shortest = 100ms,
         .longest = 30s,
         .span = 30s,
         .cancelledPercent = 99,
         .answeredWithin = 80ms},
        {.id = "idle",
         .name = "idle connections",
         .title = "heartbeats, idle connections",
         .shortest = 1min,
         .longest = 5min,
         .span = 5min,
         .pushBacks = 10},
        {.id = "orders",
         .name = "orders",
         .title = "orders",
         .shortest = 30min,
         .longest = 30min,
         .span = 30min},
        {.id = "sessions",
         .name = "sessions",
         .title = "sessions, leases",
         .shortest = 1h,
         .longest = 24h,
         .span = 24h},
    }};
    return kMixes;
}

Script::Script(Mix const& mix, std::size_t count, std::uint64_t seed) : delays(count) {
    std::mt19937_64 random{seed};
    auto const between = [&](nanoseconds low, nanoseconds high) {
        // Not std::uniform_int_distribution: the same numbers with any standard library.
        auto const range = static_cast<std::uint64_t>((high - low).count()) + 1;
        return low + nanoseconds{static_cast<std::int64_t>(random() % range)};
    };
    for (std::uint32_t id = 0; id < count; ++id) {
        nanoseconds const delay = delays[id] = between(mix.shortest, mix.longest);
        nanoseconds time = between(nanoseconds{}, mix.span);
        steps.push_back({time, id, Step::What::begin});
        if (random() % 100 < static_cast<unsigned>(mix.cancelledPercent))
            steps.push_back(
                {time + between(nanoseconds{1}, mix.answeredWithin), id, Step::What::cancel});
        for (int i = 0; i < mix.pushBacks; ++i) {
            time += between(nanoseconds{1}, delay / 5);
            steps.push_back({time, id, Step::What::pushBack});
        }
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](Step const& a, Step const& b) { return a.time < b.time; });
}

}  // namespace timingwheel::choosing
