#include "contenders/TimingWheelQueue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <valgrind/callgrind.h>
#include <vector>

// How many instructions the wheel takes for an operation, which no busy machine changes: to be run
// under valgrind --tool=callgrind --collect-atstart=no. Each load writes a profile of its own,
// named "<load> <pending or slots> <operations>". instructions.py compares them with the recorded
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
    Wheel<Deadlines::exact> wheel{request};
    Counter counter{pending};
    Loads<Wheel<Deadlines::exact>, Counter> loads{wheel, script, counter};
    loads.runFill();
    loads.runCore();
}

/// What those loads consist of. In each round one entry goes into every bucket that delays of up to
/// a minute use, in random order. The bucket is not armed the first time and armed the second, and
/// it is empty when it comes out of the heap: so one load differs from another in one part.
class Parts {
public:
    explicit Parts(std::int64_t slots) : slots_{slots}, delays_{onePerBucket(slots)} {
        wheel_.schedule(0, reach());  // the levels are built outside of what is counted
        wheel_.cancel(0);
        finishRound();
    }

    void run() {
        for (Part const part : {Part::placeAndArm, Part::remove, Part::place, Part::disarm})
            countPart(part);
        countSteps();
    }

private:
    enum class Part : std::uint8_t { placeAndArm, remove, place, disarm };
    static constexpr std::size_t kRounds = 200;
    static constexpr std::size_t kSteps = 10'000;

    static std::vector<std::int64_t> onePerBucket(std::int64_t slots) {
        std::vector<std::int64_t> delays;
        for (std::int64_t width = 1; width < Script::kFarthest; width *= slots) {
            for (std::int64_t slot = 1; slot < slots; ++slot) {
                if (slot * width <= Script::kFarthest) delays.push_back(slot * width);
            }
        }
        return delays;
    }

    static Request requestOf(std::int64_t slots, std::size_t buckets) {
        Request request;
        request.wheelSize = slots;
        request.count = buckets;
        return request;
    }

    /// Where the clock stands at the beginning of a round, all levels begin a turn.
    std::int64_t reach() const {
        std::int64_t width = 1;
        while (width < Script::kFarthest) width *= slots_;
        return wheel_.now() + width;
    }

    template <class Work>
    static void collect(bool isCounted, Work&& work) {
        if (isCounted) CALLGRIND_TOGGLE_COLLECT;
        work();
        if (isCounted) CALLGRIND_TOGGLE_COLLECT;
    }

    void countPart(Part counted) {
        static constexpr char const* kNames[] = {"place-and-arm", "remove", "place", "disarm"};
        CALLGRIND_ZERO_STATS;
        for (std::size_t round = 0; round < kRounds; ++round) {
            std::shuffle(delays_.begin(), delays_.end(), random_);
            collect(counted == Part::placeAndArm, [this] { placeAll(); });
            collect(counted == Part::remove, [this] { removeAll(); });
            collect(counted == Part::place, [this] { placeAll(); });
            removeAll();
            collect(counted == Part::disarm, [this] { finishRound(); });
        }
        writeProfile(kNames[static_cast<std::size_t>(counted)], size(), kRounds * delays_.size());
    }

    /// The clock goes on tick by tick, and nothing is in the way.
    void countSteps() {
        wheel_.schedule(0, wheel_.now() + 2 * static_cast<std::int64_t>(kSteps));
        wheel_.cancel(0);
        Counter counter{size()};
        counter("step", kSteps, [this] { step(); });
    }

    TIMINGWHEEL_ALL_INLINE void placeAll() {
        std::int64_t const now = wheel_.now();
        for (std::size_t i = 0; i < delays_.size(); ++i) wheel_.schedule(i, now + delays_[i]);
    }
    TIMINGWHEEL_ALL_INLINE void removeAll() {
        for (std::size_t i = 0; i < delays_.size(); ++i) wheel_.cancel(i);
    }
    TIMINGWHEEL_ALL_INLINE void finishRound() {
        wheel_.advanceTo(reach(), [](std::size_t) {});
    }
    TIMINGWHEEL_ALL_INLINE void step() {
        for (std::size_t i = 0; i < kSteps; ++i)
            wheel_.advanceTo(wheel_.now() + 1, [](std::size_t) {});
    }

    std::size_t size() const { return static_cast<std::size_t>(slots_); }

    std::int64_t slots_;
    std::vector<std::int64_t> delays_;
    std::mt19937_64 random_{1};
    Wheel<Deadlines::exact> wheel_{requestOf(slots_, delays_.size())};
};

}  // namespace
}  // namespace timingwheel::bench

int main() {
    timingwheel::bench::count(20'000);  // a bucket is one list
    timingwheel::bench::count(50'000);  // crowded ones have lanes
    timingwheel::bench::Parts{20}.run();
    timingwheel::bench::Parts{256}.run();
    return 0;
}
