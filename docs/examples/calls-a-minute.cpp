// When a service limits the calls in a minute: each call waits for the instant at which the quota
// allows it, and one that fails is tried again, later and later.

#include <timingwheel/SystemTimer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using TimePoint = timingwheel::Clock::TimePoint;

namespace {

constexpr std::size_t kQuota = 60;      // calls a minute
constexpr nanoseconds kMinute = 100ms;  // it passes quickly here
constexpr int kAttempts = 5;            // before an order is given up
constexpr std::size_t kOrders = 500;

// Whichever thread submits, all that is private here runs on the timer's: so there is no lock.
class RateLimit {
public:
    using Call = std::function<bool()>;  // says whether it went well

    explicit RateLimit(timingwheel::WheelTimer& timer) : timer_{timer} {}

    void submit(Call call) {
        ++open_;
        timer_.newTimeout([this, waiting = Waiting{std::move(call)}] { add(waiting); }, 0s);
    }

    // Until each call has succeeded, or was tried often enough.
    void waitForAll() const {
        while (int const open = open_) open_.wait(open);
    }

private:
    struct Waiting {
        Call call;
        int attempt = 1;
        nanoseconds backOff = 10ms;
    };

    void add(Waiting const& waiting) {
        waiting_.push_back(waiting);
        if (!isPausing_) callAll();
    }

    void callAll() {
        for (; !waiting_.empty(); waiting_.pop_front()) {
            if (last_.size() == kQuota) {
                // A minute after the call that is kQuota calls back, the next one may be made.
                TimePoint const turn = last_.front() + kMinute;
                if (timer_.clock().now() < turn) return pauseUntil(turn);
                last_.pop_front();
            }
            bool const isDone = waiting_.front().call();
            last_.push_back(timer_.clock().now());
            if (isDone || waiting_.front().attempt == kAttempts)
                end();
            else
                retry(waiting_.front());
        }
    }

    // The timer is never early: so the quota holds, however late this thread is.
    void pauseUntil(TimePoint turn) {
        isPausing_ = true;
        timer_.newTimeout([this] { isPausing_ = false, callAll(); }, turn);
    }

    void retry(Waiting const& failed) {
        Waiting const next{failed.call, failed.attempt + 1, 2 * failed.backOff};
        timer_.newTimeout([this, next] { add(next); }, failed.backOff);
    }

    void end() {
        if (--open_ == 0) open_.notify_all();
    }

    timingwheel::WheelTimer& timer_;
    std::deque<Waiting> waiting_;
    std::deque<TimePoint> last_;  // when the last calls were over: kQuota at most
    bool isPausing_ = false;
    std::atomic<int> open_ = 0;
};

// The other side: down at times, and with a clock of its own by which it counts the calls.
class Service {
public:
    bool call(std::size_t order) {
        calls_.push_back(std::chrono::steady_clock::now());
        int const attempt = ++attempts_[order];
        bool const isDown = order % 10 == 0 && attempt < 3;
        if (isDown || order == kWrong) return false;
        ++delivered;
        return true;
    }

    std::size_t calls() const { return calls_.size(); }

    std::size_t mostInAMinute() const {
        std::size_t most = 0;
        for (auto first = calls_.begin(); first != calls_.end(); ++first) {
            auto const end = std::lower_bound(first, calls_.end(), *first + kMinute);
            most = std::max(most, static_cast<std::size_t>(end - first));
        }
        return most;
    }

    std::size_t delivered = 0;

private:
    static constexpr std::size_t kWrong = 7;  // it never takes this one

    std::vector<std::chrono::steady_clock::time_point> calls_;
    std::array<int, kOrders> attempts_{};
};

}  // namespace

int main() {
    Service service;  // before the timer, whose tasks use it
    timingwheel::SystemTimer timer;
    RateLimit limit{timer};
    auto const begin = timer.clock().now();
    for (std::size_t order = 0; order < kOrders; ++order)
        limit.submit([&service, order] { return service.call(order); });
    limit.waitForAll();
    timer.stop();  // no task runs any more: what they used may be read, and may go

    std::size_t const most = service.mostInAMinute();
    std::printf("%zu of %zu orders delivered with %zu calls\n", service.delivered, kOrders,
                service.calls());
    std::printf("the quota of %zu a minute was %s\n", kQuota, most > kQuota ? "EXCEEDED" : "kept");
    std::printf("~ %zu calls at most in a minute; it took %.1f of them\n", most,
                std::chrono::duration<double>{timer.clock().now() - begin} / kMinute);
    return service.delivered == kOrders - 1 && most <= kQuota ? 0 : 1;
}
