// What is said in words, with too little memory.

#include <support/OutOfMemory.h>
#include <support/TestTimers.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Repeat = AllocationFailure::Repeat;

using testing::HasSubstr;
using testing::Not;

// Bug pattern: what is reported needs memory, just when something goes wrong.
TEST(OutOfMemoryWords, TheLineOfATaskThatThrewNeedsNone) {
    SettableClock clock;
    ManualTimer timer{{.name = "wordy", .clock = clock, .slowTaskThreshold = 1ms}};
    std::string const words = "it went wrong, and it takes more than a few words to say how";
    std::runtime_error const error{words};
    timer.newTimeout([&] { throw error; }, 1ms);
    timer.newTimeout([] { throw 7; }, 1ms);
    timer.newTimeout([&] { clock.add(20ms); }, 2ms);
    clock.add(2ms);
    testing::internal::CaptureStderr();
    bool happened = false;
    {
        AllocationFailure const failure{1, Repeat::forEver};
        timer.advanceTo(clock.now());
        happened = failure.happened();
    }
    std::string const reported = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(happened);
    EXPECT_THAT(reported, HasSubstr("timer \"wordy\": a task threw: " + words));
    EXPECT_THAT(reported, HasSubstr("an exception that is not a std::exception"));
    EXPECT_THAT(reported, HasSubstr("a task ran for 20.000 ms"));
    EXPECT_THAT(reported, Not(HasSubstr("handler threw")));
}

TEST(OutOfMemoryWords, AHandlerThatFindsNoMemoryHarmsNothing) {
    SettableClock clock;
    std::vector<std::string> reported;
    ManualTimer timer{{.name = "wordy", .clock = clock, .errorHandler = [&](TaskFailure const&) {
                           reported.emplace_back(100, 'x');
                       }}};
    int runs = 0;
    timer.newTimeout([] { throw 7; }, 1ms);
    timer.newTimeout([&] { ++runs; }, 2ms);
    clock.add(2ms);
    testing::internal::CaptureStderr();
    {
        AllocationFailure const failure{1, Repeat::forEver};
        timer.advanceTo(clock.now());
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("its error handler threw"));
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(reported.empty());
}

}  // namespace
}  // namespace timingwheel::test
