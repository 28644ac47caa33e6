#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

// Asio's timer as its documentation uses it: each packet aborts the wait and begins another.
template <class Owner, class Timer = boost::asio::steady_timer>
class Stock {
public:
    Stock(boost::asio::io_context& context, Owner& owner) : owner_{owner}, timer_{context} {}

    void pushBack(std::chrono::milliseconds timeout) {
        timer_.expires_after(timeout);
        timer_.async_wait([this](auto error) {
            // It may have been pushed back when its handler was already queued.
            if (error || timer_.expiry() > std::chrono::steady_clock::now()) return;
            owner_.onTimeout();
        });
    }

    void cancel() { timer_.expires_at((Timer::time_point::max)()); }

private:
    Owner& owner_;
    Timer timer_;
};
