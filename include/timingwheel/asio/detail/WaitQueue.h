#pragma once

#include <cstddef>
#include <limits>

namespace timingwheel::inline v1 {
namespace asio::detail {

/// The waits of each timer: the part of a queue that does not depend on where the time is kept.
/// Names with underscores are those by which Asio calls.
///
/// `Place` is what a timer keeps of its place in `Queue`, whose `end()` takes it out when nobody
/// waits for it any more.
///
/// Thread safety  Asio calls with its reactor's lock held
template <class Net, class Queue, class Place>
class WaitQueue : public Net::QueueBase {
public:
    using Operations = typename Net::template OperationQueue<typename Net::Operation>;
    using Wait = typename Net::Wait;

    class per_timer_data : public Place {
        friend WaitQueue;
        friend Queue;
        typename Net::template OperationQueue<Wait> waits_;
    };

    std::size_t cancel_timer(per_timer_data& timer, Operations& cancelled,
                             std::size_t most = (std::numeric_limits<std::size_t>::max)()) {
        std::size_t count = 0;
        for (; count < most && !timer.waits_.empty(); ++count) abortFirst(timer, cancelled);
        if (count > 0 && timer.waits_.empty()) static_cast<Queue&>(*this).end(timer);
        return count;
    }

    /// Cancels the one wait that a cancellation slot knows by its key.
    void cancel_timer_by_key(per_timer_data* timer, Operations& cancelled, void* key) {
        if (timer->waits_.empty()) return;
        typename Net::template OperationQueue<Wait> others;
        while (Wait* const wait = timer->waits_.front()) {
            if (wait->cancellation_key_ == key) {
                abortFirst(*timer, cancelled);
            } else {
                timer->waits_.pop();
                others.push(wait);
            }
        }
        timer->waits_.push(others);
        if (timer->waits_.empty()) static_cast<Queue&>(*this).end(*timer);
    }

protected:
    static void abortFirst(per_timer_data& timer, Operations& cancelled) {
        Wait* const wait = timer.waits_.front();
        Net::abort(*wait);
        timer.waits_.pop();
        cancelled.push(wait);
    }
};

}  // namespace asio::detail
}  // namespace timingwheel::inline v1
