#include "soak/Subject.h"

#include <timingwheel/TimerTrace.h>

#include <chrono>
#include <thread>
#include <utility>

namespace timingwheel::soak {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::Random;

namespace {

template <class T, std::size_t size>
T oneOf(Random& random, T const (&values)[size]) {
    return values[random.below(size)];
}

bool oneIn(Random& random, std::uint64_t chances) { return random.below(chances) == 0; }

std::thread makeThread(std::function<void()> body) { return std::thread{std::move(body)}; }

constexpr std::size_t kLimit = 500;

}  // namespace

char const* toString(Kind kind) noexcept {
    switch (kind) {
        case Kind::systemInline:
            return "SystemTimer, inline";
        case Kind::systemPool:
            return "SystemTimer, on a TaskPool";
        case Kind::systemShards:
            return "SystemTimer, many shards";
        case Kind::systemRefusing:
            return "SystemTimer, on an executor that refuses some";
        case Kind::systemManualClock:
            return "SystemTimer, ManualClock forward and back";
        case Kind::hashedWorker:
            return "HashedWheelTimer, on its worker";
        case Kind::hashedPool:
            return "HashedWheelTimer, on a pool of its own";
        case Kind::hashedRefusing:
            return "HashedWheelTimer, on an executor that refuses some";
        case Kind::loop:
            return "LoopTimer, in a loop";
        case Kind::manual:
            return "ManualTimer, one for each thread";
    }
    return "";
}

Subject::Subject(Kind kind, Random& random, Handlers handlers) : kind_{kind} {
    if (kind == Kind::systemManualClock)
        manualClock_.emplace(Clock::TimePoint{oneOf(random, {milliseconds{0}, milliseconds{-5}})});
    clock_ = manualClock_ ? &*manualClock_ : &Clock::steady();
    isLimited_ = oneIn(random, 6);
    observe(random);
    isFlat(kind) ? makeFlat(random, std::move(handlers)) : makeWheel(random, std::move(handlers));
    timer_ = owner_.get();
}

Subject::~Subject() = default;

void Subject::observe(Random& random) {
    switch (random.below(8)) {
        case 0:
        case 1:
            counting_ = std::make_unique<CountingObserver>();
            break;
        case 2:
            trace_ = std::make_unique<JsonLinesTrace>("/dev/null");
            break;
        case 3:
            trace_ = std::make_unique<ChromeTrace>("/dev/null");
            break;
        default:
            break;
    }
}

Executor Subject::executor(Random& random) {
    if (kind_ == Kind::systemRefusing || kind_ == Kind::hashedRefusing)
        return refusing_.emplace(2U, 50U);
    if (kind_ != Kind::systemPool) return {};
    bool const isSmall = oneIn(random, 3);
    return pool_.emplace(
        TaskPoolOptions{.threads = 2,
                        .queueCapacity = isSmall ? std::size_t{64} : std::size_t{8'192},
                        .whenFull = oneIn(random, 2) ? WhenFull::callerRuns : WhenFull::reject});
}

void Subject::makeWheel(Random& random, Handlers handlers) {
    TimerOptions options;
    options.tick = oneOf<Duration>(
        random, {microseconds{1}, microseconds{100}, milliseconds{1}, milliseconds{7}});
    options.wheelSize = oneOf<std::int64_t>(random, {2, 20, 20, 512});
    if (oneIn(random, 6)) options.levelSizes = {4, 20, 3};
    options.name = "soak";
    options.clock = *clock_;
    options.executor = executor(random);
    options.maxPendingTimeouts = isLimited_ ? kLimit : 0;
    options.errorHandler = std::move(handlers.onFailure);
    options.slowTaskHandler = std::move(handlers.onSlowTask);
    if (oneIn(random, 4)) options.slowTaskThreshold = microseconds{20};
    options.observer = counting_ ? counting_.get() : trace_.get();
    tick_ = options.tick.nanoseconds();
    if (kind_ == Kind::manual) {
        auto timer = std::make_unique<ManualTimer>(std::move(options));
        manual_ = timer.get();
        owner_ = std::move(timer);
    } else if (kind_ == Kind::loop) {
        auto timer = std::make_unique<LoopTimer>(std::move(options));
        loop_ = timer.get();
        owner_ = std::move(timer);
    } else {
        options.shards = kind_ == Kind::systemShards ? oneOf<std::size_t>(random, {8, 16, 64})
                                                     : oneOf<std::size_t>(random, {0, 1, 2});
        if (oneIn(random, 4)) options.threadFactory = makeThread;
        if (!manualClock_ && oneIn(random, 8)) options.spin = microseconds{50};
        auto timer = std::make_unique<SystemTimer>(std::move(options));
        system_ = timer.get();
        owner_ = std::move(timer);
    }
    wheel_ = static_cast<WheelTimer*>(owner_.get());
}

void Subject::makeFlat(Random& random, Handlers handlers) {
    HashedWheelTimerOptions options;
    options.tick = oneOf<Duration>(random, {milliseconds{1}, milliseconds{1}, milliseconds{10}});
    options.ticksPerWheel = oneOf<std::int64_t>(random, {1, 4, 512});
    options.name = "soak";
    options.executor = executor(random);
    if (kind_ == Kind::hashedPool)
        options.taskPool = TaskPoolOptions{.threads = 2, .queueCapacity = 1'024};
    options.immediateIfDue = oneIn(random, 3);
    options.maxPendingTimeouts = isLimited_ ? kLimit : 0;
    options.leakDetection = false;
    options.errorHandler = std::move(handlers.onFailure);
    options.slowTaskHandler = std::move(handlers.onSlowTask);
    if (oneIn(random, 4)) options.slowTaskThreshold = microseconds{20};
    options.observer = counting_ ? counting_.get() : trace_.get();
    if (oneIn(random, 4)) options.threadFactory = makeThread;
    tick_ = options.tick.nanoseconds();
    auto timer = std::make_unique<HashedWheelTimer>(std::move(options));
    hashed_ = timer.get();
    owner_ = std::move(timer);
}

}  // namespace timingwheel::soak
