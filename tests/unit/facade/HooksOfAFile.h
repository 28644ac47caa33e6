// For two files, which each say first what they are called: `kFile`. So both have classes and
// functions of the same names in unnamed namespaces, and these do not do the same.

#pragma once

#include <support/TestTimers.h>
#include <timingwheel/TimerHook.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using Calls = std::vector<std::string>;

Calls calls;

void add(std::string what) { calls.push_back(std::move(what) + " of " + kFile); }

struct Session {
    void onIdle() { add("a member"); }
    TimerHook<&Session::onIdle> idle{*this};
};

struct Lease {
    TimerHook<[](Lease&) { add("a lambda"); }> end{*this};
};

struct Request {};
void onRetry(Request&) { add("a function"); }

/// What hooks of each kind call, in this file.
Calls callsOfHooks() {
    using namespace std::chrono_literals;
    Watchdog const watchdog{"hooks of a file"};
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    Session session;
    Lease lease;
    Request request;
    TimerHook<&onRetry> retry{request};
    timer.schedule(session.idle, 1ms);
    timer.schedule(lease.end, 2ms);
    timer.schedule(retry, 3ms);
    clock.advance(3ms);
    return std::exchange(calls, {});
}

}  // namespace
}  // namespace timingwheel::test
