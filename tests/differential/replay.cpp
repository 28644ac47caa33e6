#include <support/GoldenTrace.h>

#include <cstddef>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

// Replays the traces that come from stdin one after another, until one differs. Then it prints,
// each on a line of its own, the trace's number, the line's number, what the trace says and what
// happened here, and exits with 1. Otherwise it prints how many traces and lines there were.

namespace {

using timingwheel::test::Difference;
using timingwheel::test::GoldenTrace;

class Replay {
public:
    std::optional<Difference> take(std::string const& line) {
        if (line.starts_with("config")) {
            if (auto unfinished = end()) return unfinished;
            trace_.emplace(GoldenTrace::Invariants::unchecked);
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
    std::optional<GoldenTrace> trace_;
    std::size_t traces_ = 0;
    std::size_t line_ = 0;
};

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    Replay replay;
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
