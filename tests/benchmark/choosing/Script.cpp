#include "Script.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace timingwheel::bench::choosing {

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

Script const& scriptOf(Request const& request) {
    static std::map<std::tuple<Mix, std::size_t, std::uint64_t>, Script> kept;
    std::tuple const key{request.mix, request.count, request.seed};
    auto const found = kept.find(key);
    if (found != kept.end()) return found->second;
    if (request.count > 100'000) kept.clear();
    return kept.try_emplace(key, request.mix, request.count, request.seed).first->second;
}

}  // namespace timingwheel::bench::choosing
