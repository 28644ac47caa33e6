#pragma once

#include "components/kafka/daemon/Options.h"

#include <chrono>
#include <string>

namespace timingwheel::inline v1::kafka {

/// A worker's reply.
struct Reply {
    std::string outcome;
    std::string reason;  // of a refusal
};

/// Writes the command, as any user does, and waits for its reply. Throws std::runtime_error if
/// there is no such topic, and ClientError if the command is not confirmed, or nobody replies,
/// within the timeout.
Reply cancel(Options const& options, std::string const& id, std::chrono::seconds timeout);

}  // namespace timingwheel::inline v1::kafka
