#include "apps/demo/Options.h"

#include "apps/terminal/Format.h"
#include "apps/terminal/Within.h"

#include <timingwheel/version.h>
#include <timingwheel/wheel/LevelGeometry.h>

#include <CLI/CLI.hpp>

#include <cmath>

namespace demo {

namespace {

using std::chrono::nanoseconds;

constexpr char kDescription[] =
    "Shows timing wheels at work, on the real clock: follows one task down the levels\n"
    "of a wheel, then lets a timer carry a server's load (request timeouts,\n"
    "heartbeats, orders, periodic jobs) and accounts for every timeout. Takes 20 s.\n";

constexpr char kFooter[] =
    "\nExit status: 0 if every timeout is accounted for and none ran early, 1 if not,\n"
    "or if the output could not be written, 2 for a wrong command line, 130 after\n"
    "Ctrl-C. On a terminal it uses colours, unless NO_COLOR is set; elsewhere it\n"
    "prints plain lines.";

}  // namespace

CommandLine parse(int argc, char const* const* argv) {
    CommandLine line;
    Options& options = line.options;
    double follow = 8.5, duration = 10, tick = 1;

    CLI::App app{kDescription, "timingwheel-demo"};
    app.get_formatter()->column_width(28);
    app.footer(kFooter);
    app.set_version_flag("--version", text("timingwheel-demo %d.%d.%d", TIMINGWHEEL_VERSION_MAJOR,
                                           TIMINGWHEEL_VERSION_MINOR, TIMINGWHEEL_VERSION_PATCH));
    app.failure_message([](CLI::App const*, CLI::Error const& error) {
        return text("timingwheel-demo: %s\nRun it with --help for its options.\n", error.what());
    });
    auto const add = [&app](char const* name, auto& value, char const* help, auto least, auto most,
                            char const* type) {
        app.add_option(name, value, help)->check(terminal::Within{least, most})->type_name(type);
    };
    add("--follow", follow, "follow one task for about this long (8.5; 0: do not)", 0.0, 3600.0,
        "SECONDS");
    app.add_flag("--watch", options.watch,
                 "draw the levels of the wheel while the\nload runs, which then takes more CPU, "
                 "and\nfollow no task");
    add("--duration", duration, "length of the load (10, with --watch 60;\n0: no load)", 0.0,
        86400.0, "SECONDS");
    add("--scale", options.scale, "1 means 40,000 requests a second (1)", 0.001, 1000.0, "FACTOR");
    add("--threads", options.threads, "threads that make the load (2)", 1U, 64U, "COUNT");
    add("--tick", tick, "the wheel's resolution, in milliseconds (1)", 0.001, 1000.0, "MS");
    add("--wheel-size", options.wheelSize, "slots of each level (20)",
        timingwheel::LevelGeometry::kMinWheelSize, timingwheel::LevelGeometry::kMaxWheelSize,
        "SLOTS");
    try {
        app.parse(argc, argv);
        if (options.watch) {
            if (app.count("--follow") > 0)
                throw CLI::ValidationError{"--watch follows no task: leave --follow out"};
            follow = 0;
            if (app.count("--duration") == 0) duration = 60;
        }
        if (follow == 0 && duration == 0)
            throw CLI::ValidationError{"no task is followed and there is no load: nothing to show"};
    } catch (CLI::ParseError const& error) {
        line.exitStatus = app.exit(error) == 0 ? kFine : kUsage;
        return line;
    }
    auto const exactly = [](double seconds) { return nanoseconds{std::llround(seconds * 1e9)}; };
    options.follow = exactly(follow);
    options.duration = exactly(duration);
    options.tick = exactly(tick / 1e3);
    return line;
}

}  // namespace demo
