#pragma once

#include "components/kafka/daemon/Record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// The bounds of a command. A record beyond them is refused, with a reason that names value and
/// bound.
struct CommandLimits {
    // Milliseconds since 1970.
    std::int64_t now = 0;
    std::int64_t earliest = 0;
    std::int64_t latest = 0;
};

/// What a user asks for. Views into the record.
struct Command {
    enum class Kind { schedule, pushBack, cancel };

    Kind kind = Kind::cancel;
    std::string_view id;
    std::int64_t at = 0;  // milliseconds since 1970; of schedule and push-back
    std::string_view to;
    std::optional<std::string_view> key;
    std::optional<std::string_view> value;
    std::vector<Header> headers;  // the user's own
    std::vector<Header> rule;     // of a timer that recurs: see Recurrence
};

struct Refusal {
    std::string reason;
};

/// Reads the record of a command, or says what is wrong with it.
std::variant<Command, Refusal> readCommand(Record const& record, CommandLimits limits);

/// Reads a record of the state, which has what a schedule has.
std::variant<Command, Refusal> readState(Record const& record);

/// Reads the record of the state that has kPositionKey. Nothing if it is not ours.
std::optional<std::int64_t> readPosition(Record const& record) noexcept;

/// The header's value, if the record has that header once or more often: the last.
inline std::optional<std::string_view> lastHeader(Record const& record,
                                                  std::string_view name) noexcept {
    return lastHeader(record.headers, name);
}

}  // namespace timingwheel::inline v1::kafka
