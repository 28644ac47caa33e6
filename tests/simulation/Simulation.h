#pragma once

#include <timingwheel/Clock.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

/// Deterministic simulation of programs with threads: the library, and what a test does with it,
/// run as they are, while a test decides who goes on at each step, what a load of an atomic reads,
/// and what time it is. The same choices make the same run.
///
/// Each run is a process of its own, so nothing is left from one to the next, and a crash is a
/// finding like others. A run fails when it crashes or throws, when all threads wait for ever, when
/// it does not end, when plain memory on the heap is raced for, touched after it was freed or never
/// freed, and when require() is not met. The test then fails and tells the steps that led there,
/// and the seed, or the number of the run: the same test comes to it again.
namespace timingwheel::test::simulation {

/// What a test may do on the simulated machine: it starts threads, locks, waits and sleeps with the
/// standard library. A run starts at most eight threads, its own one included.
using Body = std::function<void()>;

struct Summary {
    std::uint64_t runs = 0;
    std::uint64_t failed = 0;  ///< at most one: the first ends it
    std::uint64_t steps = 0;
    std::uint64_t switches = 0;    ///< from one thread to another
    std::uint64_t staleLoads = 0;  ///< those that did not read the newest store
    bool isComplete = true;        ///< false if it ended before all was gone through
    std::size_t oneIn = 1;         ///< of the courses with the most departures

    friend std::ostream& operator<<(std::ostream& out, Summary const& summary);
};

/// Runs `body` with so many seeds, from `first` on; just the one that TIMINGWHEEL_SEED names, if it
/// is set. Ends at the first that fails.
Summary tryAtRandom(std::uint64_t first, std::uint64_t seeds,
                    std::function<void(std::uint64_t seed)> const& body);

/// The same from a seed that nobody has chosen, which it prints. TIMINGWHEEL_EXPLORE_FROM names
/// another first seed, TIMINGWHEEL_EXPLORE another number of runs.
Summary explore(std::uint64_t runs, std::function<void(std::uint64_t seed)> const& body);

/// Goes through all that may happen to `body` with at most so many departures from the plain course
/// of things: a thread goes on until it waits, a load reads the newest store, and time passes when
/// all wait. Ends after `atMost` runs, if there are more. Of the courses with the most departures,
/// which are nearly all, it takes one in `oneIn`: the same ones each time, others with another
/// TIMINGWHEEL_SEED.
Summary tryAll(std::size_t departures, std::uint64_t atMost, Body const& body,
               std::size_t oneIn = 1);
inline constexpr std::size_t kAnyNumber = SIZE_MAX;

// For the simulated program.

/// Ends the run as failed if `holds` is false.
void require(bool holds, std::string_view otherwise);
/// While it lives, what the calling thread does is not part of the simulated program: a test's own
/// books. Nobody interrupts it, and it makes no choices.
class Aside {
public:
    Aside() noexcept;
    Aside(Aside const&) = delete;
    Aside& operator=(Aside const&) = delete;
    ~Aside();

private:
    bool wasSimulated_;
};
/// While it lives, allocations of the calling thread may fail, or again may not; the innermost one
/// says. Which of them do is left to chance like everything else.
class Scarcity {
public:
    explicit Scarcity(bool isScarce = true) noexcept;
    Scarcity(Scarcity const&) = delete;
    Scarcity& operator=(Scarcity const&) = delete;
    ~Scarcity();

private:
    bool wasScarce_;
};
/// While it lives, all allocations of the calling thread fail.
class NoMemory {
public:
    NoMemory() noexcept;
    NoMemory(NoMemory const&) = delete;
    NoMemory& operator=(NoMemory const&) = delete;
    ~NoMemory();
};
/// Is called, aside, when all threads sleep or wait: it then becomes `now`, the earliest time that
/// one of them waits for.
void onIdle(std::function<void(Clock::TimePoint now)> listener);

}  // namespace timingwheel::test::simulation
