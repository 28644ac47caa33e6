#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerHook.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <valgrind/callgrind.h>
#include <vector>

// How many instructions a timer without an observer takes for an operation. Built twice, with the
// library as it is and with one that cannot be observed: the difference is what the observer costs
// who does not use it. To be run as main.cpp; each profile is named "<load> <operations>".

namespace timingwheel::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kOperations = 10'000;

class StillClock final : public Clock {
public:
    TimePoint now() const noexcept override { return now_; }
    std::unique_ptr<Waiter> makeWaiter() override { return steady().makeWaiter(); }
    void set(TimePoint time) noexcept { now_ = time; }

private:
    TimePoint now_{};
};

struct Object {
    void onDue() {}
    TimerHook<&Object::onDue> hook{*this};
};

/// A timer, with all that its loads allocate beforehand.
class Counted {
public:
    Counted() : timer_{{.clock = clock_}} {
        // Levels are built, and the push-back is allowed, outside what is counted.
        timer_.newTimeout([] {}, 10h).cancel();
        for (std::size_t i = 0; i < kOperations; ++i)
            objects_.push_back(std::make_unique<Object>());
        timer_.schedule(standing_.hook, 1h);
        standing_.hook.reschedule(1h);
        standing_.hook.cancel();
    }

    void run() {
        count("schedule-and-cancel-by-hook", kOperations, [this](std::size_t) {
            timer_.schedule(standing_.hook, 1s);
            standing_.hook.cancel();
        });
        count("schedule-and-cancel-by-handle", kOperations,
              [this](std::size_t) { timer_.newTimeout([] {}, 1s).cancel(); });
        timer_.schedule(standing_.hook, 1h);
        count("push-back", kOperations, [this](std::size_t) { standing_.hook.reschedule(1h); });
        count("reschedule-to-earlier", kOperations, [this](std::size_t i) {
            standing_.hook.reschedule(1h - std::chrono::milliseconds{i + 1});
        });
        standing_.hook.cancel();
        // All in one bucket: its wake is shared by all of them. 401 ticks need a level that
        // cascades once.
        for (auto const& object : objects_) timer_.schedule(object->hook, 401ms);
        clock_.set(Clock::TimePoint{400ms});
        count("cascade", 1, [this](std::size_t) { timer_.advanceTo(clock_.now()); });
        clock_.set(Clock::TimePoint{401ms});
        count("expire-and-run", 1, [this](std::size_t) { timer_.advanceTo(clock_.now()); });
    }

private:
    template <class Operation>
    void count(char const* load, std::size_t times, Operation&& operation) {
        CALLGRIND_ZERO_STATS;
        CALLGRIND_TOGGLE_COLLECT;
        for (std::size_t i = 0; i < times; ++i) operation(i);
        CALLGRIND_TOGGLE_COLLECT;
        std::string const name = std::string{load} + " " + std::to_string(kOperations);
        CALLGRIND_DUMP_STATS_AT(name.c_str());
    }

    StillClock clock_;
    ManualTimer timer_;
    Object standing_;
    std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace
}  // namespace timingwheel::bench

int main() {
    timingwheel::bench::Counted{}.run();
    return 0;
}
