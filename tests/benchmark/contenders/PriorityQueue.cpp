#include "wheel/QueueLoads.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace timingwheel::bench {
namespace {

class PriorityQueue {
public:
    explicit PriorityQueue(Request const& request) : timers_(request.count) {}

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        timers_[i].deadline = deadline;
        queue_.push({deadline, i});
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    void cancel(std::size_t i) { timers_[i].deadline = -1; }
    Payload& payload(std::size_t i) { return timers_[i].payload; }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        while (!queue_.empty() && queue_.top().first <= now) {
            std::size_t const i = queue_.top().second;
            bool const isDue = isPending(queue_.top());
            queue_.pop();
            if (!isDue) continue;
            timers_[i].deadline = -1;
            due(i);
        }
    }
    std::int64_t next() const {
        while (!queue_.empty() && !isPending(queue_.top())) queue_.pop();
        return queue_.empty() ? -1 : queue_.top().first;
    }

private:
    using Item = std::pair<std::int64_t, std::size_t>;
    struct Timer {
        std::int64_t deadline = -1;
        Payload payload{};
    };

    bool isPending(Item const& item) const { return timers_[item.second].deadline == item.first; }

    std::int64_t now_ = 0;
    std::vector<Timer> timers_;
    mutable std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

Registration const registration{
    {.id = "priority_queue",
     .title = "std::priority_queue, lazy",
     .usage = "a binary heap from which nothing can be removed: what was rescheduled "
              "stays in it, and is thrown away when it comes up; W3a comes after W1 and pays "
              "for that",
     .largest = 10'000'000},
    queueLoads<PriorityQueue>()};

}  // namespace
}  // namespace timingwheel::bench
