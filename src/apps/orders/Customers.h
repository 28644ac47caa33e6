#pragma once

#include "apps/orders/Book.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace orders {

/// Customers who do not exist: they order at a rate, and a part of them pay, at some time before
/// the deadline. Whether one pays, and when, follows from the order's number: so it is the same
/// after a restart.
///
/// Thread safety  one thread
class Customers {
public:
    struct Options {
        double rate = 20;   // orders a second
        double paid = 0.9;  // of all
        std::uint64_t seed = 1;
        std::uint64_t orders = 0;  // how many in all; 0: without end
    };

    using SteadyTime = std::chrono::steady_clock::time_point;

    /// Goes on behind the orders that are in the book.
    Customers(Options const& options, Book& book, SteadyTime now);

    /// The ids of orders placed until now. By a clock that nobody sets. After a pause of the
    /// program, no more than in a second.
    std::vector<std::string> order(SteadyTime now);
    /// They have been placed, with this deadline.
    void ordered(std::vector<std::string> const& ids, Time now, Time deadline);
    /// The ids of orders paid until now.
    std::vector<std::string> pay(Time now);
    bool haveAllOrdered() const noexcept {
        return options_.orders > 0 && number_ >= options_.orders;
    }

private:
    using Payment = std::pair<Time, std::string>;

    static std::string idOf(std::uint64_t number);
    void expect(std::string const& id, Time placed, Time deadline);

    Options options_;
    std::uint64_t number_ = 0;  // of the last order
    double waiting_ = 0;        // a part of an order
    SteadyTime last_;
    std::priority_queue<Payment, std::vector<Payment>, std::greater<>> payments_;
};

}  // namespace orders
