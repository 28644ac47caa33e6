#include "Loads.h"

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
    explicit PriorityQueue(Settings const& settings) : timers_(settings.pending) {}

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        timers_[i].deadline = deadline;
        queue_.push({deadline, i});
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        while (!queue_.empty() && queue_.top().first <= now) {
            auto const [deadline, i] = queue_.top();
            queue_.pop();
            if (timers_[i].deadline != deadline) continue;
            timers_[i].deadline = -1;
            due(i);
        }
    }
    std::int64_t next() const { return queue_.empty() ? -1 : queue_.top().first; }

private:
    using Item = std::pair<std::int64_t, std::size_t>;
    struct Timer {
        std::int64_t deadline = -1;
        Payload payload{};
    };

    std::int64_t now_ = 0;
    std::vector<Timer> timers_;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

Registration const registration{
    Description{.id = "priority_queue",
                .title = "std::priority_queue, lazy",
                .usage =
                    "a binary heap from which nothing can be removed: what was rescheduled "
                    "stays in it, and is thrown away when it comes up; W3a comes after W1 and pays "
                    "for that"},
    [](Settings const& settings) { return PriorityQueue{settings}; }};

}  // namespace
}  // namespace timingwheel::bench
