#include "loads/WheelLoads.h"

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <seastar/core/timer-set.hh>

namespace timingwheel::bench {
namespace {

/// A timer as timer_set wants it, of milliseconds.
struct Timer {
    using duration = std::chrono::milliseconds;
    using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;

    time_point get_timeout() const noexcept { return timeout; }
    void cancel() noexcept {}

    boost::intrusive::list_member_hook<> link;
    time_point timeout;
    Payload payload{};
};

class Seastar {
public:
    explicit Seastar(Request const& request) : timers_{new Timer[request.count]} {}
    ~Seastar() { set_.clear(); }
    Seastar(Seastar const&) = delete;
    Seastar& operator=(Seastar const&) = delete;

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        timers_[i].timeout = timeOf(deadline);
        set_.insert(timers_[i]);
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        cancel(i);
        schedule(i, deadline);
    }
    void cancel(std::size_t i) { set_.remove(timers_[i]); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        auto expired = set_.expire(timeOf(now));
        while (!expired.empty()) {
            Timer& timer = expired.front();
            expired.pop_front();
            due(static_cast<std::size_t>(&timer - timers_.get()));
        }
    }
    std::int64_t next() const {
        std::int64_t const time = set_.get_next_timeout().time_since_epoch().count();
        return time == std::numeric_limits<std::int64_t>::max() ? -1 : time;
    }

private:
    static Timer::time_point timeOf(std::int64_t tick) {
        return Timer::time_point{std::chrono::milliseconds{tick}};
    }

    std::int64_t now_ = 0;
    std::unique_ptr<Timer[]> timers_;
    seastar::timer_set<Timer, &Timer::link> set_;
};

Registration const registration{
    {"seastar", "Seastar timer_set",
     "`timer-set.hh` of [Seastar](https://github.com/scylladb/seastar), without its reactor"},
    queueLoads<Seastar>()};

}  // namespace
}  // namespace timingwheel::bench
