#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace timingwheel::inline v1::kafka {

struct Options;

/// What a subcommand asks of a set of topics whose workers run elsewhere. No worker notices any but
/// a cancel.
struct Operation {
    enum class Kind { list, show, cancel, forecast, check };

    Kind kind = Kind::check;
    bool isJson = false;
    std::string id;                    // of show, cancel
    std::size_t limit = 100;           // of list
    std::string to;                    // of list: a topic; empty: any
    std::chrono::seconds timeout{30};  // of cancel: to wait for the reply
    bool isOfTopicsOnly = false;       // of check
};

/// Answers on stdout, and returns the exit status. Throws std::runtime_error if there is no answer.
int operate(Options const& options, Operation const& operation);

}  // namespace timingwheel::inline v1::kafka
