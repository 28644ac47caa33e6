#include "MockedState.h"
#include "components/kafka/daemon/Committer.h"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace timingwheel::test::kafka {
namespace {

using namespace timingwheel::kafka;
using ::testing::HasSubstr;

constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kAddPartitions = 24;

/// Transactions that write no more than the position.
class CommitterTest : public MockedState {
protected:
    static void SetUpTestSuite() { spdlog::set_level(spdlog::level::off); }
    static void TearDownTestSuite() { spdlog::set_level(spdlog::level::info); }

    CommitterTest() {
        Settings settings = options.librdkafka;
        settings["bootstrap.servers"] = options.brokers;
        settings["group.id"] = options.group;
        Configuration configuration{settings};
        consumer_ = configuration.makeClient(RD_KAFKA_CONSUMER);
        shared.consumer = consumer_.get();
    }

    /// What a commit throws once brokers have answered a request like this.
    std::string errorAfter(std::int16_t request, rd_kafka_resp_err_t answer) {
        Assignment assignment{shared, 0};
        PendingTimers timers{0};
        Outputs outputs;
        Tally tally;
        Refusals refusals{assignment};
        Committer committer{assignment, timers, outputs, tally, refusals, nullptr, 1};
        committer.commit(1);
        rd_kafka_mock_push_request_errors(brokers(), request, 1, answer);
        try {
            committer.commit(2);
        } catch (std::runtime_error const& error) {
            return error.what();
        }
        return "nothing was thrown";
    }

private:
    Client consumer_;
};

TEST_F(CommitterTest, SaysWhyThePositionCannotBeWritten) {
    EXPECT_THAT(errorAfter(kProduce, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE),
                HasSubstr("must be written, and cannot be"));
    EXPECT_THAT(errorAfter(kProduce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED),
                HasSubstr("must be written, and cannot be"));
    EXPECT_THAT(errorAfter(kAddPartitions, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED),
                HasSubstr("workers must have the right"));
}

// The clock of this machine is ahead: no command is at fault.
TEST_F(CommitterTest, MakesATransactionAgainWhoseTimeBrokersRefuse) {
    EXPECT_EQ(errorAfter(kProduce, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP), "nothing was thrown");
}

}  // namespace
}  // namespace timingwheel::test::kafka
