#pragma once

#include "apps/demo/Ledger.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>

#include <atomic>
#include <chrono>

namespace demo {

/// What the whole load shares.
struct Server {
    timingwheel::SystemTimer& timer;
    Ledger& ledger;
};

/// A request that got no response in time, or an order whose time has come.
template <Kind kind>
struct RunsOnce {
    Server* server;
    TimePoint due;

    void operator()() const { server->ledger.run(kind, due); }
};
using RequestTimeout = RunsOnce<Kind::request>;
using DelayedOrder = RunsOnce<Kind::order>;

/// A job at a fixed rate.
struct PeriodicJob {
    Server* server;
    TimePoint due;
    std::chrono::nanoseconds period;

    void operator()() {
        server->ledger.runAgain(due);
        due += period;  // the timer counts from its own, later reading of the clock
    }
};

/// A connection that is closed when no packet has come for a while: each packet pushes that back.
///
/// Thread safety  one producer, and the timer
class Connection {
public:
    static constexpr std::chrono::milliseconds kIdle{500};

    explicit Connection(Server& server) noexcept : server_{server} {}

    bool isOpen() const noexcept { return idle_.isPending(); }

    /// REQUIRES: not open.
    void open(TimePoint now) {
        // There is nothing to cancel, but perhaps a run that is not over, and it reads due_.
        idle_.cancelAndWait();
        due_ = now + kIdle;
        server_.timer.schedule(idle_, now + kIdle);
        server_.ledger.accepted(Kind::heartbeat);
    }

    void packet(TimePoint now) {
        // Only after it was pushed back: until then the task may rightly run at the old time.
        if (!idle_.reschedule(now + kIdle)) return;
        due_ = now + kIdle;
        server_.ledger.pushedBack();
    }

    void close() {
        if (idle_.cancel()) server_.ledger.cancelled(Kind::heartbeat);
    }

private:
    void onIdle() { server_.ledger.run(Kind::heartbeat, due_); }

    Server& server_;
    std::atomic<TimePoint> due_{};
    timingwheel::TimerHook<&Connection::onIdle> idle_{*this};
};

}  // namespace demo
