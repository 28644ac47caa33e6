#include "apps/demo/Load.h"

#include "apps/demo/Watch.h"
#include "apps/terminal/Format.h"
#include "apps/terminal/Interrupt.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <time.h>
#include <utility>
#include <vector>

namespace demo {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using timingwheel::TimerStatistics;

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

/// A table that grows by a row every second; on a terminal its last row is live.
class Progress {
public:
    static constexpr std::chrono::milliseconds kEvery{100};

    Progress(Terminal& terminal, TimePoint begin)
        : terminal_{terminal}, begin_{begin}, lastTime_{begin} {
        terminal_.line(terminal_.styled(
            Terminal::Style::dim,
            "     time  pending scheduled/s pushed back/s     cancelled      runs worst late"));
    }
    void show(TimerStatistics const& now, bool isLast) {
        TimePoint const time = timingwheel::Clock::steady().now();
        double const seconds = std::max(toSeconds(time - lastTime_), 1e-3);
        auto const perSecond = [seconds](std::uint64_t before, std::uint64_t after) {
            return grouped(
                static_cast<std::uint64_t>(static_cast<double>(after - before) / seconds));
        };
        std::string const row = text(
            "%7.1f s%9s%12s%14s%14s%10s%11s", toSeconds(time - begin_),
            grouped(now.pending).c_str(), perSecond(last_.scheduled, now.scheduled).c_str(),
            perSecond(last_.rescheduled, now.rescheduled).c_str(), grouped(now.cancelled).c_str(),
            grouped(now.runs).c_str(), readable(now.maxLateness).c_str());
        if (seconds >= 1 || isLast) {
            terminal_.line(row);
            lastTime_ = time;
            last_ = now;
        } else if (terminal_.canRedraw()) {
            terminal_.live(row);
        }
    }

private:
    Terminal& terminal_;
    TimePoint begin_;
    TimePoint lastTime_;
    TimerStatistics last_;  // at the last row that stays
};

}  // namespace

Load::Load(Options const& options)
    : options_{options}, occupancy_{options.tick}, timer_{timerOptions()} {
    for (unsigned i = 0; i < options_.threads; ++i)
        producers_.emplace_back(server_, options_.scale / options_.threads, i);
}

timingwheel::TimerOptions Load::timerOptions() {
    timingwheel::TimerOptions options;
    options.tick = options_.tick;
    options.wheelSize = options_.wheelSize;
    options.name = "load";
    if (options_.watch) options.observer = &occupancy_;
    // A thread of our own, so that it can report how much CPU it used.
    options.threadFactory = [this](std::function<void()> body) {
        return std::thread{[this, body = std::move(body)] {
            body();
            driverCpu_.store(cpuOfThisThread());
        }};
    };
    return options;
}

void Load::schedulePeriodicJobs() {
    std::mt19937_64 random{1};
    long const jobs = std::max(1L, std::lround(240 * options_.scale));
    for (long i = 0; i < jobs; ++i) {
        // A period must be at least a tick.
        nanoseconds const period =
            std::max<nanoseconds>(options_.tick, std::chrono::milliseconds{20 + random() % 480});
        TimePoint const first = timingwheel::Clock::steady().now() + period;
        timer_.scheduleAtFixedRate(PeriodicJob{&server_, first, period}, period, period);
        ledger_.accepted(Kind::periodic);
    }
}

LoadResult Load::run(Terminal& terminal) {
    LoadResult result;
    nanoseconds const cpuBefore = cpuOfThisProcess();
    TimePoint const begin = timingwheel::Clock::steady().now();
    schedulePeriodicJobs();
    carry(terminal, begin);
    result.elapsed = timingwheel::Clock::steady().now() - begin;
    TimerStatistics const atTheEnd = timer_.statistics();
    stop();
    result.processCpu = cpuOfThisProcess() - cpuBefore;
    result.driverCpu = driverCpu_;
    result.statistics = timer_.statistics();
    if (!isInterrupted())
        result.calls = measureCalls(atTheEnd, options_.threads,
                                    std::min<nanoseconds>(options_.duration / 10, 250ms));
    return result;
}

void Load::carry(Terminal& terminal, TimePoint begin) {
    auto const show = [&](auto view) {
        TimePoint const end = begin + options_.duration;
        {
            Crew const crew{producers_};
            for (TimePoint next = begin + view.kEvery; next < end && !isInterrupted();
                 next += view.kEvery) {
                std::this_thread::sleep_until(next);
                view.show(timer_.statistics(), false);
            }
            if (!isInterrupted()) std::this_thread::sleep_until(end);
        }
        view.show(timer_.statistics(), true);
    };
    if (options_.watch)
        show(Watch{options_, occupancy_, terminal, begin});
    else
        show(Progress{terminal, begin});
}

/// What is still pending is returned by stop(), task and all; hooks are counted.
void Load::stop() {
    timingwheel::StoppedTimeouts const stopped = timer_.stop();
    ledger_.returned(Kind::heartbeat, stopped.hooks());
    for (timingwheel::StoppedTimeout const& timeout : stopped) {
        if (timeout.target<RequestTimeout>() != nullptr) ledger_.returned(Kind::request);
        if (timeout.target<DelayedOrder>() != nullptr) ledger_.returned(Kind::order);
        if (timeout.target<PeriodicJob>() != nullptr) ledger_.returned(Kind::periodic);
    }
}

}  // namespace demo
