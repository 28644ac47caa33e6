#pragma once

#include <timingwheel/TimerObserver.h>

#include <algorithm>
#include <mutex>
#include <tuple>
#include <vector>

namespace timingwheel::test {

/// Keeps all events. Threads may deliver them in another order than the one in which they happened;
/// `events()` has that one, shard by shard.
class Recorder final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        std::lock_guard const lock{mutex_};
        events_.push_back(event);
    }
    std::vector<TimerEvent> events() const {
        std::lock_guard const lock{mutex_};
        std::vector<TimerEvent> inOrder = events_;
        std::sort(inOrder.begin(), inOrder.end(), [](TimerEvent const& a, TimerEvent const& b) {
            return std::tie(a.shard, a.number) < std::tie(b.shard, b.number);
        });
        return inOrder;
    }
    void clear() {
        std::lock_guard const lock{mutex_};
        events_.clear();
    }

private:
    mutable std::mutex mutex_;
    std::vector<TimerEvent> events_;
};

}  // namespace timingwheel::test
