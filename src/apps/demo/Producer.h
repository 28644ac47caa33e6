#pragma once

#include "apps/demo/Connection.h"
#include "apps/demo/Tasks.h"

#include <timingwheel/Timeout.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <queue>
#include <random>
#include <vector>

namespace demo {

/// How much a producer does. The figures of `--scale 1` are those of the whole load.
struct Rates {
    double requests = 40'000;  ///< a second
    double packets = 100'000;  ///< a second, over all connections
    double orders = 3'000;     ///< a second
    double connections = 10'000;

    Rates operator*(double factor) const noexcept {
        return {requests * factor, packets * factor, orders * factor, connections * factor};
    }
};

/// One thread of the server: sends requests and gets responses, receives packets, takes orders.
class Producer {
public:
    Producer(Server& server, Rates const& rates, std::uint64_t seed);

    /// Works in steps of a millisecond until told to finish.
    void run(std::atomic<bool> const& finish);

private:
    /// Something that will be cancelled: by its response, or by the customer.
    struct Cancellation {
        TimePoint at;
        timingwheel::Timeout timeout;
        Kind kind;
        friend bool operator>(Cancellation const& a, Cancellation const& b) { return a.at > b.at; }
    };
    using Cancellations =
        std::priority_queue<Cancellation, std::vector<Cancellation>, std::greater<>>;

    /// The whole number of things to do in a step; keeps the fraction for the next step.
    class Pace {
    public:
        explicit Pace(double rate) noexcept : rate_{rate} {}
        std::size_t in(std::chrono::nanoseconds step) noexcept;

    private:
        double rate_;
        double credit_ = 0;
    };

    void step(TimePoint now, std::chrono::nanoseconds length);
    void request(TimePoint now, std::uint32_t attempt);
    void order(TimePoint now);
    void hearFrom(std::size_t which, TimePoint now);
    void cancelWhatIsDue(TimePoint now);

    double random() { return std::uniform_real_distribution{}(random_); }
    bool happens(double probability) { return random() < probability; }

    Server& server_;
    Pace requests_;
    Pace packets_;
    Pace orders_;
    std::mt19937_64 random_;
    Outbox outbox_;
    Cancellations cancellations_;
    std::deque<Connection> connections_;
    std::vector<bool> silent_;  // which connections send nothing any more
    std::size_t next_ = 0;      // the connection that sends next
};

}  // namespace demo
