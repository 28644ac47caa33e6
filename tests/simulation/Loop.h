#pragma once

#include <timingwheel/Executor.h>

#include <mutex>
#include <utility>
#include <vector>

namespace timingwheel::test::simulation {

/// A loop of one thread, to which the timer hands what is due.
class Loop {
public:
    void execute(Claim claim) {
        std::lock_guard const lock{mutex_};
        claims_.push_back(std::move(claim));
    }
    void runAll() {
        std::vector<Claim> claims;
        {
            std::lock_guard const lock{mutex_};
            claims.swap(claims_);
        }
        for (Claim& claim : claims) claim();
    }

private:
    std::mutex mutex_;
    std::vector<Claim> claims_;
};

}  // namespace timingwheel::test::simulation
