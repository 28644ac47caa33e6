/// Uses timers of all kinds in all ways, for minutes, and keeps the books: ./dev soak.

#include "apps/terminal/Format.h"
#include "apps/terminal/Interrupt.h"
#include "soak/Report.h"

#include <support/Effort.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace timingwheel::soak {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct Options {
    double minutes = 10;
    bool isShort = false;
    std::uint64_t seed = 0;
    std::string report;

    nanoseconds length() const {
        if (isShort) return milliseconds{test::scaledByEnvironment(12'000)};
        return nanoseconds{std::llround(minutes * 60e9)};
    }
};

constexpr double kLeastMinutes = 0.01;
constexpr double kMostMinutes = 10'000;
constexpr std::uint64_t kMostSeed = 999'999'999;

/// Lifetimes one after the other, a timer of each kind in turn, until the time is over.
class Soak {
public:
    explicit Soak(Options const& options)
        : length_{options.length()}, random_{options.seed}, report_{options.seed} {
        for (std::size_t i = 0; i < kCallers; ++i) {
            callers_[i].index = i;
            callers_[i].random = Random{options.seed * 31 + i + 1};
        }
    }

    /// The report.
    std::string run() {
        while (!isOver()) {
            // Threads that are new to timers, and then meet one kind after the other.
            test::inBatches(
                kKinds, kCallers + 1, [this](std::uint64_t kind) { make(static_cast<Kind>(kind)); },
                [this](std::size_t worker, std::uint64_t) { work(worker); },
                [this](std::uint64_t kind) { judge(static_cast<Kind>(kind)); });
        }
        for (Caller const& caller : callers_) report_.addOperations(caller.operations);
        report_.addOperations(ofOthers_);
        return report_.text(findings_.count());
    }
    bool hasFoundNothing() const { return findings_.count() == 0; }

private:
    bool isOver() const { return terminal::isInterrupted() || report_.elapsed() >= length_; }

    Plan planOf(Kind kind) {
        Plan plan{.kind = kind, .seed = random_.next()};
        // Some are over before they have begun well.
        auto const longest = std::clamp<nanoseconds>(length_ / 60, milliseconds{150}, seconds{3});
        plan.length = random_.below(10) == 0 ? random_.below(nanoseconds{milliseconds{5}})
                                             : longest / 8 + random_.below(longest * 7 / 8);
        bool const mayDrain = !isFlat(kind) && kind != Kind::systemManualClock && kind < Kind::loop;
        std::uint64_t const dice = random_.below(8);
        plan.ending = dice < 3               ? Ending::stop
                      : dice < 5 && mayDrain ? Ending::drain
                                             : Ending::destroy;
        plan.keepsHandles = plan.ending == Ending::destroy || random_.below(2) == 0;
        return plan;
    }

    void make(Kind kind) {
        if (isOver()) return;
        findings_.enter(terminal::text("timer %llu, %s", static_cast<unsigned long long>(++number_),
                                       toString(kind)));
        watchdog_ = std::make_unique<test::Watchdog>(toString(kind), seconds{120});
        Plan plan = planOf(kind);
        if (kind != Kind::manual) {
            lives_.push_back(std::make_unique<Lifetime>(plan, callers_, elders_, findings_));
            return;
        }
        for (std::size_t caller = 0; caller < kCallers; ++caller) {
            plan.onlyCaller = caller;
            plan.seed = random_.next();
            lives_.push_back(std::make_unique<Lifetime>(plan, callers_, elders_, findings_));
        }
    }

    void work(std::size_t worker) {
        for (auto const& life : lives_)
            worker < kCallers ? life->use(callers_[worker]) : life->watchAndEnd();
    }

    void judge(Kind kind) {
        for (auto const& life : lives_) {
            report_.add(kind, life->judge(elders_));
            ofOthers_ += life->operationsOfOthers();
        }
        lives_.clear();
        watchdog_.reset();
        OperationCounts soFar;
        soFar += ofOthers_;
        for (Caller const& caller : callers_) soFar += caller.operations;
        report_.goOn(soFar, findings_.count());
    }

    nanoseconds const length_;
    Random random_;
    Findings findings_;
    Report report_;
    Callers callers_;
    std::vector<Elder> elders_;
    OperationCounts ofOthers_;
    std::vector<std::unique_ptr<Lifetime>> lives_;
    std::unique_ptr<test::Watchdog> watchdog_;
    std::uint64_t number_ = 0;
};

/// Like CLI::Range, but in words.
template <class Number>
CLI::Validator between(Number least, Number most, char const* unit) {
    return CLI::Validator{[=](std::string const& written) -> std::string {
                              Number value{};
                              bool const isNumber = CLI::detail::lexical_cast(written, value);
                              if (isNumber && value >= least && value <= most) return {};
                              return written + terminal::text(" is not from %.10g to %.10g%s",
                                                              static_cast<double>(least),
                                                              static_cast<double>(most), unit);
                          },
                          ""};
}

/// The status to exit with, or -1 to go on.
int parse(int argc, char** argv, Options& options) {
    CLI::App app{
        "Four threads use timers of all kinds in all ways, and every timeout is accounted for.",
        "timingwheel-soak"};
    app.footer(
        "\nExit status: 0 if nothing was wrong, 1 if something was, 2 for a wrong command\n"
        "line. Ctrl-C ends it early, with the table.");
    options.seed = std::random_device{}() % kMostSeed;
    app.add_option("minutes", options.minutes, "how long (10)")
        ->check(between(kLeastMinutes, kMostMinutes, " minutes"))
        ->type_name("MINUTES");
    app.add_flag("--short", options.isShort,
                 "some seconds, times TIMINGWHEEL_STRESS_SCALE: for the tests");
    app.add_option("--seed", options.seed, "of everything random (another one each time)")
        ->check(between<std::uint64_t>(0, kMostSeed, ""))
        ->type_name("NUMBER");
    app.add_option("--report", options.report, "write the tables into a file too")
        ->type_name("FILE");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        constexpr int kUsage = 2;
        return app.exit(error) == 0 ? 0 : kUsage;
    }
    return -1;
}

int run(int argc, char** argv) {
    Options options;
    int const status = parse(argc, argv, options);
    if (status >= 0) return status;
    terminal::noteInterrupts();
    std::cout << "seed " << options.seed << std::endl;
    Soak soak{options};
    std::string const report = soak.run();
    std::cout << '\n' << report << std::flush;
    if (!options.report.empty() && !(std::ofstream{options.report} << report)) {
        std::cerr << "cannot write " << options.report << '\n';
        return 1;
    }
    return soak.hasFoundNothing() ? 0 : 1;
}

}  // namespace
}  // namespace timingwheel::soak

int main(int argc, char** argv) { return timingwheel::soak::run(argc, argv); }
