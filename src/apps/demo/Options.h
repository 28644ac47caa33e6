#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace demo {

/// What the command line says.
struct Options {
    std::chrono::nanoseconds follow = std::chrono::milliseconds{8500};
    std::chrono::nanoseconds duration = std::chrono::seconds{10};
    bool watch = false;
    double scale = 1;
    std::chrono::nanoseconds tick = std::chrono::milliseconds{1};
    std::int64_t wheelSize = 20;
    unsigned threads = 2;
    std::uint64_t seed = 1;
    bool usePool = false;
    unsigned poolThreads = 2;
    std::size_t poolQueue = 10'000;
    std::string trace;
};

/// What main should do: run with the options, or exit with a status.
struct CommandLine {
    Options options;
    std::optional<int> exitStatus;
};

/// Prints help, version and errors itself.
CommandLine parse(int argc, char const* const* argv);

/// "250us", "1 ms", "0.01s"; a number alone means milliseconds. Nothing if it is neither.
std::optional<std::chrono::nanoseconds> parseTick(std::string const& written);

}  // namespace demo
