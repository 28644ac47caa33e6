#include "components/kafka/daemon/Worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <tuple>

// What needs a broker is in failures.py.
namespace timingwheel::test::kafka {
namespace {

using ::testing::HasSubstr;
using timingwheel::kafka::Metrics;
using timingwheel::kafka::Options;
using timingwheel::kafka::Topics;
using timingwheel::kafka::Worker;

// librdkafka refuses a session that is longer than its five minutes between two polls.
TEST(Worker, HasASessionAsLongAsTheOptionsAllow) {
    Options options;
    options.brokers = "127.0.0.1:1";
    options.librdkafka = {{"log_level", "0"}};
    options.sessionTimeout = std::chrono::hours{1};
    Metrics metrics;
    Topics topics{options};
    std::optional<Worker> worker;
    EXPECT_NO_THROW(worker.emplace(options, topics, metrics));
}

// Bug pattern: it joins the group, and then each of its partitions begins anew for ever.
TEST(Worker, RefusesSettingsWithWhichNoProducerCanBeMade) {
    for (auto const& [setting, value, reason] :
         {std::tuple{"max.in.flight", "6", "`max.in.flight` must be set <= 5"},
          std::tuple{"request.required.acks", "1", "`acks` must be set to `all`"}}) {
        Options options;
        options.brokers = "127.0.0.1:1";
        options.librdkafka = {{"log_level", "0"}, {setting, value}};
        Metrics metrics;
        Topics topics{options};
        try {
            Worker const worker{options, topics, metrics};
            ADD_FAILURE() << setting << " was accepted";
        } catch (std::invalid_argument const& error) {
            EXPECT_THAT(error.what(), HasSubstr(reason));
        }
    }
}

}  // namespace
}  // namespace timingwheel::test::kafka
