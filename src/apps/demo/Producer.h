#pragma once

#include "apps/demo/Tasks.h"

#include <timingwheel/Timeout.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace demo {

/// One thread of the server: sends requests and gets responses, receives packets, takes orders.
class Producer {
public:
    /// `share`: of a load of 40,000 requests, 100,000 packets and 3,000 orders a second.
    Producer(Server& server, double share, std::uint64_t seed);

    /// Works in steps of a millisecond until it has to finish.
    void run(std::atomic<bool> const& finish);

private:
    /// Something that will be cancelled: by its response, or by the customer.
    struct Cancellation {
        TimePoint at;
        timingwheel::Timeout timeout;
        Kind kind;
        friend bool operator>(Cancellation const& a, Cancellation const& b) { return a.at > b.at; }
    };

    /// The whole number of things to do in a step; keeps the fraction for the next step.
    struct Pace {
        std::size_t in(std::chrono::nanoseconds step) noexcept;

        double rate;  ///< a second
        double credit = 0;
    };

    void step(TimePoint now, std::chrono::nanoseconds length);
    void request(TimePoint now);
    void order(TimePoint now);
    void hearFrom(std::size_t which, TimePoint now);
    void cancelWhatIsDue(TimePoint now);

    double random() { return std::uniform_real_distribution{}(random_); }

    Server& server_;
    Pace requests_;
    Pace packets_;
    Pace orders_;
    std::mt19937_64 random_;
    std::priority_queue<Cancellation, std::vector<Cancellation>, std::greater<>> cancellations_;
    std::deque<Connection> connections_;
    std::vector<bool> silent_;  // which connections send nothing any more
    std::size_t next_ = 0;      // the connection that sends next
};

}  // namespace demo
