#include <algorithm>
#include <model/TimerScenario.h>
#include <ostream>

namespace timingwheel::model {

namespace {

using std::chrono::nanoseconds;

std::int64_t saturatedProduct(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? kMax : kMin;
}

std::int64_t saturatedSum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b > 0 ? kMax : kMin;
}

/// The width of a slot of a level.
std::int64_t slotWidth(std::int64_t tick, LevelSizes const& sizes, std::size_t level) {
    std::int64_t width = tick;
    for (std::size_t below = 0; below < level; ++below)
        width = saturatedProduct(width, sizeOf(sizes, below));
    return width;
}

/// -1, 0 or 1.
std::int64_t nudge(std::uint8_t value) { return std::int64_t{value} % 3 - 1; }

Setting settingOf(std::array<std::uint8_t, Scenario::kHeadBytes> const& head) {
    using namespace std::chrono_literals;
    constexpr std::array<nanoseconds, 8> kTicks{1ms, 1ns, 7ns, 10ms, 250us, 100ms, 1h, 24h * 3650};
    constexpr std::array<nanoseconds, 4> kAlignments{0ns, 0ns, 1h, 24h};
    constexpr std::array<std::size_t, 8> kLimits{0, 0, 0, 0, 1, 2, 3, 8};
    return {.tick = kTicks[head[0] % kTicks.size()],
            .levelSizes = levelSizesOf(head[1]),
            .start = Clock::TimePoint{nanoseconds{startOf(head[2], head[3])}},
            .alignment = kAlignments[head[5] / 2 % kAlignments.size()],
            .maxPendingTimeouts = kLimits[head[4] % kLimits.size()],
            .clock = head[5] % 2 == 0 ? ClockKind::settable : ClockKind::manual};
}

/// Half of them schedule something: an empty timer shows little.
constexpr std::array kActionOf{Action::schedule,
                               Action::advance,
                               Action::schedule,
                               Action::schedule,
                               Action::cancel,
                               Action::reschedule,
                               Action::schedule,
                               Action::advance,
                               Action::scheduleAt,
                               Action::rescheduleTo,
                               Action::schedule,
                               Action::schedule,
                               Action::schedulePeriodically,
                               Action::advance,
                               Action::reschedule,
                               Action::schedule,
                               Action::scheduleAt,
                               Action::throwSomething,
                               Action::schedule,
                               Action::advance,
                               Action::jump,
                               Action::drop,
                               Action::schedulePeriodically,
                               Action::schedule,
                               Action::rescheduleTo,
                               Action::advance,
                               Action::cancel,
                               Action::advanceAhead,
                               Action::reschedule,
                               Action::cancelAll,
                               Action::stop,
                               Action::renew};

Command commandOf(Setting const& setting, std::span<std::uint8_t const> bytes) {
    std::uint8_t const when = bytes[0];
    std::uint8_t const option = bytes[5];
    Command command{};
    if (when >= 224) {
        command.when = Command::When::inDestructor;
        command.host = when % kHandles;
    } else if (when >= 128) {
        command.when = Command::When::inTask;
        command.host = when % kSlots;
    }
    command.action = kActionOf[bytes[1] % kActionOf.size()];
    command.slot = bytes[2] % kSlots;
    command.amount = amountOf(setting.tick, setting.levelSizes, bytes[3], bytes[4]);
    if (option >= 128)
        command.tolerance = nanoseconds{
            saturatedSum(slotWidth(setting.tick.count(), setting.levelSizes, option % 8U),
                         option % 16 < 8 ? 0 : option)};
    std::int64_t const tick = setting.tick.count();
    command.period = nanoseconds{
        saturatedSum(saturatedProduct(tick, 1 + option / 16), option % 8 < 4 ? 0 : tick / 3)};
    command.rate = static_cast<Rate>(option % 4);
    command.atMost = option < 192 ? std::numeric_limits<std::size_t>::max() : option % 8;
    command.waits = option % 2 == 1;
    return command;
}

}  // namespace

std::int64_t sizeOf(LevelSizes const& sizes, std::size_t level) {
    return sizes[std::min(level, sizes.size() - 1)];
}

LevelSizes levelSizesOf(std::uint8_t value) {
    constexpr std::array<std::int64_t, 8> kEven{20, 2, 3, 4, 5, 7, 16, 64};
    if (value % 16 < kEven.size()) return {kEven[value % 16]};
    switch (value % 16) {
        case 8:
            return {60, 60, 24, 7};
        case 9:
            return {2, 3};
        case 10:
            return {3, 2};
        case 11:
            return {5, 2, 7};
        case 12:
            return {2, 64, 3};
        case 13:
            return {20, 20, 20};
        case 14:
            return {10, 6, 10, 6, 24};
        default:
            return {64, 2, 2, 2};
    }
}

std::string textOf(LevelSizes const& sizes) {
    std::string text;
    for (std::int64_t const size : sizes)
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text;
}

