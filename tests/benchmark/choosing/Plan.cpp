#include "Plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <tuple>

namespace timingwheel::choosing {
namespace {

using namespace std::chrono_literals;

constexpr std::array<nanoseconds, 5> kTicks{50us, 1ms, 10ms, 100ms, 1s};
constexpr std::array<std::int64_t, 6> kWheelSizes{8, 20, 64, 256, 512, 4096};
constexpr std::int64_t kDefaultWheelSize = 20;
constexpr int kTenth = 10;

struct Sizes {
    int rounds;
    std::size_t few, some, many;
    std::vector<std::size_t> forHeaps;
};

Sizes sizesOf(std::string const& size) {
    if (size == "full") return {9, 1'000, 100'000, 1'000'000, {10, 100, 1'000, 10'000, 100'000}};
    if (size == "quick") return {5, 100, 10'000, 100'000, {10, 100, 1'000, 10'000}};
    return {1, 10, 100, 1'000, {10, 100}};
}

auto key(Run const& run) {
    return std::tuple{run.kind,
                      run.mix,
                      run.count,
                      run.setting.tick,
                      run.setting.wheelSize,
                      run.setting.toleranceDivisor};
}

class Builder {
public:
    explicit Builder(Plan& plan) : plan_{plan} {}

    void add(Kind kind, Mix const& mix, std::size_t count, Setting const& setting, bool isTimed) {
        Run const run{kind, &mix, count, setting, isTimed};
        auto const found = std::find_if(plan_.runs.begin(), plan_.runs.end(),
                                        [&](Run const& other) { return key(other) == key(run); });
        if (found == plan_.runs.end()) {
            plan_.runs.push_back(run);
        } else {
            found->isTimed |= isTimed;
        }
    }

    /// All wheel sizes with the tick that fits.
    void addWheelSizes(Kind kind, Mix const& mix, std::size_t count, int toleranceDivisor,
                       bool isTimed) {
        for (std::int64_t const wheelSize : kWheelSizes)
            add(kind, mix, count, {fittingTick(mix), wheelSize, toleranceDivisor}, isTimed);
    }

    /// All wheel sizes with the tick that fits, all ticks with the default wheel size.
    void addCross(Mix const& mix, std::size_t count, int toleranceDivisor, bool isTimed) {
        addWheelSizes(Kind::levelled, mix, count, toleranceDivisor, isTimed);
        for (nanoseconds const tick : kTicks)
            add(Kind::levelled, mix, count, {tick, kDefaultWheelSize, toleranceDivisor}, isTimed);
    }

private:
    Plan& plan_;
};

Mix const& mixCalled(std::string const& id) {
    auto const all = mixes();
    return *std::find_if(all.begin(), all.end(), [&](Mix const& mix) { return mix.id == id; });
}

/// What somebody might choose by mistake.
void addMistakes(Builder& builder, Sizes const& sizes) {
    auto const wheel = [&](char const* mix, nanoseconds tick, std::int64_t wheelSize) {
        builder.add(Kind::levelled, mixCalled(mix), sizes.some, {tick, wheelSize}, true);
    };
    wheel("requests", 1min, kDefaultWheelSize);
    wheel("sessions", 1us, kDefaultWheelSize);
    wheel("sessions", 1ms, 8);
    wheel("orders", 1ms, 1'048'576);
    builder.add(Kind::flat, mixCalled("orders"), std::min<std::size_t>(sizes.some, 10'000),
                {100ms, 8}, true);
}

}  // namespace

nanoseconds fittingTick(Mix const& mix) {
    nanoseconds fitting = kTicks.front();
    for (nanoseconds const tick : kTicks)
        if (tick <= mix.shortest / 100) fitting = tick;
    return fitting;
}

Plan plan(std::string const& size) {
    Sizes const sizes = sizesOf(size);
    Plan plan{sizes.rounds, {sizes.few, sizes.some, sizes.many}, {}};
    Builder builder{plan};
    for (Mix const& mix : mixes()) {
        for (nanoseconds const tick : kTicks)
            for (std::int64_t const wheelSize : kWheelSizes)
                builder.add(Kind::levelled, mix, sizes.some, {tick, wheelSize}, true);
        builder.addCross(mix, sizes.some, kTenth, true);
        builder.addCross(mix, sizes.few, 0, false);
        builder.addCross(mix, sizes.many, 0, false);
        // A HashedWheelTimer's tick is 1 ms at least; 100 ms and 512 slots are its defaults.
        for (nanoseconds const tick :
             {std::max<nanoseconds>(1ms, fittingTick(mix)), nanoseconds{100ms}})
            builder.add(Kind::flat, mix, sizes.some, {tick, 512}, true);
        for (std::size_t const count : sizes.forHeaps) {
            builder.addWheelSizes(Kind::levelled, mix, count, 0, true);
            builder.addWheelSizes(Kind::bare, mix, count, 0, true);
            for (Kind const kind : {Kind::heap, Kind::tree})
                builder.add(kind, mix, count, {}, true);
        }
    }
    addMistakes(builder, sizes);
    return plan;
}

}  // namespace timingwheel::choosing
