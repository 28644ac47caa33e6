#include "components/kafka/daemon/CommandReader.h"
#include "components/kafka/daemon/StateReader.h"
#include "kafka/MockedState.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using namespace timingwheel::kafka;

class CommandReaderTest : public MockedState {};

// A full worker leaves them where they are, and retention goes on.
TEST_F(CommandReaderTest, TakesNothingForLostThatTheLogHadWhenItWasRead) {
    for (int i = 0; i < 8; ++i) write(std::to_string(i), "");
    flush();
    StateReader reader{options, 0};
    reader.goTo(0);
    Assignment assignment{shared, 0};
    Inbox inbox{10};
    CommandReader commands{assignment, inbox, 0, {0, 8}};
    inbox.open(0);
    std::int64_t logBegin = 0;
    auto const put = [&](std::int64_t offset) {
        Message message;
        while (!message || message->offset < offset) message = reader.next(10ms);
        inbox.put(std::move(message), [&] { return logBegin; });
    };
    put(0);
    put(2);  // behind the end of a transaction
    logBegin = 4;
    put(3);
    EXPECT_EQ(commands.read(0ms).lost, 0U);
    EXPECT_EQ(commands.next(), 4);
    logBegin = 6;
    put(7);
    logBegin = 8;
    EXPECT_EQ(commands.read(0ms).lost, 2U);
}

}  // namespace
}  // namespace timingwheel::test::kafka
