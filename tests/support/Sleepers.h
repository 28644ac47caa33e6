#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

namespace timingwheel::test {

/// Those who sleep under a clock of a test: whoever sets the clock has them look again.
///
/// Thread safety  any number of threads
class Sleepers {
public:
    /// One of them, while it lives.
    class Registration {
    public:
        Registration(Sleepers& sleepers, std::mutex& mutex, std::condition_variable& condition)
            : sleepers_{sleepers}, condition_{condition} {
            std::lock_guard const lock{sleepers_.mutex_};
            sleepers_.all_.push_back({&mutex, &condition_});
        }
        Registration(Registration const&) = delete;
        Registration& operator=(Registration const&) = delete;
        ~Registration() {
            std::lock_guard const lock{sleepers_.mutex_};
            std::erase_if(sleepers_.all_,
                          [this](Sleeper const& each) { return each.condition == &condition_; });
        }

    private:
        Sleepers& sleepers_;
        std::condition_variable& condition_;
    };

    void wake() {
        std::vector<Sleeper> all;
        {
            std::lock_guard const lock{mutex_};
            all = all_;
        }
        for (Sleeper const& sleeper : all) {
            std::lock_guard const lock{*sleeper.mutex};
            sleeper.condition->notify_all();
        }
    }

private:
    struct Sleeper {
        std::mutex* mutex;
        std::condition_variable* condition;
    };

    std::mutex mutex_;  // protects what follows
    std::vector<Sleeper> all_;
};

}  // namespace timingwheel::test
