#pragma once

#include "apps/demo/Ledger.h"

#include <timingwheel/SystemTimer.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace demo {

/// What the whole load shares.
struct Server {
    timingwheel::SystemTimer& timer;
    Ledger& ledger;
};

/// Requests to be sent again: retries put them in, on the timer's threads; a producer takes them.
class Outbox {
public:
    void put(std::uint32_t attempt) {
        std::lock_guard const lock{mutex_};
        attempts_.push_back(attempt);
    }
    std::vector<std::uint32_t> take() {
        std::lock_guard const lock{mutex_};
        return std::exchange(attempts_, {});
    }

private:
    std::mutex mutex_;
    std::vector<std::uint32_t> attempts_;
};

/// The pause before a request that timed out is sent again.
struct Retry {
    static constexpr Kind kKind = Kind::retry;

    Server* server;
    Outbox* outbox;
    TimePoint due;
    std::uint32_t attempt;

    void operator()() const;
};

/// A request got no response in time. It is retried after a pause that doubles every time.
struct RequestTimeout {
    static constexpr Kind kKind = Kind::request;
    static constexpr std::uint32_t kMostAttempts = 4;

    Server* server;
    Outbox* outbox;
    TimePoint due;
    std::uint32_t attempt;

    void operator()() const;
};

/// An order whose time has come.
struct DelayedOrder {
    static constexpr Kind kKind = Kind::order;

    Server* server;
    TimePoint due;

    void operator()() const;
};

/// A job at a fixed rate or with a fixed delay; some end themselves after a number of runs.
struct PeriodicJob {
    static constexpr Kind kKind = Kind::periodic;

    Server* server;
    TimePoint due;
    std::chrono::nanoseconds period;
    std::uint32_t runsLeft;
    bool fixedDelay;

    void operator()(timingwheel::Timeout const& self);
};

}  // namespace demo
