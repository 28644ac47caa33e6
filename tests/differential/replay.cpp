#include "NettyTrace.h"

#include <support/GoldenTrace.h>

#include <cstddef>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

// replay kafka|netty: replays the traces that come from stdin one after another, until one differs.
// Then it prints, each on a line of its own, the trace's number, the line's number, what the trace
// says and what happened here, and exits with 1. Otherwise it prints how many traces and lines
// there were.

namespace {

using timingwheel::test::Difference;
using timingwheel::test::GoldenTrace;
using timingwheel::test::NettyTrace;

struct KafkaTrace : GoldenTrace {
    KafkaTrace() : GoldenTrace{Invariants::unchecked} {}
};

template <class Trace>
class Replay {
public:
    std::optional<Difference> take(std::string const& line) {
        if (line.starts_with("config")) {
            if (auto unfinished = end()) return unfinished;
            trace_.emplace();
            ++traces_;
            line_ = 0;
        }
        ++line_;
        if (!trace_) return Difference{line_, line, "a trace begins with its config"};
        try {
            return trace_->take(line);
        } catch (std::exception const& failure) {
            return Difference{line_, line, failure.what()};
        }
    }

    std::optional<Difference> end() const { return trace_ ? trace_->end() : std::nullopt; }

    std::size_t traces() const { return traces_; }

private:
    std::optional<Trace> trace_;
    std::size_t traces_ = 0;
    std::size_t line_ = 0;
};

template <class Trace>
int replay() {
    Replay<Trace> replay;
    std::optional<Difference> difference;
    std::size_t lines = 0;
    for (std::string line; !difference && std::getline(std::cin, line); ++lines)
        difference = replay.take(line);
    if (!difference) difference = replay.end();
    if (!difference) {
        std::cout << replay.traces() << '\n' << lines << '\n';
        return 0;
    }
    std::cout << replay.traces() << '\n'
              << difference->line << '\n'
              << difference->expected << '\n'
              << difference->actual << '\n';
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    std::string_view const whose = argc == 2 ? argv[1] : "";
    if (whose == "kafka") return replay<KafkaTrace>();
    if (whose == "netty") return replay<NettyTrace>();
    std::cerr << "usage: timingwheel-differential-replay kafka|netty <traces\n";
    return 2;
}
