#include "Contender.h"
#include "Machine.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

// Measures one thing at a time: one contender under one load, one line of JSON. measure.py asks for
// them in the order of a plan; the Java program understands the same lines.

namespace timingwheel::bench {
namespace {

nlohmann::json describe() {
    auto all = nlohmann::json::array();
    for (auto const& [id, contender] : contenders()) {
        auto const& what = contender.description;
        auto loads = nlohmann::json::array();
        for (auto const& [name, load] : contender.loads) loads.push_back(name);
        all.push_back({{"id", id},
                       {"title", what.title},
                       {"usage", what.usage},
                       {"loads", loads},
                       {"largest", what.largest}});
    }
    return all;
}

/// The options of one measurement.
class Command {
public:
    explicit Command(CLI::App& app) {
        std::map<std::string, Delays> const delays{{"random", Delays::random},
                                                   {"shorter", Delays::shorter}};
        app.add_option("--contender", contender_, "who; --list names them all");
        app.add_option("--load", request_.load, "what to do; --list tells who can do what");
        app.add_option("--count", request_.count,
                       "how many timers are pending, in all or, for pair, in each thread")
            ->check(CLI::PositiveNumber);
        app.add_option("--seed", request_.seed, "for what is random");
        app.add_option("--threads", request_.threads, "how many use the timer")
            ->check(CLI::Range(1, 64));
        app.add_option("--tick-us", tick_, "the tick, where there is one")
            ->check(CLI::PositiveNumber);
        app.add_option("--budget-ms", budget_, "how long to measure")->check(CLI::PositiveNumber);
        app.add_option("--delays", request_.delays, "random or shorter, for curve")
            ->transform(CLI::CheckedTransformer(delays));
        app.add_option("--wheel-size", request_.wheelSize, "slots of each level")
            ->check(CLI::Range(2, 1'048'576));
        app.add_option("--operations", request_.operations, "of the loads of a wheel");
        app.add_option("--tolerance-divisor", request_.toleranceDivisor,
                       "the tolerance is so small a part of the delay; 0: none");
        app.add_option("--mix", mix_,
                       "timeouts of one kind: the shortest and the longest delay, the time within "
                       "which they begin, how many in a hundred are cancelled, the time within "
                       "which they are, how often each is pushed back; nanoseconds")
            ->expected(6);
    }

    nlohmann::json run() {
        request_.tick = std::chrono::microseconds{tick_};
        request_.budget = std::chrono::milliseconds{budget_};
        using std::chrono::nanoseconds;
        request_.mix = {nanoseconds{mix_.at(0)}, nanoseconds{mix_.at(1)},
                        nanoseconds{mix_.at(2)}, static_cast<int>(mix_.at(3)),
                        nanoseconds{mix_.at(4)}, static_cast<int>(mix_.at(5))};
        try {
            Result const result = loadOf(contender_, request_.load)(request_);
            trimHeap();  // so that a contender's leavings are not the next one's burden or luck
            return result;
        } catch (std::exception const& problem) {
            return {{"error", problem.what()}};
        }
    }

private:
    static Load const& loadOf(std::string const& id, std::string const& load) {
        auto const found = contenders().find(id);
        if (found == contenders().end()) throw std::invalid_argument{"there is no contender " + id};
        auto const& loads = found->second.loads;
        auto const one = loads.find(load);
        if (one == loads.end()) throw std::invalid_argument{"no such load of " + id + ": " + load};
        return one->second;
    }

    std::string contender_;
    Request request_;
    int tick_ = 1'000;
    int budget_ = 100;
    std::vector<std::int64_t> mix_ = std::vector<std::int64_t>(6);
};

/// Each line of standard input is a command line, each answer a line of standard output.
void serve() {
    for (std::string line; std::getline(std::cin, line);) {
        if (line == "--list") {
            std::cout << describe() << std::endl;
            continue;
        }
        CLI::App app;
        Command command{app};
        nlohmann::json result;
        try {
            app.parse(line);
            result = command.run();
        } catch (CLI::ParseError const& problem) {
            result = {{"error", problem.what()}};
        }
        std::cout << result << std::endl;
    }
}

}  // namespace
}  // namespace timingwheel::bench

int main(int argc, char** argv) {
    CLI::App app{"One measurement of one contender. ./dev bench asks for all that a page needs."};
    bool list = false;
    bool serves = false;
    app.add_flag("--list", list, "print the contenders");
    app.add_flag("--serve", serves, "read command lines from standard input until it ends");
    timingwheel::bench::Command command{app};
    CLI11_PARSE(app, argc, argv);
    if (list) {
        std::cout << timingwheel::bench::describe() << '\n';
    } else if (serves) {
        timingwheel::bench::serve();
    } else {
        std::cout << command.run() << '\n';
    }
    return 0;
}
