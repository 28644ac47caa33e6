#include "contenders/TimingWheelQueue.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <valgrind/callgrind.h>

// How many instructions the wheel takes for an operation, which no busy machine changes: to be run
// under valgrind --tool=callgrind --collect-atstart=no. Each load writes a profile of its own,
// named "<load> <pending> <operations>". instructions.py compares them with the recorded
// ones.

namespace timingwheel::bench {

namespace {

/// What was collected since the last profile.
void writeProfile(std::string const& load, std::size_t size, std::size_t operations) {
    std::string const name = load + " " + std::to_string(size) + " " + std::to_string(operations);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
}

/// Collects while the work is done.
class Counter {
public:
    explicit Counter(std::size_t pending) : pending_{pending} {}

    template <class Work>
    void operator()(std::string const& load, std::size_t operations, Work&& work) {
        CALLGRIND_ZERO_STATS;
        CALLGRIND_TOGGLE_COLLECT;
        work();
        CALLGRIND_TOGGLE_COLLECT;
        writeProfile(load, pending_, operations);
    }

private:
    std::size_t pending_;
};

void count(std::size_t pending) {
    Request request;
    request.count = request.operations = pending;
    Script const script{request};
    Wheel wheel{request};
    Counter counter{pending};
    Loads<Wheel, Counter> loads{wheel, script, counter};
    loads.runFill();
    loads.runCore();
}

[[gnu::noinline]] std::size_t step(TimingWheel<TimerTaskEntry>& wheel, Tick now) {
    return wheel.advanceTo(now, [](TimerTaskEntry&) {});
}

// A loop tells the wheel the time, and nothing is due.
void countSteps() {
    constexpr std::int64_t kSteps = 1'000;
    TimingWheel<TimerTaskEntry> wheel{{.wheelSize = 2 * kSteps}};
    Counter{0}("step", kSteps, [&] {
        for (std::int64_t now = 1; now <= kSteps; ++now) step(wheel, Tick{now});
    });
}

}  // namespace
}  // namespace timingwheel::bench

int main() {
    timingwheel::bench::countSteps();
    timingwheel::bench::count(20'000);  // a bucket is one list
    timingwheel::bench::count(50'000);  // crowded ones have lanes
    return 0;
}
