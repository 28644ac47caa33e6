#include <algorithm>
#include <array>
#include <chrono>
#include <model/TimerScenario.h>
#include <model/WheelScenario.h>
#include <ostream>

namespace timingwheel::model::wheel {

namespace {

using std::chrono::nanoseconds;

/// Half of them are additions: a wheel that is empty most of the time shows little.
constexpr std::array kKindOf{Kind::add,
                             Kind::advanceBy,
                             Kind::add,
                             Kind::reschedule,
                             Kind::add,
                             Kind::cancel,
                             Kind::add,
                             Kind::advanceToNextExpiration,
                             Kind::add,
                             Kind::pushBack,
                             Kind::advanceBy,
                             Kind::whenDueAddSelf,
                             Kind::whenDueMoveOther,
                             Kind::whenDueCancelOther,
                             Kind::whenDuePushBackOther,
                             Kind::whenDueThrow,
                             Kind::advanceClockBy,
                             Kind::takeAny};

/// What the last few numbers stand for, so that the corpus keeps its meaning.
constexpr std::array kBatches{Kind::addAll, Kind::rescheduleAll, Kind::cancelAll,
                              Kind::pushBackAll};
constexpr std::size_t kFirstBatch = 256 - kBatches.size();

Kind kindOf(std::size_t byte) {
    return byte < kFirstBatch ? kKindOf[byte % kKindOf.size()] : kBatches[byte - kFirstBatch];
}

}  // namespace

WheelScenario WheelScenario::decode(std::span<std::uint8_t const> bytes) {
    std::array<std::uint8_t, kHeadBytes> head{};
    std::size_t const given = std::min(bytes.size(), head.size());
    std::copy_n(bytes.begin(), given, head.begin());
    bytes = bytes.subspan(given);

    WheelScenario scenario{.isFlat = head[0] % 2 == 1,
                           .setting = {.levelSizes = levelSizesOf(head[1]),
                                       .start = Tick{startOf(head[2], head[3])},
                                       .pushesBack = head[4] % 2 == 1,
                                       .usesLanes = head[4] % 4 > 1},
                           .operations = {}};
    constexpr nanoseconds kTick{1};  // so an amount is a number of ticks
    for (; bytes.size() >= kOperationBytes && scenario.operations.size() < kMostOperations;
         bytes = bytes.subspan(kOperationBytes)) {
        nanoseconds const amount = amountOf(kTick, scenario.setting.levelSizes, bytes[3], bytes[4]);
        scenario.operations.push_back(
            {kindOf(bytes[0]), bytes[1] % kEntries, bytes[2] % kEntries, amount.count()});
    }
    return scenario;
}

void WheelScenario::run() const {
    if (isFlat)
        Simulation<HashedWheel<Entry>>{setting}.run(operations);
    else
        Simulation<TimingWheel<Entry>>{setting}.run(operations);
}

std::ostream& operator<<(std::ostream& out, WheelScenario const& scenario) {
    out << (scenario.isFlat ? "flat, " : "") << "levels of " << textOf(scenario.setting.levelSizes)
        << ", start " << scenario.setting.start
        << (scenario.setting.pushesBack ? ", deadlines pushed back" : "")
        << (scenario.setting.usesLanes ? ", with lanes" : "");
    for (Operation const& operation : scenario.operations) out << "\n    " << operation;
    return out;
}

}  // namespace timingwheel::model::wheel
