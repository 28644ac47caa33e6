#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

/// What all benchmarks share: who takes part, what is asked of whom, and what is answered.
namespace timingwheel::bench {

inline constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// What the pages and the plan of a run need to know about a contender.
struct Description {
    std::string id;     ///< on the command line: one word
    std::string title;  ///< in tables
    std::string usage;  ///< how it is used here, for the page
    /// Beyond that many pending timers a round would take minutes.
    std::size_t largest = kAnyNumber;
};

/// Of a curve: what is pending, and what is scheduled and cancelled meanwhile.
enum class Delays {
    random,   ///< all from a minute to an hour away; random ones are cancelled
    shorter,  ///< the pending ones from half an hour to an hour away; those that come and go a
              ///< minute or two: requests among sessions
};

/// Timeouts of one kind. They begin at random times within `span`, with a random delay each.
struct Mix {
    std::chrono::nanoseconds shortest{};
    std::chrono::nanoseconds longest{};
    std::chrono::nanoseconds span{};
    /// How many in a hundred are cancelled, at a random time up to `answeredWithin` after they
    /// began; no shortest delay is over by then.
    int cancelledPercent = 0;
    std::chrono::nanoseconds answeredWithin{};
    /// How often each is pushed back by its whole delay, after a random part, up to a fifth, of it.
    int pushBacks = 0;

    friend auto operator<=>(Mix const&, Mix const&) = default;
};

/// One measurement that is asked for. A load takes of it what it needs.
struct Request {
    std::string load;
    std::size_t count = 1'000;
    std::uint64_t seed = 1;
    int threads = 1;
    std::chrono::nanoseconds tick = std::chrono::milliseconds{1};
    std::chrono::nanoseconds budget = std::chrono::milliseconds{100};
    Delays delays = Delays::random;
    std::int64_t wheelSize = 20;
    /// Of the loads of a wheel; 0: as many as are pending, but a million at least, five at most.
    std::size_t operations = 0;
    /// The tolerance is the delay divided by this; 0: none.
    int toleranceDivisor = 0;
    Mix mix;
};

/// Names and values of what was measured.
using Result = std::map<std::string, double>;

/// Only a whole load is called through a pointer: inside it everything is known at compile time, so
/// that nothing is added to what an operation costs.
using Load = std::function<Result(Request const&)>;
using LoadsByName = std::map<std::string, Load>;

struct Contender {
    Description description;
    LoadsByName loads;
};

/// All contenders whose files are linked, by their ids.
inline std::map<std::string, Contender>& contenders() {
    static std::map<std::string, Contender> all;
    return all;
}

/// A contender's file has one of these; that is all it takes to be measured.
struct Registration {
    Registration(Description description, LoadsByName loads) {
        std::string const id = description.id;
        contenders().emplace(id, Contender{std::move(description), std::move(loads)});
    }
};

}  // namespace timingwheel::bench
