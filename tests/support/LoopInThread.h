#pragma once

#include <support/Platform.h>
#include <support/Threads.h>
#include <timingwheel/LoopTimer.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

namespace timingwheel::test {

/// A LoopTimer in a loop that waits for nothing but its descriptor, on a thread of its own. In a
/// test of threads it stands where a SystemTimer stands.
class LoopInThread {
public:
    explicit LoopInThread(TimerOptions options = {}) : timer_{std::move(options)} {}
    LoopInThread(LoopInThread const&) = delete;
    LoopInThread& operator=(LoopInThread const&) = delete;
    ~LoopInThread() {
        hasToEnd_ = true;
        thread_.join();
    }

    LoopTimer& operator*() noexcept { return timer_; }
    LoopTimer* operator->() noexcept { return &timer_; }

    template <class... Arguments>
    Timeout newTimeout(Arguments&&... arguments) {
        return timer_.newTimeout(std::forward<Arguments>(arguments)...);
    }
    void schedule(TimerHookBase& hook, LoopTimer::TimePoint deadline) {
        timer_.schedule(hook, deadline);
    }
    bool reschedule(Timeout const& timeout, LoopTimer::TimePoint deadline) {
        return timer_.reschedule(timeout, deadline);
    }
    void drain() {
        waitUntil([this] { return timer_.pendingTimeouts() == 0; });
    }
    StoppedTimeouts stop() { return timer_.stop(); }
    std::size_t pendingTimeouts() const { return timer_.pendingTimeouts(); }
    TimerStatistics statistics() const { return timer_.statistics(); }
    void checkInvariants() const { timer_.checkInvariants(); }
    Clock& clock() const noexcept { return timer_.clock(); }

private:
    void loop() {
        while (!hasToEnd_)
            if (isReadableWithin(timer_.nativeHandle(), std::chrono::milliseconds{5}))
                timer_.runDue();
    }

    LoopTimer timer_;
    std::atomic<bool> hasToEnd_{false};
    std::thread thread_{[this] { loop(); }};  // the last: it uses the others
};

}  // namespace timingwheel::test
