#pragma once

#include <support/ThreadStatus.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace timingwheel::test {

/// Another thread, which takes a lock once and gives it back.
class Contender {
public:
    /// `take` takes the lock and gives it back.
    explicit Contender(std::function<void()> take) : take_{std::move(take)} {}
    Contender(Contender const&) = delete;
    Contender& operator=(Contender const&) = delete;
    ~Contender() {
        if (thread_.joinable()) thread_.join();
    }

    /// Begins to take it. True if that has to wait. Then it goes on to wait.
    bool hasToWait() {
        thread_ = std::thread{[this] {
            nameThisThread("contender");
            take_();
            hasTaken_ = true;
        }};
        waitUntilAsleep("contender", [this] { return hasTaken_.load(); });
        return !hasTaken_;
    }
    /// Waits until it has given the lock back.
    void end() { thread_.join(); }

private:
    std::function<void()> const take_;
    std::atomic<bool> hasTaken_{false};
    std::thread thread_;
};

}  // namespace timingwheel::test
