#pragma once

#include <timingwheel/TimerObserver.h>

#include <mutex>
#include <vector>

namespace timingwheel::test {

/// Keeps all events.
class Recorder final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        std::lock_guard const lock{mutex_};
        events_.push_back(event);
    }
    std::vector<TimerEvent> events() const {
        std::lock_guard const lock{mutex_};
        return events_;
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
