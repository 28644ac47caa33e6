#include "apps/demo/Load.h"

#include "apps/demo/Format.h"
#include "apps/demo/Interrupt.h"
#include "apps/demo/Progress.h"
#include "apps/demo/Watch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <sys/resource.h>
#include <thread>
#include <time.h>
#include <utility>
#include <vector>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

nanoseconds cpuOfThisThread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

nanoseconds cpuOfThisProcess() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const toNanoseconds = [](timeval time) {
        return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
    };
    return toNanoseconds(usage.ru_utime) + toNanoseconds(usage.ru_stime);
}

/// Stops the producers and waits for them, even if something throws.
class Crew {
public:
    explicit Crew(std::deque<Producer>& producers) {
        for (Producer& producer : producers)
            threads_.emplace_back([this, &producer] { producer.run(finish_); });
    }
    Crew(Crew const&) = delete;
    Crew& operator=(Crew const&) = delete;
    ~Crew() { finish_.store(true); }

private:
    std::atomic<bool> finish_{false};
    std::vector<std::jthread> threads_;
};

std::unique_ptr<timingwheel::TaskPool> makePool(Options const& options) {
    if (!options.usePool) return nullptr;
    return std::make_unique<timingwheel::TaskPool>(
        timingwheel::TaskPoolOptions{.threads = options.poolThreads,
                                     .queueCapacity = options.poolQueue,
                                     .whenFull = timingwheel::WhenFull::reject,
                                     .name = "demo-pool"});
}

}  // namespace

Load::Load(Options const& options, TraceFile& trace)
    : options_{options},
      occupancy_{options.tick},
      pool_{makePool(options)},
      trace_{options.follow.count() == 0 ? trace.open() : nullptr},
      timer_{timerOptions()} {
    double const share = options_.scale / options_.threads;
    for (unsigned i = 0; i < options_.threads; ++i)
        producers_.emplace_back(server_, Rates{} * share, options_.seed + i);
}

timingwheel::TimerOptions Load::timerOptions() {
    timingwheel::TimerOptions options;
    options.tick = options_.tick;
    options.wheelSize = options_.wheelSize;
    options.name = "load";
    options.observer = trace_.get();
    if (pool_ != nullptr) options.executor = *pool_;
    if (options_.watch) options.observer = &occupancy_;
    // A thread of our own, so that it can tell how much CPU it used.
    options.threadFactory = [this](std::function<void()> body) {
        return std::thread{[this, body = std::move(body)] {
            body();
            driverCpu_.store(cpuOfThisThread());
        }};
    };
    options.errorHandler = [this](timingwheel::TaskFailure const& failure) {
        if (failure.kind == timingwheel::TaskFailure::Kind::rejected) ledger_.rejected();
    };
    return options;
}

void Load::schedulePeriodicJobs() {
    constexpr double kJobs = 240;
    constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();
    std::mt19937_64 random{options_.seed};
    auto const jobs = std::max(1L, std::lround(kJobs * options_.scale));
    for (long i = 0; i < jobs; ++i) {
        bool const fixedDelay = i % 6 == 0;
        std::uint32_t const runs = i % 10 == 5 ? 20 : kForever;
        // A period must be at least a tick.
        nanoseconds const period =
            std::max<nanoseconds>(options_.tick, std::chrono::milliseconds{20 + random() % 480});
        TimePoint const first = timingwheel::Clock::steady().now() + period;
        PeriodicJob const job{&server_, first, period, runs, fixedDelay};
        if (fixedDelay)
            timer_.scheduleWithFixedDelay(job, period, period);
        else
            timer_.scheduleAtFixedRate(job, period, period);
        ledger_.accepted(Kind::periodic);
    }
}

LoadResult Load::run(Terminal& terminal) {
    LoadResult result;
    nanoseconds const cpuBefore = cpuOfThisProcess();
    TimePoint const begin = timingwheel::Clock::steady().now();
    schedulePeriodicJobs();
    if (options_.watch)
        carry(Watch{options_, occupancy_, terminal, begin}, begin);
    else
        carry(Progress{terminal, begin, options_.duration}, begin);
    result.elapsed = timingwheel::Clock::steady().now() - begin;
    stop();
    result.processCpu = cpuOfThisProcess() - cpuBefore;
    result.driverCpu = driverCpu_;
    result.statistics = timer_.statistics();
    return result;
}

template <class View>
void Load::carry(View view, TimePoint begin) {
    TimePoint const end = begin + options_.duration;
    {
        Crew const crew{producers_};
        for (TimePoint next = begin + View::kEvery; next < end && !isInterrupted();
             next += View::kEvery) {
            std::this_thread::sleep_until(next);
            view.show(timer_.statistics());
        }
        if (!isInterrupted()) std::this_thread::sleep_until(end);
    }
    view.finish(timer_.statistics());
}

/// What is still pending is returned by stop(), task and all; hooks are counted.
void Load::stop() {
    timingwheel::StoppedTimeouts const stopped = timer_.stop();
    ledger_.returned(Kind::heartbeat, stopped.hooks());
    for (timingwheel::StoppedTimeout const& timeout : stopped) {
        if (timeout.target<RequestTimeout>() != nullptr) ledger_.returned(Kind::request);
        if (timeout.target<Retry>() != nullptr) ledger_.returned(Kind::retry);
        if (timeout.target<DelayedOrder>() != nullptr) ledger_.returned(Kind::order);
        if (timeout.target<PeriodicJob>() != nullptr) ledger_.returned(Kind::periodic);
    }
}

}  // namespace demo
