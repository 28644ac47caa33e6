#pragma once

#include <timingwheel/ManualClock.h>
#include <timingwheel/store/DurableTimer.h>

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test {

/// What handlers were called with.
class Deliveries {
public:
    explicit Deliveries(ManualClock const& clock) : clock_{clock} {}

    store::DurableTimer::Handler handler() {
        return [this](store::DurableTimeout const& timeout) {
            std::lock_guard const lock{mutex_};
            EXPECT_LE(timeout.deadline, Clock::systemTime(clock_.now())) << "early: " << timeout.id;
            all_.push_back(timeout);
        };
    }
    std::vector<std::string> ids() const {
        std::lock_guard const lock{mutex_};
        std::vector<std::string> ids;
        for (store::DurableTimeout const& one : all_) ids.push_back(one.id);
        return ids;
    }
    std::vector<store::DurableTimeout> take() {
        std::lock_guard const lock{mutex_};
        return std::exchange(all_, {});
    }

private:
    ManualClock const& clock_;
    std::mutex mutable mutex_;
    std::vector<store::DurableTimeout> all_;
};

}  // namespace timingwheel::test
