#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

// Asio's timer as experts use it: a packet writes a time, and the wait begins again when it ends.
template <class Owner>
class StockLazy {
public:
    StockLazy(boost::asio::io_context& context, Owner& owner) : owner_{owner}, timer_{context} {}

    void pushBack(std::chrono::milliseconds timeout) {
        deadline_ = Clock::now() + timeout;
        if (!isWaiting_) wait();
    }

    void cancel() { deadline_ = (Clock::time_point::max)(); }

private:
    using Clock = std::chrono::steady_clock;

    void wait() {
        isWaiting_ = true;
        timer_.expires_at(deadline_);
        timer_.async_wait([this](auto error) {
            isWaiting_ = false;
            if (error || deadline_ == (Clock::time_point::max)()) return;
            if (Clock::now() < deadline_) return wait();
            owner_.onTimeout();
        });
    }

    Owner& owner_;
    boost::asio::steady_timer timer_;
    Clock::time_point deadline_{};
    bool isWaiting_ = false;
};
