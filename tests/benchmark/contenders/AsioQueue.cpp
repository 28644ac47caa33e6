#include "wheel/QueueLoads.h"

#include <boost/asio/detail/timer_queue.hpp>
#include <boost/asio/detail/wait_op.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace timingwheel::bench {
namespace {

namespace asio = boost::asio::detail;

class AsioQueue {
public:
    explicit AsioQueue(Request const& request) : entries_(request.count) { now_ = 0; }
    ~AsioQueue() {
        for (Entry& entry : entries_) queue_.cancel_timer(entry.timer, cancelled_);
    }
    AsioQueue(AsioQueue const&) = delete;
    AsioQueue& operator=(AsioQueue const&) = delete;

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        queue_.enqueue_timer(deadline, entries_[i].timer, &entries_[i].operation);
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        queue_.cancel_timer(entries_[i].timer, cancelled_);
        cancelled_.pop();
        schedule(i, deadline);
    }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        Operations ready;
        queue_.get_ready_timers(ready);
        while (auto* const operation = static_cast<Operation*>(ready.front())) {
            ready.pop();
            due(static_cast<std::size_t>(operation->entry - entries_.data()));
        }
    }
    std::int64_t next() const {
        return queue_.empty() ? -1 : now_ + queue_.wait_duration_usec(INT64_C(1) << 40) / 1'000;
    }

private:
    struct Traits {
        using time_type = std::int64_t;
        using duration_type = std::int64_t;

        struct Milliseconds {
            std::int64_t count;
            std::int64_t ticks() const { return count; }
            std::int64_t total_milliseconds() const { return count; }
            std::int64_t total_microseconds() const { return count * 1'000; }
        };
        static std::int64_t now() { return now_; }
        static std::int64_t subtract(std::int64_t a, std::int64_t b) { return a - b; }
        static bool less_than(std::int64_t a, std::int64_t b) { return a < b; }
        static Milliseconds to_posix_duration(std::int64_t ticks) { return {ticks}; }
    };
    using Queue = asio::timer_queue<Traits>;
    using Operations = asio::op_queue<asio::operation>;

    struct Entry;
    struct Operation : asio::wait_op {
        explicit Operation(Entry* owner) : wait_op{&Operation::ignore}, entry{owner} {}
        static void ignore(void*, asio::operation*, boost::system::error_code const&, std::size_t) {
        }
        Entry* entry;
    };
    struct Entry {
        Entry() : operation{this} {}
        Queue::per_timer_data timer;
        Operation operation;
        Payload payload{};
    };

    static inline std::int64_t now_ = 0;

    std::vector<Entry> entries_;
    mutable Queue queue_;
    Operations cancelled_;
};

Registration const registration{
    {.id = "asio",
     .title = "Boost.Asio's heap",
     .usage = "the `timer_queue` behind `steady_timer`, without reactor and lock; the "
              "wait operation lies beside its timer, so that nothing is allocated",
     .largest = 10'000'000},
    queueLoads<AsioQueue>()};

}  // namespace
}  // namespace timingwheel::bench
