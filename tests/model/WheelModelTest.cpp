#include <support/Figure.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <model/WheelSimulation.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// Random operations on both wheels. A failure prints its seed and the shortest list of operations
// that was found to fail; TIMINGWHEEL_SEED=<seed> runs it again, and TIMINGWHEEL_ROUNDS=<n> runs
// more of them.

namespace timingwheel::model::wheel {
namespace {

/// What a seed stands for.
class Generator {
public:
    explicit Generator(std::uint64_t seed) : random_{seed} {}

    /// Draws the sizes of levels if there are none.
    Setting setting(LevelSizes sizes) {
        sizes_ = std::move(sizes);
        if (sizes_.empty())
            for (std::int64_t left = 1 + below(5); left > 0; --left)
                sizes_.push_back(2 + below(below(3) == 0 ? 200 : 20));
        std::int64_t start = 0;
        switch (below(6)) {
            case 0:
                break;
            case 1:
                start = (std::int64_t{1} << below(59)) - 5;
                break;
            case 2:
                start = -1;
                break;
            case 3:
                start = Tick::kMin;
                break;
            case 4:
                start = Tick::kMax - 1'000'000;
                break;
            default:
                start = -below(100'000);
                break;
        }
        bool const pushesBack = below(2) == 0;
        return {sizes_, Tick{start}, pushesBack, below(2) == 0};
    }

    std::vector<Operation> operations(std::size_t count) {
        // Half of them are additions: a wheel that is empty most of the time shows little.
        constexpr Kind kKinds[] = {Kind::add,
                                   Kind::add,
                                   Kind::add,
                                   Kind::add,
                                   Kind::add,
                                   Kind::reschedule,
                                   Kind::reschedule,
                                   Kind::cancel,
                                   Kind::advanceBy,
                                   Kind::advanceBy,
                                   Kind::advanceBy,
                                   Kind::advanceToNextExpiration,
                                   Kind::pushBack,
                                   Kind::pushBack,
                                   Kind::advanceToNextExpiration,
                                   Kind::whenDueAddSelf,
                                   Kind::whenDueMoveOther,
                                   Kind::whenDueCancelOther,
                                   Kind::whenDueThrow,
                                   Kind::whenDuePushBackOther};
        std::vector<Operation> operations;
        for (std::size_t i = 0; i < count; ++i) {
            Kind kind = kKinds[static_cast<std::size_t>(below(std::size(kKinds)))];
            if (below(40) == 0) kind = Kind::takeAny;
            if (below(20) == 0) kind = Kind::advanceClockBy;
            constexpr Kind kBatches[] = {Kind::addAll, Kind::rescheduleAll, Kind::cancelAll,
                                         Kind::pushBackAll};
            if (below(10) == 0) kind = kBatches[below(std::size(kBatches))];
            bool const movesClock = kind == Kind::advanceBy || kind == Kind::advanceClockBy;
            operations.push_back({kind, static_cast<std::size_t>(below(kEntries)),
                                  static_cast<std::size_t>(below(kEntries)),
                                  movesClock ? step() : delay()});
        }
        return operations;
    }

private:
    std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(random_() % bound); }

    // Around the width of a level's slot: where levels and slots meet.
    std::int64_t edge(std::int64_t highest) {
        std::int64_t value = 1;
        auto const levels = static_cast<std::size_t>(below(static_cast<std::uint64_t>(highest)));
        for (std::size_t level = 0; level < levels; ++level)
            if (value <= Tick::kMax / sizeOf(sizes_, level)) value *= sizeOf(sizes_, level);
        return value * (1 + below(2)) + below(3) - 1;
    }

    std::int64_t delay() {
        switch (below(13)) {
            case 12:  // turns of a flat wheel that 32 bits cannot tell apart
                return (below(4) << 32) * sizes_.front() + below(5);
            case 0:
                return -below(10);
            case 1:
                return std::int64_t{1} << below(63);
            case 2:
                return below(8) == 0 ? INT64_MAX : below(1'000'000);
            case 3:
            case 4:
                return edge(14);
            case 5:
            case 6:
            case 7:
                return edge(3);
            case 8:
            case 9:
                return below(static_cast<std::uint64_t>(sizes_.front() * sizeOf(sizes_, 1) * 2));
            default:
                return below(5);
        }
    }

