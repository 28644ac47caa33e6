#include "components/kafka/daemon/Worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

// What needs a broker is in failures.py.
namespace timingwheel::test::kafka {
namespace {

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

}  // namespace
}  // namespace timingwheel::test::kafka
