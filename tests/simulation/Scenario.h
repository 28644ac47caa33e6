#pragma once

#include "Books.h"
#include "Simulation.h"

#include <support/Executors.h>
#include <timingwheel/Executor.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test::simulation {

/// Decides what a thread of a scenario does: not what may happen then, which Choices do.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_{seed * 0xD1342543DE82EF95U + 7} {}
    std::size_t below(std::size_t bound) { return random_() % bound; }
    bool oneIn(std::size_t count) { return below(count) == 0; }
    std::uint64_t seed() { return random_(); }
    template <class T>
    T oneOf(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }

private:
    std::mt19937_64 random_;
};

/// An executor with threads of its own, which loses or refuses one claim in so many; 0: none.
class FaultyExecutor {
public:
    FaultyExecutor(std::size_t threads, std::size_t dropsOneIn, Dice dice);
    void execute(Claim claim);

private:
    std::size_t const dropsOneIn_;
    std::mutex mutex_;  // protects the dice
    Dice dice_;
    ThreadExecutor threads_;
};

/// What a scenario is made of; the seed says.
struct Shape {
    explicit Shape(std::uint64_t seed);

    std::uint64_t seed;
    bool isFlat;
    std::chrono::nanoseconds tick;
    std::int64_t slots;
    std::size_t shards;
    std::size_t executorThreads;  ///< 0: inline
    std::size_t dropsOneIn;       ///< the executor, of claims; 0: none
    std::size_t most;             ///< maxPendingTimeouts
    bool isObserved;
    std::size_t callers;
    std::size_t operations;  ///< of each caller
    enum class End { stop, stopEarly, drain, destroy, destroyFromATask } end;
};

/// A timer, threads that use it in every way, and the books of what came of it.
class Scenario {
public:
    explicit Scenario(std::uint64_t seed);
    ~Scenario();
    void run();

private:
    struct Task;
    class Session;
    class Counter;
    struct Known {
        std::size_t id;
        Timeout timeout;
    };

    void makeTimer();
    void call(std::uint64_t seed);
    void operate(Dice& dice, bool isInTask);
    void schedule(Dice& dice);
    void cancel(Dice& dice, bool isInTask);
    void reschedule(Dice& dice);
    void ask(Dice& dice);
    void operateHook(Dice& dice, Session& session);
    void runTask(std::size_t id);
    void end();
    void stop();
    void destroy();
    void destroyFromATask();
    void checkBalance();
    Duration delay(Dice& dice) const;
    Known pick(Dice& dice, bool forGood);

    Shape const shape_;
    Books books_;
    std::optional<FaultyExecutor> executor_;
    std::unique_ptr<Counter> observer_;
    std::optional<SystemTimer> system_;
    std::optional<HashedWheelTimer> flat_;
    Timer* timer_ = nullptr;       // one of them, until it is gone
    WheelTimer* wheel_ = nullptr;  // the first one

    std::mutex mutex_;  // protects what follows
    std::vector<Known> known_;
    std::size_t hooksReturned_ = 0;
    std::size_t hookBalance_ = 0;  // scheduled, and neither run nor cancelled
    std::size_t hooksRejected_ = 0;
};

}  // namespace timingwheel::test::simulation
