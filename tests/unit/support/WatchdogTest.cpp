// What ends a test that hangs, and nothing else.

#include <support/Effort.h>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

void sleepForEver() {
    Watchdog const watchdog{"a deadlock", 200ms};
    std::promise<void>{}.get_future().wait();
}

void sleepNowAndThen() {
    Watchdog const watchdog{"a wait", 200ms};
    for (;;) std::this_thread::sleep_for(50us);
}

void runForEver() {
    Watchdog const watchdog{"a loop", 100ms};
    for (unsigned volatile turns = 0;;) turns = turns + 1;
}

class WatchdogDeathTest : public testing::Test {
protected:
    WatchdogDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, EndsWhatSleepsForEver) {
    EXPECT_DEATH(sleepForEver(), "not over after .* asleep: a deadlock");
}

TEST_F(WatchdogDeathTest, EndsWhatSleepsNowAndThenForEver) {
    EXPECT_DEATH(sleepNowAndThen(), "not over after .*: a wait");
}

TEST_F(WatchdogDeathTest, EndsWhatRunsForEver) {
    EXPECT_DEATH(runForEver(), "not over after .* of processor time: a loop");
}

// A child stops itself, which is the most that a busy machine can do to it.
TEST(Watchdog, EndsNothingThatGotNoProcessor) {
    pid_t const child = fork();
    if (child == 0) {
        {
            Watchdog const watchdog{"a child that was stopped", 500ms};
            std::this_thread::sleep_for(50ms);  // time for the watchdog to look
            raise(SIGSTOP);
            std::this_thread::sleep_for(50ms);
        }
        _exit(7);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    std::this_thread::sleep_for(700ms);
    kill(child, SIGCONT);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << "status " << status;
}

}  // namespace
}  // namespace timingwheel::test
