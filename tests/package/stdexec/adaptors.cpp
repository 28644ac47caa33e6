// stdexec's concepts and adaptors with a TimedScheduler. Prints what it sees; fails at the first
// thing that is not as it should be.

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimedScheduler.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exec/timed_scheduler.hpp>
#include <exec/when_any.hpp>
#include <optional>
#include <stdexcept>
#include <stdexec/execution.hpp>
#include <thread>
#include <utility>

using namespace std::chrono_literals;
using timingwheel::TimedScheduler;
using timingwheel::TimedSender;

namespace {

static_assert(stdexec::scheduler<TimedScheduler>);
static_assert(exec::timed_scheduler<TimedScheduler>);
static_assert(stdexec::sender<TimedSender>);
static_assert(stdexec::sender_in<TimedSender, stdexec::env<>>);

void expect(bool isSo, char const* what) {
    std::printf("%s: %s\n", isSo ? "yes" : "NO", what);
    if (!isSo) std::exit(1);
}

}  // namespace

int main() {
    timingwheel::SystemTimer timer;
    TimedScheduler const scheduler{timer};
    auto const isOnTimer = [caller = std::this_thread::get_id()] {
        return std::this_thread::get_id() != caller;
    };

    auto const begin = scheduler.now();
    auto answer = stdexec::sync_wait(exec::schedule_after(scheduler, 50ms) |
                                     stdexec::then([&] { return isOnTimer() ? 42 : 0; }));
    expect(answer && std::get<0>(*answer) == 42, "schedule_after | then completes on the timer");
    expect(scheduler.now() - begin >= 50ms, "and not early");

    auto at = stdexec::sync_wait(exec::schedule_at(scheduler, exec::now(scheduler) + 10ms) |
                                 stdexec::then([] { return 1; }));
    expect(at.has_value(), "schedule_at completes");
    auto started = stdexec::sync_wait(
        stdexec::starts_on(scheduler, stdexec::just() | stdexec::then(isOnTimer)));
    expect(started && std::get<0>(*started), "starts_on runs on the timer");
    auto continued = stdexec::sync_wait(stdexec::just() | stdexec::continues_on(scheduler) |
                                        stdexec::then(isOnTimer));
    expect(continued && std::get<0>(*continued), "continues_on runs on the timer");

    auto both = stdexec::sync_wait(
        stdexec::when_all(scheduler.schedule_after(5ms), scheduler.schedule_after(10ms)));
    expect(both.has_value(), "when_all completes");
    auto first = stdexec::sync_wait(
        exec::when_any(scheduler.schedule_after(20ms) | stdexec::then([] { return 1; }),
                       scheduler.schedule_after(1h) | stdexec::then([] { return 2; })));
    expect(first && std::get<0>(*first) == 1, "when_any: the shorter wins, the longer is stopped");
    expect(timer.pendingTimeouts() == 0, "and nothing is pending any more");

    // The delay counts from start(): stdexec's issue 847.
    auto twice =
        stdexec::let_value(stdexec::schedule(scheduler) | stdexec::then([] {
                               std::this_thread::sleep_for(30ms);
                               return 0;
                           }),
                           [after = scheduler.schedule_after(30ms)](int) { return after; });
    auto const start = scheduler.now();
    expect(stdexec::sync_wait(std::move(twice)).has_value(), "let_value completes");
    expect(scheduler.now() - start >= 60ms, "and its delay counts from its start");

    std::thread stopper{[&] {
        while (timer.pendingTimeouts() == 0) std::this_thread::yield();
        timer.cancelAll();
    }};
    expect(!stdexec::sync_wait(scheduler.schedule_after(1h)), "cancelAll() stops it");
    stopper.join();
    timer.stop();
    expect(!stdexec::sync_wait(scheduler.schedule()), "a stopped timer stops it");

    timingwheel::SystemTimer full{{.maxPendingTimeouts = 1}};
    auto const other = full.newTimeout([] {}, 1h);
    try {
        stdexec::sync_wait(TimedScheduler{full}.schedule());
        expect(false, "a full timer throws");
    } catch (timingwheel::RejectedExecution const& error) {
        expect(true, error.what());
    }
}
