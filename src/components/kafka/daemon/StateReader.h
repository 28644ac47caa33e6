#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Options.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace timingwheel::inline v1::kafka {

/// Reads a partition of the state: committed records, and where it ends. Never goes on elsewhere
/// than where it was: a state that was read in part would lose timers.
class StateReader {
public:
    /// A broker that has nothing new answers after `wait`: the end is noticed by then.
    StateReader(Options const& options, std::int32_t partition,
                std::chrono::milliseconds wait = std::chrono::milliseconds{10});

    /// What next() returns begins there.
    void goTo(std::int64_t offset);
    /// Reads nothing more, until goTo() is called.
    void rest();

    /// The next record; one with the error __PARTITION_EOF at the end; or nothing, after a while.
    /// Throws ClientError for all that does not pass by itself.
    Message next(std::chrono::milliseconds patience);

    /// Passes on all records up to where the broker now says that the committed ones end: a state
    /// that grows meanwhile does not hold it up. Throws ClientError also if brokers are away for
    /// long. REQUIRES: goTo() and next() were not called.
    void readToEnd(std::function<void(Message)> const& take);

    /// Where a broker says that the committed records end. Nothing if none answers.
    std::optional<std::int64_t> askForEnd();
    /// The same, as the last answer to a read had it. No broker is asked.
    std::optional<std::int64_t> lastEnd() const;

private:
    std::string const topic_;
    std::int32_t const partition_;
    Client client_;
};

}  // namespace timingwheel::inline v1::kafka
