#include <support/Effort.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

std::atomic<long> threadOfSignal{0};
std::atomic<int> signals{0};

void noteThread(int) {
    threadOfSignal = syscall(SYS_gettid);
    ++signals;
}

TEST(Process, DriverThreadHasTheTimersName) {
    for (std::string const name : {"timingwheel", "fifteen-letters"}) {
        SystemTimer timer{{.name = name}};
        std::promise<long> driver;
        timer.newTimeout([&driver] { driver.set_value(syscall(SYS_gettid)); }, 0ms);
        long const thread = driver.get_future().get();
        EXPECT_EQ(findThread(name), thread);
    }
}

TEST(Process, DriverThreadTakesNoSignals) {
    Watchdog const watchdog{"signals beside a driver thread"};
    SystemTimer timer{{.name = "signals"}};
    std::promise<long> driver;
    timer.newTimeout([&driver] { driver.set_value(syscall(SYS_gettid)); }, 0ms);
    long const thread = driver.get_future().get();
    std::uint64_t const blocked = std::stoull(threadStatus(thread, "SigBlk"), nullptr, 16);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM, SIGPIPE})
        EXPECT_NE(blocked >> (signal - 1) & 1U, 0U) << signal;

    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = noteThread;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    for (int i = 0; i < 100; ++i) {
        kill(getpid(), SIGUSR1);
        EXPECT_NE(threadOfSignal, thread);
    }
    waitUntil([] { return signals > 0; });
    EXPECT_NE(threadOfSignal, thread);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST(Process, SchedulingLeavesTheCallersSignalMaskAlone) {
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    SystemTimer timer;
    timer.newTimeout([] {}, 1h);
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int signal = 1; signal < 32; ++signal)
        EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

// A forked child has no driver thread: it must leave its parent's timers alone, and may end with
// _exit() or exec.
TEST(Process, AForkedChildMayEndWhileTheParentsTimerGoesOn) {
    Watchdog const watchdog{"a forked child"};
    SystemTimer timer;
    std::promise<void> ran;
    timer.newTimeout([&ran] { ran.set_value(); }, 20ms);
    pid_t const child = fork();
    if (child == 0) _exit(7);
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    ran.get_future().wait();
}

SystemTimer& staticTimer() {
    static SystemTimer timer;
    return timer;
}

/// For a death test: what hangs is ended by a signal, which is not the exit that is expected.
void endAtTheLatestAfter(unsigned seconds) { alarm(kIsSanitized ? 6 * seconds : seconds); }

[[noreturn]] void exitWithTimeoutsPending() {
    endAtTheLatestAfter(10);
    staticTimer().newTimeout([] {}, 1h);
    staticTimer().scheduleAtFixedRate([] {}, 0ms, 1ms);
    std::exit(3);
}

[[noreturn]] void exitFromInsideATask() {
    endAtTheLatestAfter(10);
    staticTimer().newTimeout([] {}, 1h);
    staticTimer().newTimeout([] { std::exit(4); }, 1ms);
    for (;;) pause();
}

[[noreturn]] void exitFromInsideAnotherTimersTask() {
    endAtTheLatestAfter(10);
    static SystemTimer other;
    staticTimer().newTimeout([] {}, 1h);
    other.newTimeout([] { std::exit(5); }, 1ms);
    for (;;) pause();
}

class ProcessDeathTest : public testing::Test {
protected:
    ProcessDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ProcessDeathTest, EndsWithAStaticTimerThatIsAtWork) {
    EXPECT_EXIT(exitWithTimeoutsPending(), testing::ExitedWithCode(3), "");
}

TEST_F(ProcessDeathTest, EndsWhenATaskCallsExit) {
    EXPECT_EXIT(exitFromInsideATask(), testing::ExitedWithCode(4), "");
    EXPECT_EXIT(exitFromInsideAnotherTimersTask(), testing::ExitedWithCode(5), "");
}

}  // namespace
}  // namespace timingwheel::test
