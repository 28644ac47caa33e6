#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Options.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// What the cluster's topics are like: which there are, and whether ours are set as they must be.
///
/// Thread safety  every function from any thread
class Topics {
public:
    explicit Topics(Options const& options);
    Topics(Topics const&) = delete;
    Topics& operator=(Topics const&) = delete;
    ~Topics();

    /// Makes those that are missing, if the options say so.
    void create();
    /// Throws std::runtime_error that names the topic, the setting, its value and the bound. Says
    /// on the log what would only be better otherwise. Returns the number of partitions.
    std::int32_t check();

    /// The number of partitions as it is now.
    std::int32_t partitionsOf(std::string const& topic);
    using Clock = std::chrono::steady_clock;
    /// How old cached topic data may be.
    static constexpr std::chrono::minutes kFresh{1};

    /// Why timers may not be delivered to this topic; empty if they may. A topic that was there is
    /// assumed to exist for `fresh`, and while no broker answers. Two looks at the cluster show
    /// that a topic is missing: one after `asked`, and one 200 ms later, since new topics reach
    /// brokers one after the other. Users who name unknown topics all the time cause at most a
    /// look each 50 ms, and 200 ms of waiting for each time that is passed as `asked`; if they name
    /// the same ones, none.
    std::string refusalOfTopic(std::string_view topic, Clock::time_point asked,
                               Clock::duration fresh = kFresh);

    /// The number of the commands' partitions, as watch() has counted them; 0 if it has not.
    std::int32_t partitionsOfCommands() const noexcept { return counted_; }
    /// When watch() last began to count, and a broker answered.
    Clock::time_point answered() const noexcept { return answered_; }
    /// The number by looks as above; the second is made if the first finds `known`.
    std::int32_t partitionsOfCommands(Clock::time_point asked, std::int32_t known);
    /// The number of partitions that is noted beside an offset of the group and is not `now`; 0 if
    /// there is none.
    std::int32_t partitionsOfGroup(std::int32_t now);

    /// Counts the commands' partitions once a second from now on.
    void watch();

private:
    using Lock = std::unique_lock<std::mutex>;

    void count();
    void look(Lock& lock, Clock::time_point after);
    template <class IsFound>
    bool lookTwice(Lock& lock, Clock::time_point asked, std::string const& name,
                   IsFound const& isFound);
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
    Clock::time_point refreshed_ = Clock::time_point::min();      // when the last look began
    Clock::time_point failed_ = Clock::time_point::min();         // when one last did
    rd_kafka_resp_err_t failure_ = RD_KAFKA_RESP_ERR_NO_ERROR;    // of the last look
    std::unordered_map<std::string, Clock::time_point> missing_;  // by name, when last

    std::atomic<std::int32_t> counted_{0};
    std::atomic<Clock::time_point> answered_{Clock::time_point::min()};
    std::mutex watching_;
    bool isStopping_ = false;  // of `watching_`
    std::condition_variable stops_;
    std::thread watcher_;
};

}  // namespace timingwheel::inline v1::kafka
