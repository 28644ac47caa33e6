// Records as a test writes them down.

#pragma once

#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {

using timingwheel::kafka::Command;
using timingwheel::kafka::Header;
using timingwheel::kafka::Record;

/// In milliseconds of Unix time.
inline constexpr std::int64_t kNow = 1'000'000;

/// Lives as long as what is read from it: a Record is views.
inline Record record(std::optional<std::string_view> key, std::vector<Header> headers,
                     std::optional<std::string_view> value = "payload") {
    Record made;
    made.key = key;
    made.value = value;
    made.headers = std::move(headers);
    return made;
}

inline Record schedule(std::string_view id, std::string_view at, std::string_view to = "orders") {
    return record(
        id, {{"timingwheel-command", "schedule"}, {"timingwheel-at", at}, {"timingwheel-to", to}});
}

inline Command scheduleCommand(std::string_view id, std::int64_t at) {
    Command command;
    command.kind = Command::Kind::schedule;
    command.id = id;
    command.at = at;
    command.to = "orders";
    return command;
}

/// For a test that is the first to load the zones, which stay.
inline void keepsZones() { testing::Test::RecordProperty("keeps", "time zones"); }

}  // namespace timingwheel::test::kafka
