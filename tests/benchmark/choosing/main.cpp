#include "Plan.h"
#include "Replay.h"
#include "Timers.h"
#include "compare/Machine.h"

#include <timingwheel/SystemTimer.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Plays the scripts to every timer of the plan. What can be counted is counted, in the script's
// time, and is the same for the same seed; processor time is taken in rounds that go through all
// runs, so that a busy machine is unfair to none of them. Prints one document of JSON.

namespace timingwheel::choosing {
namespace {

using namespace std::chrono_literals;

struct Outcome {
    Counts counts;
    double cpuNanoseconds = 0;
};

nanoseconds threadTime() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

template <ScriptedTimer Timer, class... Arguments>
Outcome play(Script const& script, Arguments&&... arguments) {
    Outcome outcome;
    std::int64_t const before = compare::heapBytes();
    auto const timer = std::make_unique<Timer>(std::forward<Arguments>(arguments)...);
    std::int64_t const empty = compare::heapBytes();
    timer->reserve(script.delays.size());
    std::int64_t const reserved = compare::heapBytes();

    nanoseconds const start = threadTime();
    replay(script, *timer, outcome.counts);
    outcome.cpuNanoseconds = static_cast<double>((threadTime() - start).count());

    outcome.counts.bytes = empty - before + compare::heapBytes() - reserved;
    timer->readInto(outcome.counts);
    return outcome;
}

Outcome play(Run const& run, Script const& script, LevelledTimer::Watch watch) {
    switch (run.kind) {
        case Kind::levelled:
            return play<LevelledTimer>(script, run.setting, watch);
        case Kind::bare:
            return play<BareWheel>(script, run.setting);
        case Kind::flat:
            return play<FlatTimer>(script, run.setting);
        case Kind::heap:
            return play<LazyHeap>(script, run.setting);
        case Kind::tree:
            return play<Tree>(script, run.setting);
    }
    return {};
}

/// The scripts that were asked for last, by kind and count; one of a million is large.
class Scripts {
public:
    explicit Scripts(std::uint64_t seed) : seed_{seed} {}

    Script const& of(Run const& run, bool isKept) {
        auto& scripts = isKept ? kept_ : last_;
        std::pair const key{run.mix->id, run.count};
        if (!isKept && !scripts.contains(key)) scripts.clear();
        return scripts.try_emplace(key, *run.mix, run.count, seed_).first->second;
    }

private:
    std::uint64_t seed_;
    std::map<std::pair<char const*, std::size_t>, Script> kept_;
    std::map<std::pair<char const*, std::size_t>, Script> last_;
};

/// Processor time of a SystemTimer's thread for waking, running one task and going to sleep.
double wakeUpNanoseconds(int wakeUps) {
    compare::ThreadWatch const watch;
    std::atomic<int> fired{0};
    SystemTimer timer{{.tick = 50us, .shards = 1}};
    auto const start = timer.clock().now() + 20ms;
    for (int i = 0; i < wakeUps; ++i) timer.newTimeout([&] { ++fired; }, start + i * 200us);
    auto const before = watch.usage();
    while (fired < wakeUps) std::this_thread::sleep_for(5ms);
    auto const used = watch.usage() - before;
    return static_cast<double>(used.cpuNanoseconds) /
           static_cast<double>(std::max<std::int64_t>(used.wakeUps, 1));
}

char const* nameOf(Kind kind) {
    switch (kind) {
        case Kind::levelled:
            return "levelled";
        case Kind::bare:
            return "bare";
        case Kind::flat:
            return "flat";
        case Kind::heap:
            return "heap";
        case Kind::tree:
            return "tree";
    }
    return "";
}

void expect(bool holds, Run const& run, char const* what) {
    if (!holds)
        throw std::logic_error{std::string{nameOf(run.kind)} + ", " + run.mix->id + ": " + what};
}

nlohmann::json describe(Run const& run, Counts const& counts) {
    return {{"kind", nameOf(run.kind)},
            {"mix", run.mix->id},
            {"count", run.count},
            {"tickNs", run.setting.tick.count()},
            {"wheelSize", run.setting.wheelSize},
            {"toleranceDivisor", run.setting.toleranceDivisor},
            {"fired", counts.fired},
            {"pendingMost", counts.pendingMost},
            {"wakeUps", counts.wakeUps},
            {"moves", counts.moves},
            {"passedOver", counts.passedOver},
            {"levels", counts.levels},
            {"lateSumNs", counts.lateSum.count()},
            {"lateMostNs", counts.lateMost.count()},
            {"bytes", counts.bytes}};
}

nlohmann::json describe(Mix const& mix) {
    return {{"id", mix.id},
            {"name", mix.name},
            {"title", mix.title},
            {"shortestNs", mix.shortest.count()},
            {"longestNs", mix.longest.count()},
            {"spanNs", mix.span.count()},
            {"cancelledPercent", mix.cancelledPercent},
            {"answeredWithinNs", mix.answeredWithin.count()},
            {"pushBacks", mix.pushBacks},
            {"fittingTickNs", fittingTick(mix).count()}};
}

nlohmann::json measure(std::string const& size, std::uint64_t seed) {
    Plan const plan = choosing::plan(size);
    Scripts scripts{seed};
    auto runs = nlohmann::json::array();
    std::vector<std::vector<double>> times(plan.runs.size());
    std::vector<double> wakeUpTimes;

    for (int round = 0; round < plan.rounds; ++round) {
        std::cerr << "round " << round + 1 << " of " << plan.rounds << '\n';
        wakeUpTimes.push_back(wakeUpNanoseconds(size == "smoke" ? 10 : 500));
        for (std::size_t i = 0; i < plan.runs.size(); ++i) {
            // Each round begins with another run.
            std::size_t const at =
                (i + static_cast<std::size_t>(round) * plan.runs.size() / 9) % plan.runs.size();
            Run const& run = plan.runs[at];
            if (!run.isTimed) continue;
            auto const outcome = play(run, scripts.of(run, true), LevelledTimer::Watch::none);
            times[at].push_back(outcome.cpuNanoseconds / static_cast<double>(run.count));
        }
    }
    std::cerr << "counting\n";
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
        Run const& run = plan.runs[i];
        Script const& script = scripts.of(run, run.isTimed);
        Counts const counts = play(run, script, LevelledTimer::Watch::moves).counts;
        auto const cancelled =
            std::count_if(script.steps.begin(), script.steps.end(),
                          [](Step const& step) { return step.what == Step::What::cancel; });
        expect(counts.fired + static_cast<std::uint64_t>(cancelled) == run.count, run,
               "not all have fired that were not cancelled");
        runs.push_back(describe(run, counts));
        if (run.isTimed) runs.back()["cpuNs"] = times[i];
    }
    auto described = nlohmann::json::array();
    for (Mix const& mix : mixes()) described.push_back(describe(mix));
    return {{"size", size},       {"seed", seed}, {"rounds", plan.rounds},  {"counts", plan.counts},
            {"mixes", described}, {"runs", runs}, {"wakeUpNs", wakeUpTimes}};
}

}  // namespace
}  // namespace timingwheel::choosing

int main(int argc, char** argv) {
    CLI::App app{"What each tick and wheelSize costs. ./dev bench choosing makes a page of it."};
    std::string size = "full";
    std::uint64_t seed = 1;
    app.add_option("--size", size, "how much is measured")
        ->check(CLI::IsMember{{"full", "quick", "smoke"}});
    app.add_option("--seed", seed, "for what is random");
    CLI11_PARSE(app, argc, argv);
    std::cout << timingwheel::choosing::measure(size, seed).dump(1) << '\n';
    return 0;
}
