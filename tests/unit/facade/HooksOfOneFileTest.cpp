// The other file has classes and functions of the same names, which are others.

#include <support/TestTimers.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> ran;

struct Session {
    void onIdle() { ran.push_back("a member of one file"); }
    TimerHook<&Session::onIdle> idle{*this};
};

struct Lease {
    TimerHook<[](Lease&) { ran.push_back("a lambda of one file"); }> end{*this};
};

void onRetry(Watchdog&) { ran.push_back("a function of one file"); }

// Bug pattern: g++ takes what is made of the one for what is made of the other.
TEST(HooksOfOneFile, CallWhatItHas) {
    Watchdog watchdog{"hooks of one file"};
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    Session session;
    Lease lease;
    TimerHook<&onRetry> retry{watchdog};
    timer.schedule(session.idle, 1ms);
    timer.schedule(lease.end, 2ms);
    timer.schedule(retry, 3ms);
    clock.advance(3ms);
    std::vector<std::string> const expected{"a member of one file", "a lambda of one file",
                                            "a function of one file"};
    EXPECT_EQ(std::exchange(ran, {}), expected);
}

}  // namespace
}  // namespace timingwheel::test
