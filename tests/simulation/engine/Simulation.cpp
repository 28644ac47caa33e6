#include "../Simulation.h"

#include "Boundary.h"
#include "Choices.h"
#include "Report.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <optional>
#include <ostream>
#include <random>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace timingwheel::test::simulation {

namespace {

constexpr unsigned kLongestRun = 600;  // seconds of real time; what usually ends a run is its steps

/// Memory that a process shares with those that it starts.
template <class T>
T& makeShared() {
    void* const memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    return *new (memory) T;
}

Report& sharedReport() {
    static Report& shared = makeShared<Report>();
    return shared;
}

[[noreturn]] void runHere(Choices& choices, Body const& body) {
    alarm(kLongestRun);
    reportTo(sharedReport());
    Machine machine{choices};
    setMachine(machine);
    auto const run = [&body] {
        try {
            body();
        } catch (std::exception const& error) {
            fail(std::string{"an exception: "} + error.what());
        }
    };
    machine.scheduler.run(run, [&machine] {
        if (machine.memory.livingBlocks() != 0)
            fail(std::to_string(machine.memory.livingBlocks()) + " blocks were never freed");
    });
}

/// One thread of one run runs at a time, so a second processor would only have to be woken at each
/// hand-over. Where the system refuses, runs take longer.
bool stayOnThisProcessor() {
    int const processor = sched_getcpu();
    if (processor < 0) return false;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(processor), &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

/// Runs `body` in a process of its own; empty if it succeeded.
std::string runOnce(Summary& summary, std::function<void()> const& here) {
    [[maybe_unused]] static bool const stays = stayOnThisProcessor();
    Report& shared = sharedReport();
    shared.reset();
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        here();
        std::abort();
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return "the system starts no process";
    ++summary.runs;
    summary.steps += shared.steps;
    summary.switches += shared.switches;
    summary.staleLoads += shared.staleLoads;
    if (status == 0) return {};
    ++summary.failed;
    if (shared.failure[0] != '\0') return shared.failure;
    if (WIFSIGNALED(status))
        return std::string{"it was ended by a signal: "} + strsignal(WTERMSIG(status));
    return "it ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

namespace {

using Seeded = std::function<void(std::uint64_t seed)>;

/// A failure tells how to make the same run again.
void runSeed(Summary& summary, std::uint64_t seed, Seeded const& body) {
    std::string const failure = runOnce(summary, [&] {
        RandomChoices choices{seed};
        runHere(choices, [&] { body(seed); });
    });
    if (failure.empty()) return;
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    ADD_FAILURE() << "with TIMINGWHEEL_SEED=" << seed << ": " << failure
                  << "\nthe same run again: TIMINGWHEEL_SEED=" << seed
                  << " timingwheel-tests-simulation --gtest_filter='" << test->test_suite_name()
                  << '.' << test->name() << "'\n";
}

std::optional<std::uint64_t> numberIn(char const* variable) {
    char const* const text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    return std::strtoull(text, nullptr, 10);
}

}  // namespace

Summary tryAtRandom(std::uint64_t first, std::uint64_t seeds, Seeded const& body) {
    if (auto const only = numberIn("TIMINGWHEEL_SEED")) {
        first = *only;
        seeds = 1;
    }
    Summary summary;
    for (std::uint64_t seed = first; seed < first + seeds && summary.failed == 0; ++seed)
        runSeed(summary, seed, body);
    return summary;
}

Summary explore(std::uint64_t runs, Seeded const& body) {
    std::uint64_t const most = numberIn("TIMINGWHEEL_EXPLORE").value_or(runs);
    std::uint64_t const first =
        numberIn("TIMINGWHEEL_EXPLORE_FROM").value_or(std::random_device{}() * 1'000'000ULL);
    std::cout << most << " seeds from " << first << " on" << std::endl;
    return tryAtRandom(first, most, body);
}

Summary tryAll(std::size_t departures, std::uint64_t atMost, Body const& body, std::size_t oneIn) {
    static Decisions& decisions = makeShared<Decisions>();
    new (&decisions) Decisions;
    Sample sample{.oneIn = oneIn};
    for (char const* const name : {"TIMINGWHEEL_EXPLORE_FROM", "TIMINGWHEEL_SEED"})
        if (auto const seed = numberIn(name)) sample.random.seed(*seed);
    Summary summary;
    summary.oneIn = oneIn;
    do {
        if (summary.runs == atMost) {
            summary.isComplete = false;
            break;
        }
        std::string const failure = runOnce(summary, [&] {
            SystematicChoices choices{decisions, departures};
            runHere(choices, body);
        });
        if (!failure.empty()) ADD_FAILURE() << "in run " << summary.runs << ": " << failure;
    } while (summary.failed == 0 && SystematicChoices::next(decisions, departures, sample));
    return summary;
}

std::ostream& operator<<(std::ostream& out, Summary const& summary) {
    out << summary.runs << " runs, ";
    if (summary.oneIn > 1)
        out << "of those with the most departures one in " << summary.oneIn << ", ";
    else if (summary.isComplete)
        out << "which are all, ";
    return out << summary.steps << " steps, " << summary.switches << " switches, "
               << summary.staleLoads << " stale loads";
}

void require(bool holds, std::string_view otherwise) {
    if (holds) return;
    Aside const aside;
    fail(std::string{otherwise});
}

void onIdle(std::function<void(Clock::TimePoint now)> listener) {
    Aside const aside;
    machine().scheduler.onIdle([listener = std::move(listener)](std::int64_t now) {
        listener(Clock::TimePoint{std::chrono::nanoseconds{now}});
    });
}

}  // namespace timingwheel::test::simulation
