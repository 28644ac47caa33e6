#include "apps/demo/HeapWithMutex.h"

#include <timingwheel/SystemTimer.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace demo {

namespace {

using std::chrono::nanoseconds;
using TimePoint = timingwheel::Clock::TimePoint;

/// A first attempt at a timer. Each timeout knows its place, so that it can be cancelled.
class HeapWithMutex {
    struct Timeout {
        TimePoint due;
        std::function<void()> task;
        std::size_t at = 0;
    };

public:
    using Handle = std::unique_ptr<Timeout>;

    Handle schedule(TimePoint due) {
        auto timeout = std::make_unique<Timeout>(Timeout{due, [] {}});
        std::lock_guard const lock{mutex_};
        heap_.push_back(timeout.get());
        settle(heap_.size() - 1);
        return timeout;
    }
    void cancel(Handle& timeout) {
        std::lock_guard const lock{mutex_};
        std::size_t const at = timeout->at;
        heap_[at] = heap_.back();
        heap_.pop_back();
        if (at < heap_.size()) settle(at);
    }
    void pushBack(Handle& timeout, TimePoint due) {
        std::lock_guard const lock{mutex_};
        timeout->due = due;
        settle(timeout->at);
    }

private:
    /// Moves what is at `at` up or down to where it belongs.
    void settle(std::size_t at) {
        Timeout* const moved = heap_[at];
        for (; at > 0 && moved->due < heap_[(at - 1) / 2]->due; at = (at - 1) / 2)
            put(at, heap_[(at - 1) / 2]);
        for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
            if (child + 1 < heap_.size() && heap_[child + 1]->due < heap_[child]->due) ++child;
            if (moved->due <= heap_[child]->due) break;
            put(at, heap_[child]);
            at = child;
        }
        put(at, moved);
    }
    void put(std::size_t at, Timeout* timeout) {
        heap_[at] = timeout;
        timeout->at = at;
    }

    std::mutex mutex_;
    std::vector<Timeout*> heap_;
};

struct Wheel {
    using Handle = timingwheel::Timeout;

    Handle schedule(TimePoint due) {
        return timer.newTimeout([] {}, due);
    }
    void cancel(Handle& timeout) { timeout.cancel(); }
    void pushBack(Handle& timeout, TimePoint due) { timer.reschedule(timeout, due); }

    timingwheel::SystemTimer timer;
};

/// As in the load, most timeouts are cancelled soon after they were scheduled, and connections are
/// pushed back in turn. The median of many short measurements, whatever else the machine does.
template <class Way>
nanoseconds measure(timingwheel::TimerStatistics const& load, unsigned threads,
                    nanoseconds length) {
    constexpr auto kIdle = std::chrono::milliseconds{500};  // longer than it takes
    struct Caller {
        std::vector<typename Way::Handle> requests{64};
        std::vector<typename Way::Handle> connections;
        std::vector<nanoseconds> measured;
    };
    Way way;
    std::vector<Caller> callers(threads);  // as long as the heap, which knows their timeouts
    auto const work = [&](unsigned number) {
        auto& [requests, connections, measured] = callers[number];
        auto const& clock = timingwheel::Clock::steady();
        std::mt19937_64 random{number};
        TimePoint now = clock.now();
        for (std::uint64_t i = 0; i <= load.pending / threads; ++i)
            connections.push_back(way.schedule(now + kIdle));
        for (auto& request : requests) request = way.schedule(now + 2 * kIdle);
        std::size_t next = 0;
        now = clock.now();
        TimePoint const end = now + length;
        do {
            int calls = 0;
            for (auto& request : requests) {
                if (random() % (load.rescheduled + load.scheduled) < load.rescheduled) {
                    way.pushBack(connections[next++ % connections.size()], now + kIdle);
                    ++calls;
                } else {
                    way.cancel(request);
                    request = way.schedule(now + (kIdle / 2) * (1 << random() % 3));
                    calls += 2;
                }
            }
            TimePoint const before = std::exchange(now, clock.now());
            measured.push_back((now - before) / calls);
        } while (now < end);
    };
    {
        std::vector<std::jthread> crew;
        for (unsigned i = 0; i < threads; ++i) crew.emplace_back(work, i);
    }
    std::vector<nanoseconds> all;
    for (Caller const& of : callers) all.insert(all.end(), of.measured.begin(), of.measured.end());
    auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

}  // namespace

CallTimes measureCalls(timingwheel::TimerStatistics const& load, unsigned threads,
                       nanoseconds length) {
    return {measure<HeapWithMutex>(load, threads, length), measure<Wheel>(load, threads, length)};
}

}  // namespace demo
