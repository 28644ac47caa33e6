#include <support/Effort.h>
#include <support/Figure.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

std::atomic<long> threadOfSignal{0};
std::atomic<int> signals{0};

void noteThread(int) {
    threadOfSignal = syscall(SYS_gettid);
    ++signals;
}

/// All that a thread can block, but those for real time.
std::vector<int> allSignals() {
    std::vector<int> all;
    for (int signal = 1; signal < 32; ++signal)
        if (signal != SIGKILL && signal != SIGSTOP) all.push_back(signal);
    return all;
}

// G23
// Bug pattern: setting the thread's name deadlocks.
TEST(Process, DriverThreadHasTheTimersName) {
    int right = 0;
    for (std::string const name : {"timingwheel", "fifteen-letters"}) {
        SystemTimer timer{{.name = name}};
        std::promise<long> driver;
        timer.newTimeout([&driver] { driver.set_value(syscall(SYS_gettid)); }, 0ms);
        long const thread = driver.get_future().get();
        right += findThread(name) == thread ? 1 : 0;
    }
    figure("G23", "threads in /proc with the name of their timer", right, exactly(2));
}

// G23
TEST(Process, DriverThreadTakesNoSignals) {
    Watchdog const watchdog{"signals beside a driver thread"};
    SystemTimer timer{{.name = "signals"}};
    std::promise<long> driver;
    timer.newTimeout([&driver] { driver.set_value(syscall(SYS_gettid)); }, 0ms);
    long const thread = driver.get_future().get();
    std::uint64_t const blocked = std::stoull(threadStatus(thread, "SigBlk"), nullptr, 16);
    // Nobody can block SIGKILL and SIGSTOP; 32 and 33 are the C library's own.
    unsigned open = 0;
    for (int const signal : allSignals()) open += (blocked >> (signal - 1) & 1U) == 0 ? 1U : 0U;
    figure("G23", "signals that the driver thread does not block", open, exactly(0),
           {allSignals().size(), 29});

    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = noteThread;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
    int taken = 0;
    for (int i = 0; i < 100; ++i) {
        kill(getpid(), SIGUSR1);
        taken += threadOfSignal == thread ? 1 : 0;
    }
    waitUntil([] { return signals > 0; });
    EXPECT_NE(threadOfSignal, thread);
    figure("G23", "signals to the process that the driver thread took", taken, exactly(0),
           {100, 100});
    sigaction(SIGUSR1, &before, nullptr);
}

// The system may gather wake-ups that lie close together: by 50 us, unless a thread asks for less.
TEST(Process, DriverThreadsWakeUpsAreNotGathered) {
    SystemTimer timer;
    std::promise<int> slack;
    timer.newTimeout([&slack] { slack.set_value(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL)); },
                     0ms);
    EXPECT_EQ(slack.get_future().get(), 1) << "nanoseconds";
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

/// Two timers at work, with timeouts pending, while the process forks.
class ProcessThatForks : public testing::Test {
protected:
    ProcessThatForks() {
        system_.newTimeout([] {}, 1h);
        flat_.newTimeout([] {}, 1h);
        system_.scheduleAtFixedRate([this] { ++ticks_; }, 0ms, 1ms);
    }

