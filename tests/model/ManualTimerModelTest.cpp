#include <support/Effort.h>
#include <support/Figure.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <model/TimerSimulation.h>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A ManualTimer and a std::multimap are put through random commands, from hostile starts of the
// clock, also from inside tasks and destructors. TIMINGWHEEL_SEED=<seed> runs a failure again,
// TIMINGWHEEL_STRESS_SCALE=<n> makes it n times as many.

namespace timingwheel::model {
namespace {

using Head = std::array<std::uint8_t, Scenario::kHeadBytes>;
using CommandBytes = std::array<std::uint8_t, Scenario::kCommandBytes>;

/// What is drawn and shrunk: a command at a time.
struct Draft {
    Head head;
    std::vector<CommandBytes> commands;

    std::vector<std::uint8_t> bytes() const {
        std::vector<std::uint8_t> all{head.begin(), head.end()};
        for (CommandBytes const& command : commands)
            all.insert(all.end(), command.begin(), command.end());
        return all;
    }

    friend std::ostream& operator<<(std::ostream& out, Draft const& draft) {
        out << Scenario::decode(draft.bytes()) << "\nas bytes, for tests/fuzz/corpus:\n"
            << std::hex << std::setfill('0');
        for (std::uint8_t const byte : draft.bytes()) out << std::setw(2) << unsigned{byte};
        return out << std::dec;
    }
};

template <class Bytes>
rc::Gen<Bytes> bytes() {
    // Any byte at any size: what is small is decided by Scenario.
    return rc::gen::container<Bytes>(
        rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint8_t>()));
}

rc::Gen<Draft> drafts() {
    return rc::gen::map(rc::gen::pair(bytes<Head>(), rc::gen::container<std::vector<CommandBytes>>(
                                                         bytes<CommandBytes>())),
                        [](std::pair<Head, std::vector<CommandBytes>> drawn) {
                            return Draft{drawn.first, std::move(drawn.second)};
                        });
}

// G1, G8, G12, G13, G14, G15, G28
TEST(ManualTimerModel, AgreesWithAMultimapAfterEveryCommand) {
    RecordProperty("keeps", "what rapidcheck makes once");
    test::Watchdog const watchdog{"the model test", std::chrono::seconds{50}};
    std::string const seed = std::to_string(test::seedOr(20'240'131));
    setenv("RC_PARAMS", ("seed=" + seed).c_str(), 0);  // what rapidcheck reads, and prints
    rc::detail::TestParams parameters = rc::detail::configuration().testParams;
    parameters.maxSuccess = static_cast<int>(test::scaled(5'000));
    std::uint64_t commands = 0;
    TimerSimulation::Comparisons comparisons;
    auto const result = rc::detail::checkTestable(
        [&commands, &comparisons] {
            Scenario const scenario = Scenario::decode((*drafts()).bytes());
            commands += scenario.commands.size();
            try {
                TimerSimulation::compare(scenario, comparisons);
            } catch (std::logic_error const& error) {
                RC_FAIL(error.what());
            }
        },
        rc::detail::TestMetadata{}, parameters);
    bool const agrees = result.is<rc::detail::SuccessResult>();
    test::Of const all{commands, 100'000};
    test::figure("G14", "disagreements of a ManualTimer with a multimap, in so many commands",
                 agrees ? 0 : 1, test::exactly(0), all);
    auto const tell = [](char const* promise, char const* what,
                         TimerSimulation::Comparison const& respect, std::uint64_t asked) {
        test::figure(promise, what, respect.wrong, test::exactly(0), {respect.made, asked});
    };
    tell("G8", "of those, in what was compared inside tasks and dying captures", comparisons.inside,
         300'000);
    tell("G12", "of those, runs that overtook an earlier deadline", comparisons.order, 12'500);
    tell("G13", "of those, deadlines other than the model's", comparisons.deadlines, 125'000);
    tell("G15", "of those, left although the clock had reached them", comparisons.due, 60'000);
    if (agrees) return;
    std::ostringstream message;
    printResultMessage(result, message);
    FAIL() << message.str() << "\nTIMINGWHEEL_SEED=" << seed;
}

}  // namespace
}  // namespace timingwheel::model
