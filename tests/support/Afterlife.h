#pragma once

#include <support/Executors.h>
#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What outlives a timer, and all orders in which the rest may die. Nothing here knows a test
/// framework: the ordinary tests and the simulated ones use it.
namespace timingwheel::test::afterlife {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;

/// What ends. `thread` is the one that made the timer and scheduled everything.
enum class Death { stop, timer, clock, executor, observer, thread };

inline char const* toString(Death death) {
    static constexpr char const* kNames[]{"stop()",   "timer",    "clock",
                                          "executor", "observer", "thread"};
    return kNames[static_cast<std::size_t>(death)];
}

/// Whether the public headers allow `death` after those of `before`.
inline bool mayDie(Death death, std::vector<Death> const& before) {
    auto const has = [&](Death one) {
        return std::find(before.begin(), before.end(), one) != before.end();
    };
    switch (death) {
        case Death::stop:
            return !has(Death::timer);
        case Death::clock:     // "outlives the timers that use it"
        case Death::observer:  // "must outlive the timer"
            return has(Death::timer);
        case Death::executor:  // "outlives the timer, or the timer's stop()"
            return has(Death::stop) || has(Death::timer);
        case Death::timer:
        case Death::thread:
            return true;
    }
    return false;
}

/// Every order of these deaths that is allowed.
inline std::vector<std::vector<Death>> allOrders(std::vector<Death> deaths) {
    std::vector<std::vector<Death>> orders;
    std::sort(deaths.begin(), deaths.end());
    do {
        std::vector<Death> before;
        bool isAllowed = true;
        for (Death const death : deaths) {
            isAllowed = isAllowed && mayDie(death, before);
            before.push_back(death);
        }
        if (isAllowed) orders.push_back(deaths);
    } while (std::next_permutation(deaths.begin(), deaths.end()));
    return orders;
}

enum class Kind { system, loop, manual, flat };

/// One timer, what it is made with, and how all of it ends.
struct Setting {
    Kind kind;
    bool hasExecutor;     ///< one that holds what it is given; otherwise inline
    bool hasManualClock;  ///< otherwise a clock that tells when it is asked after its death
    bool isInsideTask;    ///< a task of the timer destroys it, and lives to see the rest
    std::vector<Death> order;

    std::string described() const {
        static constexpr char const* kKinds[]{"SystemTimer", "LoopTimer", "ManualTimer",
                                              "HashedWheelTimer"};
        std::string text = kKinds[static_cast<std::size_t>(kind)];
        text += hasExecutor ? ", on an executor" : ", inline";
        text += hasManualClock ? ", ManualClock" : ", MortalClock";
        return text + (isInsideTask ? ", inside a task" : "");
    }
};

inline std::vector<Setting> allSettings() {
    std::vector<Setting> settings;
    for (Kind const kind : {Kind::system, Kind::loop, Kind::manual, Kind::flat})
        for (bool const hasExecutor : {false, true})
            for (bool const isInside : {false, true})
                for (bool const isStopped : {false, true}) {
                    // Without a thread it has no executor; from inside a task stop() is refused.
                    bool const hasThread = kind == Kind::system || kind == Kind::flat;
                    if ((hasExecutor && !hasThread) || (isInside && isStopped)) continue;
                    std::vector<Death> deaths{Death::timer, Death::clock, Death::observer,
                                              Death::thread};
                    if (hasExecutor) deaths.push_back(Death::executor);
                    if (isStopped) deaths.push_back(Death::stop);
                    for (auto const& order : allOrders(deaths))
                        for (bool const hasManualClock : {false, true})
                            settings.push_back(
                                {kind, hasExecutor, hasManualClock, isInside, order});
                }
    return settings;
}

/// Where the world tells what is not as it should be.
using Fail = std::function<void(std::string const& what)>;

/// Stands still unless it is set, and tells when it is asked after its death. Its memory stays, so
/// that it can.
class MortalClock final : public Clock {
public:
    explicit MortalClock(Fail fail) : fail_{std::move(fail)} {}

    TimePoint now() const noexcept override {
        beAlive("now()");
        return TimePoint{nanoseconds{now_.load()}};
    }
    std::unique_ptr<Waiter> makeWaiter() override {
        beAlive("makeWaiter()");
        // Nothing here is due later: the driver is woken.
        return waiterUntilWoken([this](TimePoint) { beAlive("waitUntil()"); });
    }
    void subscribe(std::weak_ptr<ClockListener>) override { beAlive("subscribe()"); }

    void add(nanoseconds time) { now_ += time.count(); }
    void die() { isDead_ = true; }

private:
    void beAlive(char const* function) const noexcept {
        if (isDead_.load()) fail_(std::string{"the clock is asked after its death: "} + function);
    }

    Fail fail_;
    std::atomic<std::int64_t> now_{0};
    std::atomic<bool> isDead_{false};
};

/// Counts events, and tells of one that is delivered after its death.
class MortalObserver final : public TimerObserver {
public:
    explicit MortalObserver(Fail fail) : fail_{std::move(fail)} {}
    void onEvent(TimerEvent const&) noexcept override {
        if (isDead_.load()) fail_("an event is delivered after the observer's death");
        ++events_;
    }
    std::size_t events() const { return events_; }
    void die() { isDead_ = true; }

private:
    Fail fail_;
    std::atomic<std::size_t> events_{0};
    std::atomic<bool> isDead_{false};
};

/// A thread that does what it is told, until it is ended.
class Helper {
public:
    Helper() : thread_{[this] { work(); }} {}
    ~Helper() { end(); }
    Helper(Helper const&) = delete;
    Helper& operator=(Helper const&) = delete;

    /// Returns when it is done.
    void perform(std::function<void()> work) {
        std::unique_lock lock{mutex_};
        work_ = std::move(work);
        changed_.notify_all();
        changed_.wait(lock, [this] { return work_ == nullptr; });
    }
    void end() {
        if (!thread_.joinable()) return;
        {
            std::lock_guard const lock{mutex_};
            isOver_ = true;
            changed_.notify_all();
        }
        thread_.join();
    }

private:
    void work() {
        std::unique_lock lock{mutex_};
        for (;;) {
            changed_.wait(lock, [this] { return isOver_ || work_ != nullptr; });
            if (work_ == nullptr) return;
            work_();
            work_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;
    bool isOver_ = false;
    std::thread thread_;
};

/// What has a hook.
class Owner {
public:
    int runs() const noexcept { return runs_; }

private:
    void expire() { ++runs_; }
    std::atomic<int> runs_{0};

public:
    TimerHook<&Owner::expire> hook{*this};
};

/// How a timeout ended.
enum class Fate { none, expired, running, cancelled, returned, rejected };

struct Handle {
    std::string name;
    Timeout timeout;
    Fate fate;
    Clock::TimePoint deadline = Clock::TimePoint::max();
};

struct Hook {
    std::string name;
    std::unique_ptr<Owner> owner;
    Clock::TimePoint deadline = Clock::TimePoint::max();
};

struct AnObject final : TimerTask {
    void run(Timeout const&) override {}
};
struct ACallable {
    std::shared_ptr<int> number;
    void operator()() const {}
};

}  // namespace timingwheel::test::afterlife