    /// The status with which a child ends that does `body`; -1 if a signal ends it.
    template <class Body>
    int statusOf(Body&& body) {
        waitUntil([this] { return ticks_ > 0; });
        pid_t const child = fork();
        if (child == 0) {
            alarm(60);  // what hangs ends by a signal
            body();
            _exit(1);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    /// The parent's timers go on, and accept and run what is new.
    void expectTheParentToGoOn() {
        int const before = ticks_;
        waitUntil([&] { return ticks_ > before + 5; });
        std::promise<void> ran;
        flat_.newTimeout([&ran] { ran.set_value(); }, 0ms);
        ran.get_future().wait();
        EXPECT_EQ(flat_.stop().size(), 1U);
        EXPECT_EQ(system_.stop().size(), 2U);
    }

    Watchdog const watchdog_{"a forked child"};
    std::atomic<int> ticks_{0};
    SystemTimer system_;
    HashedWheelTimer flat_;
};

// G24
TEST_F(ProcessThatForks, MayHaveAChildThatEndsAtOnce) {
    int const status = statusOf([] { _exit(7); });
    figure("G24", "status of a forked child that calls _exit(7)", status, exactly(7));
    expectTheParentToGoOn();
}

// G24
TEST_F(ProcessThatForks, MayHaveAChildThatExecutesAnotherProgram) {
    int const status = statusOf([] { execl("/bin/sh", "sh", "-c", "exit 8", nullptr); });
    figure("G24", "status of a forked child whose new program exits with 8", status, exactly(8));
    expectTheParentToGoOn();
}

/// Makes a timer, has a task run on its thread, stops it.
template <class T>
bool runsATask() {
    T timer;
    std::promise<long> thread;
    timer.newTimeout([&thread] { thread.set_value(syscall(SYS_gettid)); }, 1ms);
    Timeout const pending = timer.newTimeout([] {}, 1h);
    bool const isOnItsOwn = thread.get_future().get() != syscall(SYS_gettid);
    return isOnItsOwn && timer.stop().size() == 1 && pending.isReturned();
}

// G24
// The child has its copies of the parent's timers and no thread that drives them. It leaves them
// alone, and uses timers that it has made.
TEST_F(ProcessThatForks, MayHaveAChildWithTimersOfItsOwn) {
    if (kIsSanitized) flat_.stop();
    if (kHasThreadSanitizer)
        GTEST_SKIP() << "the thread sanitizer allows no thread in a forked child";
    // Unlike the system's, whatever another thread did with its lock at the fork.
    if (kHasAddressSanitizer)
        GTEST_SKIP() << "the address sanitizer's allocator may stay locked in a forked child";
    int const status = statusOf([] {
        if (!runsATask<SystemTimer>()) _exit(2);
        if (!runsATask<HashedWheelTimer>()) _exit(3);
        _exit(9);
    });
    figure("G24", "status of a forked child that exits with 9 after its own timers ran", status,
           exactly(9));
    expectTheParentToGoOn();
}

SystemTimer& staticTimer() {
    static SystemTimer timer;
    return timer;
}

[[noreturn]] void exitWithTimeoutsPending() {
    endInTheEnd();
    staticTimer().newTimeout([] {}, 1h);
    staticTimer().scheduleAtFixedRate([] {}, 0ms, 1ms);
    std::exit(3);
}

[[noreturn]] void exitFromInsideATask() {
    endInTheEnd();
    staticTimer().newTimeout([] {}, 1h);
    staticTimer().newTimeout([] { std::exit(4); }, 1ms);
    pauseForEver();
}

[[noreturn]] void exitFromInsideAnotherTimersTask() {
    endInTheEnd();
    static SystemTimer other;
    staticTimer().newTimeout([] {}, 1h);
    other.newTimeout([] { std::exit(5); }, 1ms);
    pauseForEver();
}

class ProcessDeathTest : public testing::Test {
protected:
    ProcessDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// G24
TEST_F(ProcessDeathTest, EndsWithAStaticTimerThatIsAtWork) {
    EXPECT_EXIT(exitWithTimeoutsPending(), testing::ExitedWithCode(3), "");
    figure("G24", "processes with a static timer that hung at their end", HasFailure() ? 1 : 0,
           exactly(0));
}

// G24
TEST_F(ProcessDeathTest, EndsWhenATaskCallsExit) {
    EXPECT_EXIT(exitFromInsideATask(), testing::ExitedWithCode(4), "");
    EXPECT_EXIT(exitFromInsideAnotherTimersTask(), testing::ExitedWithCode(5), "");
    figure("G24", "processes that hung where a task calls exit()", HasFailure() ? 1 : 0,
           exactly(0));
}

}  // namespace
}  // namespace timingwheel::test
