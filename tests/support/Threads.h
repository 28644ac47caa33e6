#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

/// Small things that tests with several threads share.
namespace timingwheel::test {

/// Holds threads up until so many have arrived, over and over.
class MeetingPoint {
public:
    explicit MeetingPoint(std::size_t threads) : threads_{threads} {}

    void meet() {
        std::unique_lock lock{mutex_};
        std::uint64_t const meeting = meetings_;
        if (++arrived_ == threads_) {
            arrived_ = 0;
            ++meetings_;
            allAreHere_.notify_all();
        } else {
            allAreHere_.wait(lock, [&] { return meetings_ != meeting; });
        }
    }

private:
    std::size_t const threads_;
    std::mutex mutex_;
    std::condition_variable allAreHere_;
    std::size_t arrived_ = 0;
    std::uint64_t meetings_ = 0;
};

/// Runs `body(i)` on `count` threads that begin at the same moment, and waits for them.
template <class Body>
void together(std::size_t count, Body&& body) {
    MeetingPoint start{count};
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&start, &body, i] {
            start.meet();
            body(i);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

/// For `batches` times: `prepare(batch)`, then `work(i, batch)` on `workers` threads at the same
/// moment, then, when all are done, `check(batch)`.
template <class Prepare, class Work, class Check>
void inBatches(std::uint64_t batches, std::size_t workers, Prepare&& prepare, Work&& work,
               Check&& check) {
    MeetingPoint turn{workers + 1};
    std::vector<std::thread> threads;
    threads.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) {
        threads.emplace_back([&, i] {
            for (std::uint64_t batch = 0; batch < batches; ++batch) {
                turn.meet();
                work(i, batch);
                turn.meet();
            }
        });
    }
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
        prepare(batch);
        turn.meet();
        turn.meet();
        check(batch);
    }
    for (std::thread& thread : threads) thread.join();
}

/// Waits, politely, until `condition` holds. A watchdog ends it if it never does.
template <class Condition>
void waitUntil(Condition&& condition) {
    for (int turns = 0; !condition(); ++turns) {
        if (turns < 100)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
}

/// Lets so much time pass, awake: for races that have to be hit at every point.
inline void spinFor(std::chrono::nanoseconds time) {
    auto const end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

/// xorshift: a random number generator that costs nothing beside what is measured.
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_{seed * 0x9e3779b97f4a7c15U + 1} {}

    std::uint64_t next() noexcept {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ >> 11;
    }
    /// 0 to bound - 1.
    std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
    std::chrono::nanoseconds below(std::chrono::nanoseconds bound) noexcept {
        return std::chrono::nanoseconds{
            static_cast<std::int64_t>(below(static_cast<std::uint64_t>(bound.count())))};
    }

private:
    std::uint64_t state_;
};

/// The value that a fraction of the samples do not exceed. Sorts them.
template <class T>
T quantile(std::vector<T>& samples, double fraction) {
    if (samples.empty()) return T{};
    auto const last = static_cast<double>(samples.size() - 1);
    auto const position = samples.begin() + static_cast<std::ptrdiff_t>(fraction * last);
    std::nth_element(samples.begin(), position, samples.end());
    return *position;
}

}  // namespace timingwheel::test
