#pragma once

#include "components/kafka/daemon/Cancel.h"
#include "components/kafka/daemon/Group.h"
#include "components/kafka/daemon/Record.h"
#include "components/kafka/daemon/Snapshot.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

/// What subcommands print: columns for people, where what cannot be printed is escaped; or JSON,
/// where bytes that are not UTF-8 are in hexadecimal digits, in a field whose name ends with _hex.
namespace timingwheel::inline v1::kafka {

/// 2026-11-26T18:00:00.000Z
std::string inUtc(std::int64_t at);
/// "in 3 h 4 min" or "3 h 4 min ago", in the two largest units.
std::string inUnits(std::int64_t milliseconds);

class Answers {
public:
    /// `now` is the time that people read how far from.
    Answers(std::ostream& to, bool isJson, std::int64_t now)
        : to_{to}, isJson_{isJson}, now_{now} {}

    /// The first timers of `count`.
    void list(std::vector<Earliest::Timer> const& timers, std::size_t count);
    /// A record of the state. REQUIRES: readState() accepts it.
    void timer(Record const& state, std::int32_t partition);
    void notPending(std::string_view id);
    void forecast(Forecast const& forecast);
    void reply(std::string_view id, Reply const& reply);
    /// Of topics that are as they must be; and of the group, if it was asked for.
    void check(std::int32_t partitions, std::string_view name, std::optional<Group> const& group);

private:
    std::ostream& to_;
    bool isJson_;
    std::int64_t now_;
};

}  // namespace timingwheel::inline v1::kafka