    std::int64_t step() {
        switch (below(40)) {
            case 0:
                return std::int64_t{1} << below(63);
            case 1:
                return -below(1'000);
            case 2:
            case 3:
                return edge(8);
            default:
                return below(4) == 0 ? edge(3) : below(static_cast<std::uint64_t>(sizes_.front()));
        }
    }

    std::mt19937_64 random_;
    LevelSizes sizes_;
};

template <class Wheel>
std::string failureOf(Setting setting, std::vector<Operation> const& operations) {
    try {
        Simulation<Wheel>{setting}.run(operations);
    } catch (std::logic_error const& error) {
        return error.what();
    }
    return {};
}

// Leaves out operations, more at first and then one by one, as long as it still fails.
template <class Wheel>
std::vector<Operation> shrunk(Setting setting, std::vector<Operation> operations) {
    for (std::size_t chunk = operations.size() / 2; chunk > 0;
         chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
        for (std::size_t at = 0; at < operations.size();) {
            std::vector<Operation> fewer = operations;
            auto const first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
            auto const count = std::min(chunk, operations.size() - at);
            fewer.erase(first, first + static_cast<std::ptrdiff_t>(count));
            if (failureOf<Wheel>(setting, fewer).empty())
                at += chunk;
            else
                operations = fewer;
        }
    }
    return operations;
}

std::uint64_t fromEnvironment(char const* name, std::uint64_t otherwise) {
    char const* const value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

constexpr std::size_t kOperations = 200;

std::uint64_t roundsOf(LevelSizes const& sizes) {
    return sizes.empty() || sizes.front() < 100 ? 120 : 30;
}

/// Tells of one disagreement, in a failure, or the figure of none.
template <class Wheel>
void expectAgreement(LevelSizes const& sizes, char const* figureName) {
    std::uint64_t const firstSeed = fromEnvironment("TIMINGWHEEL_SEED", 20'240'131);
    std::uint64_t const rounds = fromEnvironment("TIMINGWHEEL_ROUNDS", roundsOf(sizes));
    for (std::uint64_t seed = firstSeed; seed < firstSeed + rounds; ++seed) {
        Generator generator{seed};
        Setting const setting = generator.setting(sizes);
        std::vector<Operation> const operations = generator.operations(kOperations);
        if (failureOf<Wheel>(setting, operations).empty()) continue;

        std::vector<Operation> const fewest = shrunk<Wheel>(setting, operations);
        std::ostringstream out;
        for (Operation const& operation : fewest) out << "\n    " << operation;
        FAIL() << failureOf<Wheel>(setting, fewest) << "\nTIMINGWHEEL_SEED=" << seed
               << ", levels of " << textOf(setting.levelSizes) << ", start " << setting.start
               << (setting.pushesBack ? ", deadlines pushed back" : "")
               << (setting.usesLanes ? ", with lanes" : "") << out.str();
    }
    test::figure("G14", figureName, 0, test::exactly(0),
                 {rounds * kOperations, roundsOf(sizes) * kOperations});
}

class TimingWheelModel : public testing::TestWithParam<LevelSizes> {};

// G1, G14
TEST_P(TimingWheelModel, AgreesWithAMultimapAfterEveryOperation) {
    expectAgreement<TimingWheel<Entry>>(
        GetParam(), "disagreements of a TimingWheel with a multimap, in so many operations");
}

INSTANTIATE_TEST_SUITE_P(WheelSize, TimingWheelModel,
                         testing::Values(LevelSizes{2}, LevelSizes{3}, LevelSizes{20},
                                         LevelSizes{64}, LevelSizes{512}));
INSTANTIATE_TEST_SUITE_P(LevelSizes, TimingWheelModel,
                         testing::Values(LevelSizes{60, 60, 24, 7}, LevelSizes{2, 3, 5},
                                         LevelSizes{7, 2}, LevelSizes{3, 64, 2, 20}));
INSTANTIATE_TEST_SUITE_P(AtRandom, TimingWheelModel, testing::Values(LevelSizes{}));

class HashedWheelModel : public testing::TestWithParam<std::int64_t> {};

// G14
TEST_P(HashedWheelModel, AgreesWithAMultimapAfterEveryOperation) {
    expectAgreement<HashedWheel<Entry>>(
        {GetParam()}, "disagreements of a HashedWheel with a multimap, in so many operations");
}

INSTANTIATE_TEST_SUITE_P(TicksPerWheel, HashedWheelModel, testing::Values(1, 2, 8, 64, 512));

}  // namespace
}  // namespace timingwheel::model::wheel
