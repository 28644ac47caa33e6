#pragma once

#include <timingwheel/asio/Deadline.h>

#include <boost/asio/io_context.hpp>

#include <chrono>

// A deadline of this library: a packet pushes it back.
template <class Owner>
class WheelDeadline {
public:
    WheelDeadline(boost::asio::io_context& context, Owner& owner)
        : deadline_{context.get_executor(), [&owner] { owner.onTimeout(); }} {}

    void pushBack(std::chrono::milliseconds timeout) { deadline_.expires_after(timeout); }

    void cancel() { deadline_.cancel(); }

private:
    timingwheel::asio::Deadline deadline_;
};
