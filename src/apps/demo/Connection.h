#pragma once

#include "apps/demo/Tasks.h"

#include <timingwheel/TimerHook.h>

#include <atomic>
#include <chrono>

namespace demo {

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
        setDue(now + kIdle);
        server_.timer.schedule(idle_, now + kIdle);
        server_.ledger.accepted(Kind::heartbeat);
    }

    void packet(TimePoint now) {
        // Only after it was pushed back: until then the task may rightly run at the old time.
        if (!idle_.reschedule(now + kIdle)) return;
        setDue(now + kIdle);
        server_.ledger.pushedBack();
    }

    void close() {
        if (idle_.cancel()) server_.ledger.cancelled(Kind::heartbeat);
    }

private:
    void setDue(TimePoint due) noexcept { due_.store(due, std::memory_order_relaxed); }
    void onIdle() { server_.ledger.run(Kind::heartbeat, due_.load(std::memory_order_relaxed)); }

    Server& server_;
    std::atomic<TimePoint> due_{};
    timingwheel::TimerHook<&Connection::onIdle> idle_{*this};
};

}  // namespace demo
