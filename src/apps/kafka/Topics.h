#pragma once

#include "apps/kafka/Options.h"
#include "kafka/Client.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What the cluster's topics are like: which there are, and whether ours are set as they must be.
///
/// Thread safety  every function from any thread
class Topics {
public:
    explicit Topics(Options const& options);

    /// Makes those that are missing, if the options say so.
    void create();
    /// Throws std::runtime_error that names the topic, the setting, its value and the bound. Says
    /// on the log what would only be better otherwise. Returns the number of partitions.
    std::int32_t check();

    /// The number of partitions as it is now.
    std::int32_t partitionsOf(std::string const& topic);
    using Clock = std::chrono::steady_clock;
    /// So old may be what is known of a topic, for most.
    static constexpr std::chrono::minutes kFresh{1};

    /// Why timers may not be delivered to this topic; empty if they may. Of a topic that was there,
    /// it believes that for `fresh`, and while no broker answers. Looks at the cluster again
    /// at most once a second.
    std::string whyNotTo(std::string_view topic, Clock::duration fresh = kFresh);

    /// The end of the state's partition, as one sees it who reads uncommitted records: with what
    /// open transactions have written.
    std::int64_t endOfState(std::int32_t partition);

private:
    void refresh();
    std::int32_t replicasOf(std::string const& topic);
    std::string missingOf(std::vector<std::string> const& names);
    bool checkSettings(std::vector<std::string> const& topics, bool mustKnow);
    void checkSetting(std::string const& topic, std::string const& name, std::string const& value);

    Options const& options_;
    Client client_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::int32_t> partitions_;
    std::unordered_map<std::string, std::int32_t> replicas_;
    Clock::time_point refreshed_ = Clock::time_point::min();
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
