#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace terminal {}

namespace demo {

using namespace terminal;

enum Exit : int { kFine = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

/// What the command line says.
struct Options {
    std::chrono::nanoseconds follow{};
    std::chrono::nanoseconds duration{};
    bool watch = false;
    double scale = 1;
    std::chrono::nanoseconds tick{};
    std::int64_t wheelSize = 20;
    unsigned threads = 2;
};

/// What main should do: run with the options, or exit with a status.
struct CommandLine {
    Options options;
    std::optional<int> exitStatus;
};

/// Prints help, version and errors itself.
CommandLine parse(int argc, char const* const* argv);

}  // namespace demo
