#include "Contender.h"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

// Measures one thing at a time: one contender under one load, one line of JSON. compare.py asks for
// them in the order of its plan, alternating with the Java program, which understands the same.

namespace timingwheel::compare {

std::map<std::string, std::unique_ptr<Contender>>& contenders() {
    static std::map<std::string, std::unique_ptr<Contender>> all;
    return all;
}

namespace {

nlohmann::json describe() {
    auto all = nlohmann::json::array();
    for (auto const& [id, contender] : contenders()) {
        auto const& what = contender->description();
        all.push_back({{"id", id},
                       {"title", what.title},
                       {"usage", what.usage},
                       {"hasTick", what.hasTick},
                       {"oneThread", what.oneThread},
                       {"variant", what.variant},
                       {"loads", contender->loads()},
                       {"largest", what.largest}});
    }
    return all;
}

nlohmann::json answer(std::string const& id, Request const& request) {
    try {
        auto const found = contenders().find(id);
        if (found == contenders().end()) return {{"error", "there is no contender " + id}};
        return found->second->run(request);
    } catch (std::exception const& problem) {
        return {{"error", problem.what()}};
    }
}

/// The options of one measurement.
class Command {
public:
    explicit Command(CLI::App& app) {
        app.add_option("--contender", contender_, "who; --list names them all");
        app.add_option("--load", request_.load, "what to do; --list tells who can do what");
        app.add_option("--count", request_.count,
                       "how many timers are pending, in all or, for "
                       "pair, in each thread")
            ->check(CLI::PositiveNumber);
        app.add_option("--threads", request_.threads, "how many use the timer")
            ->check(CLI::Range(1, 64));
        app.add_option("--tick-us", tick_, "the tick, where there is one")
            ->check(CLI::PositiveNumber);
        app.add_option("--budget-ms", budget_, "how long to measure")->check(CLI::PositiveNumber);
        app.add_option("--delays", delays_, "random, same or shorter, for curve")
            ->check(CLI::IsMember{{"random", "same", "shorter"}});
        app.add_option("--seed", request_.seed, "for what is random");
    }

    nlohmann::json run() {
        request_.delays = delays_ == "same"      ? Delays::same
                          : delays_ == "shorter" ? Delays::shorter
                                                 : Delays::random;
        request_.tick = std::chrono::microseconds{tick_};
        request_.budget = std::chrono::milliseconds{budget_};
        return answer(contender_, request_);
    }

private:
    std::string contender_ = "SystemTimer";
    std::string delays_ = "random";
    Request request_;
    int tick_ = 1'000;
    int budget_ = 100;
};

/// Each line of standard input is a command line, each answer a line of standard output.
void serve() {
    for (std::string line; std::getline(std::cin, line);) {
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
}  // namespace timingwheel::compare

int main(int argc, char** argv) {
    CLI::App app{"One measurement of the comparison of timers. ./dev bench compare runs them all."};
    bool list = false;
    bool serves = false;
    app.add_flag("--list", list, "print the contenders");
    app.add_flag("--serve", serves, "read command lines from standard input until it ends");
    timingwheel::compare::Command command{app};
    CLI11_PARSE(app, argc, argv);
    if (list) {
        std::cout << timingwheel::compare::describe() << '\n';
    } else if (serves) {
        timingwheel::compare::serve();
    } else {
        std::cout << command.run() << '\n';
    }
    return 0;
}