nanoseconds amountOf(nanoseconds tickLength, LevelSizes const& sizes, std::uint8_t shape,
                     std::uint8_t value) {
    std::int64_t const tick = tickLength.count();
    switch (shape % 12) {
        case 0:
        case 1:
        case 2:
            return nanoseconds{saturatedProduct(value % 32, tick)};
        case 3:
            return nanoseconds{saturatedProduct(value, tick)};
        case 4:
            return nanoseconds{value};
        case 5:
            return nanoseconds{saturatedSum(saturatedProduct(value / 3, tick), nudge(value))};
        case 6:
        case 7: {
            std::int64_t const width = slotWidth(tick, sizes, value / 9U % 4);
            std::int64_t const whole = saturatedProduct(width, 1 + value / 3 % 3);
            return nanoseconds{saturatedSum(whole, saturatedProduct(nudge(value), tick))};
        }
        case 8: {
            std::int64_t const width = slotWidth(tick, sizes, value / 3U % 64);
            return nanoseconds{saturatedSum(width, saturatedProduct(nudge(value), tick))};
        }
        case 9:
            return nanoseconds{(std::int64_t{1} << value / 4 % 63) + value % 4 - 2};
        case 10:
            return nanoseconds{value < 192 ? saturatedProduct(-std::int64_t{value} % 64, tick)
                                           : -(std::int64_t{1} << value % 63)};
        default: {
            constexpr std::array kEnds{kMax, kMax - 1, kMin, kMin + 1, kMax / 2};
            return nanoseconds{kEnds[value % kEnds.size()]};
        }
    }
}

std::int64_t startOf(std::uint8_t shape, std::uint8_t value) {
    std::int64_t time = 0;
    switch (shape % 6) {
        case 0:
            break;
        case 1:
            time = (std::int64_t{1} << value % 63) - 5;
            break;
        case 2:
            time = -1;
            break;
        case 3:
            time = kMin + value;
            break;
        case 4:
            time = kMax - 1'000'000 - value;
            break;
        default:
            time = -(std::int64_t{1} << value % 63) - 5;
            break;
    }
    return time;
}

Scenario Scenario::decode(std::span<std::uint8_t const> bytes) {
    std::array<std::uint8_t, kHeadBytes> head{};
    std::size_t const given = std::min(bytes.size(), head.size());
    std::copy_n(bytes.begin(), given, head.begin());
    bytes = bytes.subspan(given);

    Scenario scenario{settingOf(head), {}};
    for (; bytes.size() >= kCommandBytes && scenario.commands.size() < kMostCommands;
         bytes = bytes.subspan(kCommandBytes))
        scenario.commands.push_back(commandOf(scenario.setting, bytes));
    return scenario;
}

// ---- for people -------------------------------------------------------------------------------

std::ostream& operator<<(std::ostream& out, Setting const& setting) {
    out << "tick " << setting.tick.count() << " ns, levels of " << textOf(setting.levelSizes)
        << ", start " << setting.start.time_since_epoch().count() << " ns";
    if (setting.alignment.count() != 0)
        out << ", aligned to " << setting.alignment.count() << " ns";
    if (setting.maxPendingTimeouts != 0) out << ", at most " << setting.maxPendingTimeouts;
    return out << (setting.clock == ClockKind::manual ? ", driven by a ManualClock" : "");
}

std::ostream& operator<<(std::ostream& out, Command const& command) {
    constexpr std::array<char const*, kActions> kNames{"schedule",
                                                       "scheduleAt now +",
                                                       "schedulePeriodically",
                                                       "advance",
                                                       "cancel",
                                                       "reschedule",
                                                       "rescheduleTo now +",
                                                       "jump",
                                                       "advanceAhead",
                                                       "drop",
                                                       "stop",
                                                       "renew",
                                                       "throwSomething",
                                                       "cancelAll"};
    constexpr std::array<char const*, 4> kRates{"fixedDelay", "skip", "shift", "catchUp"};
    if (command.when == Command::When::inTask) out << "when #" << command.host << " runs: ";
    if (command.when == Command::When::inDestructor)
        out << "when a capture of #" << command.host << " dies: ";
    out << '#' << command.slot << ' ' << kNames[static_cast<std::size_t>(command.action)] << ' '
        << command.amount.count() << " ns";
    if (command.action == Action::schedulePeriodically)
        return out << ", every " << command.period.count() << " ns, "
                   << kRates[static_cast<std::size_t>(command.rate)];
    if (command.tolerance.count() != 0) out << ", tolerance " << command.tolerance.count() << " ns";
    if (command.atMost < 8) out << ", at most " << command.atMost;
    return out << (command.waits ? ", and wait" : "");
}

std::ostream& operator<<(std::ostream& out, Scenario const& scenario) {
    out << scenario.setting;
    for (Command const& command : scenario.commands) out << "\n    " << command;
    return out;
}

}  // namespace timingwheel::model
