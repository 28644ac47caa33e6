#include "Contender.h"
#include "Script.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

// What the hierarchical wheel costs, against the floor of what memory allows and against the
// containers and libraries that one would take instead. One thread, virtual time, ticks of 1 ms.
//
// All contenders take turns within every round, and each round begins with another one, so that a
// busy machine is unfair to none of them. Compare ratios, not nanoseconds.

namespace timingwheel::bench {

std::map<std::string, std::unique_ptr<Contender>>& contenders() {
    static std::map<std::string, std::unique_ptr<Contender>> all;
    return all;
}

namespace {

struct Options {
    Settings settings;
    std::size_t rounds = 9;
    std::vector<std::string> only;
    std::string json;
    bool isCheck = false;
};

/// One contender and what was measured of it, round by round.
struct Row {
    Contender const* contender;
    std::vector<Result> rounds;
    Result counts;

    struct Quartiles {
        double low, median, high;
    };
    std::optional<Quartiles> of(std::string const& load) const {
        std::vector<double> values;
        for (Result const& round : rounds)
            if (auto const found = round.find(load); found != round.end())
                values.push_back(found->second);
        if (values.empty()) return std::nullopt;
        std::sort(values.begin(), values.end());
        auto const at = [&](double q) {
            return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) +
                                                   0.5)];
        };
        return Quartiles{at(0.25), at(0.5), at(0.75)};
    }
};

/// The floor is always measured: the others are compared with it.
bool isWanted(Options const& options, Description const& what) {
    if (what.largest < options.settings.pending) return false;
    if (options.only.empty() || what.kind == Kind::floor) return true;
    return std::any_of(options.only.begin(), options.only.end(), [&](std::string const& name) {
        return contenders().contains(name) ? what.id == name
                                           : what.id.find(name) != std::string::npos;
    });
}

/// The floor first, then the wheels, then their rivals.
std::vector<Row> rowsOf(Options const& options) {
    std::vector<Row> rows;
    for (auto const& [id, contender] : contenders())
        if (isWanted(options, contender->description())) rows.push_back({contender.get(), {}, {}});
    std::stable_sort(rows.begin(), rows.end(), [](Row const& a, Row const& b) {
        return a.contender->description().kind < b.contender->description().kind;
    });
    return rows;
}

void measure(Options const& options, Script const& script, std::vector<Row>& rows) {
    for (std::size_t round = 0; round < options.rounds; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            Row& row = rows[(i + round) % rows.size()];
            row.rounds.push_back(row.contender->measure(options.settings, script));
        }
    }
    // For so many it would need four bytes for each, to count what fewer show as well.
    if (options.settings.pending > 20'000'000) return;
    for (Row& row : rows) row.counts = row.contender->count(options.settings, script);
}

/// The most memory that the process had at a time, what is done included.
std::int64_t peakBytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

constexpr std::array kColumns{
    std::pair{"W1", "W1 reschedule"}, std::pair{"W2", "W2 fill"},
    std::pair{"W3a", "W3a by tick"},  std::pair{"W3b", "W3b by jump"},
    std::pair{"W4", "W4 90/10"},      std::pair{"W7", "W7 short"},
    std::pair{"next", "next()"},      std::pair{"W5 next", "W5 next()"},
    std::pair{"W5", "W5 far"},        std::pair{"W6", "W6 bytes"},
};

void print(Options const& options, std::vector<Row> const& rows) {
    std::printf("pending %zu, wheel size %lld, %zu rounds; ns per operation (x the floor)\n",
                options.settings.pending, static_cast<long long>(options.settings.wheelSize),
                options.rounds);
    for (auto const& [load, heading] : kColumns) {
        std::printf("%s\n", heading);
        // Nothing expires on the floor: what expires is compared with a move.
        auto const same = rows.front().of(load);
        double const floor = (same ? same : rows.front().of("W1"))->median;
        for (Row const& row : rows) {
            auto const found = row.of(load);
            if (!found) continue;
            std::printf("    %-26s%10.1f [%.1f, %.1f] (%.2f)\n",
                        row.contender->description().title.c_str(), found->median, found->low,
                        found->high, found->median / floor);
        }
    }
    std::printf("cascades and wake-ups, of a timer\n");
    for (Row const& row : rows) {
        if (row.counts.empty()) continue;
        std::printf("    %-26s W3 %.2f, %.2f; W5 %.2f, %.2f\n",
                    row.contender->description().title.c_str(), row.counts.at("W3 cascades"),
                    row.counts.at("W3 wakeUps"), row.counts.at("W5 cascades"),
                    row.counts.at("W5 wakeUps"));
    }
    std::printf("at most %.1f MB of memory\n", static_cast<double>(peakBytes()) / 1e6);
}

nlohmann::json toJson(Options const& options, std::vector<Row> const& rows) {
    constexpr std::array kKinds{"floor", "wheel", "rival"};
    auto all = nlohmann::json::array();
    for (Row const& row : rows) {
        auto const& what = row.contender->description();
        all.push_back({{"id", what.id},
                       {"title", what.title},
                       {"usage", what.usage},
                       {"kind", kKinds.at(static_cast<std::size_t>(what.kind))},
                       {"counts", row.counts},
                       {"rounds", row.rounds}});
    }
    return {{"pending", options.settings.pending},
            {"operations", options.settings.operations},
            {"wheelSize", options.settings.wheelSize},
            {"rounds", options.rounds},
            {"peakBytes", peakBytes()},
            {"contenders", all}};
}

void parse(CLI::App& app, Options& options) {
    Settings& settings = options.settings;
    app.add_option("--pending", settings.pending, "timers that are pending")
        ->check(CLI::PositiveNumber);
    app.add_option(
        "--operations", settings.operations,
        "of W1, W4 and W7; 0: as many as are pending, but a million at least, five at most");
    app.add_option("--wheel-size", settings.wheelSize, "slots of each level")
        ->check(CLI::Range(3, 1'048'576));
    app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
    app.add_option("--seed", settings.seed, "for what is random");
    app.add_option("--only", options.only,
                   "contenders to run beside the floor: their names, or parts of them");
    app.add_option("--json", options.json, "a file for all that was measured");
    app.add_flag("--check", options.isCheck,
                 "measure nothing: see that each timer of each contender fires once, in time");
}

int run(Options options) {
    Settings& settings = options.settings;
    if (settings.operations == 0)
        settings.operations = std::clamp<std::size_t>(settings.pending, 1'000'000, 5'000'000);
    Script const script{settings};
    std::vector<Row> rows = rowsOf(options);
    if (options.isCheck) {
        for (Row const& row : rows) {
            std::printf("%s\n", row.contender->description().id.c_str());
            row.contender->check(settings, script);
        }
        return 0;
    }
    measure(options, script, rows);
    print(options, rows);
    if (!options.json.empty()) {
        std::ofstream file{options.json};
        file << toJson(options, rows).dump(1) << '\n';
        if (!file) throw std::runtime_error{"cannot write " + options.json};
    }
    return 0;
}

}  // namespace
}  // namespace timingwheel::bench

int main(int argc, char** argv) {
    timingwheel::bench::Options options;
    CLI::App app{"What the hierarchical wheel costs"};
    timingwheel::bench::parse(app, options);
    CLI11_PARSE(app, argc, argv);
    try {
        return timingwheel::bench::run(options);
    } catch (std::exception const& problem) {
        std::cerr << problem.what() << '\n';
        return 1;
    }
}
