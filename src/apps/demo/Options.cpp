#include "apps/demo/Options.h"

#include "apps/demo/Format.h"
#include "apps/demo/Outcome.h"
#include "apps/demo/Trace.h"

#include <timingwheel/version.h>
#include <timingwheel/wheel/RawTimingWheel.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace demo {

namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kShortestTick = std::chrono::microseconds{1};
constexpr nanoseconds kLongestTick = std::chrono::seconds{1};

constexpr nanoseconds kWatched = std::chrono::minutes{1};

constexpr char kDescription[] =
    "Shows timing wheels at work, on the real clock: follows one task down the levels\n"
    "of a wheel, then lets a timer carry a server's load (request timeouts,\n"
    "heartbeats, orders, periodic jobs) and accounts for every timeout. Takes 20 s.\n";

constexpr char kFooter[] =
    "\nExit status: 0 if every timeout is accounted for and none ran early, 1 if not,\n"
    "or if the output or the trace could not be written, 2 for a wrong command line,\n"
    "130 after Ctrl-C. On a terminal it uses colours, unless NO_COLOR is set;\n"
    "elsewhere it prints plain lines.";

/// Rounded to the nanosecond; only for values that were checked.
nanoseconds fromSeconds(double seconds) { return nanoseconds{std::llround(seconds * 1e9)}; }

/// Empty if all is right, or what is wrong.
std::string checkTick(std::string const& written) {
    std::optional<nanoseconds> const tick = parseTick(written);
    if (!tick) return written + " is not a time like 250us, 1ms or 0.1s";
    if (*tick < kShortestTick || *tick > kLongestTick)
        return written + " is not from " + readable(kShortestTick) + " to " +
               readable(kLongestTick);
    return {};
}

/// Like CLI::Range, but in words, and with the unit.
template <class Number>
CLI::Validator between(Number least, Number most, std::string const& unit = {}) {
    auto const check = [=](std::string const& written) -> std::string {
        Number value{};
        if (CLI::detail::lexical_cast(written, value) && value >= least && value <= most) return {};
        return written + " is not from " + text("%.10g", static_cast<double>(least)) + " to " +
               text("%.10g", static_cast<double>(most)) + unit;
    };
    return CLI::Validator{check, ""};
}

void addTo(CLI::App& app, Options& options, double& follow, double& duration, std::string& tick,
           std::string& executor) {
    app.add_option("--follow", follow, "follow one task for about so long (8.5; 0: do not)")
        ->check(between(0.0, 3600.0, " s"))
        ->type_name("SECONDS");
    app.add_flag("--watch", options.watch,
                 "draw the levels of the wheel while the\nload runs, which then takes more CPU, "
                 "and\nfollow no task");
    app.add_option("--duration", duration, "length of the load (10, with --watch 60;\n0: no load)")
        ->check(between(0.0, 86400.0, " s"))
        ->type_name("SECONDS");
    app.add_option("--scale", options.scale, "1 means 40,000 requests a second (1)")
        ->check(between(0.001, 1000.0))
        ->type_name("FACTOR");
    app.add_option("--threads", options.threads, "threads that make the load (2)")
        ->check(between(1U, 64U))
        ->type_name("COUNT");
    app.add_option("--seed", options.seed, "of everything random (1)")
        ->check(between<std::int64_t>(0, 999'999'999))
        ->type_name("NUMBER");
    app.add_option("--trace", options.trace,
                   "write each step of the followed task,\nwith --follow 0 of the load: .json for\n"
                   "Perfetto, .jsonl for JSON lines")
        ->check(CLI::Validator{checkTrace, ""})
        ->type_name("FILE");
    app.add_option("--tick", tick, "the wheel's resolution: us, ms or s (1ms)")
        ->check(CLI::Validator{checkTick, ""})
        ->type_name("TIME")
        ->group("The wheel");
    app.add_option("--wheel-size", options.wheelSize, "slots of each level (20)")
        ->check(between(timingwheel::RawTimingWheel::kMinWheelSize,
                        timingwheel::RawTimingWheel::kMaxWheelSize))
        ->type_name("SLOTS")
        ->group("The wheel");
    app.add_option("--executor", executor,
                   "where tasks run: inline, which is on\nthe driver thread, or pool (inline)")
        ->check(CLI::IsMember({"inline", "pool"}))
        ->type_name("WHERE")
        ->group("Tasks");
    app.add_option("--pool-threads", options.poolThreads, "threads of the pool (2)")
        ->check(between(1U, 64U))
        ->type_name("COUNT")
        ->group("Tasks");
    app.add_option("--pool-queue", options.poolQueue,
                   "tasks that may wait for the pool; it\nrejects any more (10000)")
        ->check(between<std::size_t>(1, 10'000'000))
        ->type_name("TASKS")
        ->group("Tasks");
}

}  // namespace

std::optional<nanoseconds> parseTick(std::string const& written) {
    char* end = nullptr;
    double const value = std::strtod(written.c_str(), &end);
    if (end == written.c_str() || !std::isfinite(value)) return std::nullopt;
    std::string const unit = CLI::detail::trim_copy(end);
    double const factor = unit == "us" ? 1e3 : unit == "ms" || unit.empty() ? 1e6 : 1e9;
    if (factor == 1e9 && unit != "s") return std::nullopt;
    double const count = value * factor;
    // A value beyond all bounds serves as well as the exact one, and can be converted.
    return nanoseconds{std::llround(std::clamp(count, -1e18, 1e18))};
}

CommandLine parse(int argc, char const* const* argv) {
    CommandLine line;
    double follow = toSeconds(line.options.follow);
    double duration = toSeconds(line.options.duration);
    std::string tick = "1ms";
    std::string executor = "inline";

    CLI::App app{kDescription, "timingwheel-demo"};
    app.get_formatter()->column_width(28);
    app.footer(kFooter);
    app.set_version_flag("--version", text("timingwheel-demo %d.%d.%d", TIMINGWHEEL_VERSION_MAJOR,
                                           TIMINGWHEEL_VERSION_MINOR, TIMINGWHEEL_VERSION_PATCH));
    addTo(app, line.options, follow, duration, tick, executor);
    app.failure_message([](CLI::App const*, CLI::Error const& error) {
        return text("timingwheel-demo: %s\nRun it with --help for its options.\n", error.what());
    });
    try {
        app.parse(argc, argv);
        if (line.options.watch) {
            if (app.count("--follow") > 0)
                throw CLI::ValidationError{"--watch follows no task: leave --follow out"};
            if (!line.options.trace.empty())
                throw CLI::ValidationError{
                    "a timer has one observer: leave --watch or --trace out"};
            follow = 0;
            if (app.count("--duration") == 0) duration = toSeconds(kWatched);
            if (duration == 0)
                throw CLI::ValidationError{
                    "--watch shows the load, and --duration 0 leaves it out"};
        }
        if (follow == 0 && duration == 0)
            throw CLI::ValidationError{"--follow and --duration are both 0: nothing to show"};
    } catch (CLI::ParseError const& error) {
        line.exitStatus = app.exit(error) == 0 ? kFine : kUsage;
        return line;
    }
    line.options.follow = fromSeconds(follow);
    line.options.duration = fromSeconds(duration);
    line.options.tick = parseTick(tick).value();
    line.options.usePool = executor == "pool";
    return line;
}

}  // namespace demo
