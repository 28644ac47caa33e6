#include "components/kafka/daemon/Refusals.h"
#include "kafka/MockedState.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace timingwheel::test::kafka {
namespace {

using namespace timingwheel::kafka;
using ::testing::HasSubstr;

class RefusalsTest : public MockedState {};

// One without a key, where the topic is compacted: else the partition would begin anew for ever.
TEST_F(RefusalsTest, GivesUpADeadLetterThatIsItselfAtFault) {
    Assignment assignment{shared, 0};
    PendingTimers timers{0};
    Outputs outputs;
    Refusals refusals{assignment};
    outputs.deadLetter(OwnRecord{});
    Output& letter = outputs.all().front();
    auto const giveUp = [&](rd_kafka_resp_err_t error) {
        refusals.giveUp(letter, error, timers, outputs);
    };
    try {
        giveUp(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        FAIL() << "nothing was thrown";
    } catch (std::runtime_error const& error) {
        EXPECT_THAT(error.what(), HasSubstr("cannot be: timers.dead-letters: Broker"));
    }
    ASSERT_EQ(letter.kind, Output::Kind::deadLetter);
    giveUp(RD_KAFKA_RESP_ERR_INVALID_RECORD);
    EXPECT_EQ(letter.kind, Output::Kind::nothing);
}

}  // namespace
}  // namespace timingwheel::test::kafka
