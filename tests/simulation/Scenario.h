#pragma once

#include "Books.h"
#include "Dice.h"
#include "Simulation.h"
#include "Surroundings.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Executor.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test::simulation {

/// What a scenario is made of; the seed says.
struct Shape {
    explicit Shape(std::uint64_t seed);
    std::vector<std::int64_t> levelSizes() const;

    std::uint64_t seed;
    bool isFlat;
    std::chrono::nanoseconds tick;
    std::int64_t slots;  ///< of the finest level
    std::size_t shards;
    std::size_t most;  ///< maxPendingTimeouts
    bool isObserved;
    bool isImmediate;  ///< immediateIfDue
    std::size_t callers;
    std::size_t operations;  ///< of each caller
    enum class End {
        stop,
        stopEarly,     ///< while others call the timer
        stopByCaller,  ///< one of them does
        drain,
        destroy,
        destroyFromATask,
        letGo,  ///< each caller lets go of it at some moment, and the last one destroys it
    } end;

    // Its surroundings.
    enum class Time { steady, counted, stepping, manual } time;
    bool hasExecutor;
    StrangeExecutor::Habits executor;
    FactoryFault factory;
    bool isScarce;  ///< memory, for the timer

    /// True if nobody sets the clock.
    bool isSteady() const { return time == Time::steady || time == Time::counted; }
    /// True if the executor runs each claim when it can.
    bool isPunctual() const;
    bool mayReject() const;

private:
    void drawExecutor(Dice& dice);
    void drawSurroundings(Dice& dice);
};

/// A timer, threads that use it in every way, and the books of what came of it.
class Scenario {
public:
    explicit Scenario(std::uint64_t seed);
    ~Scenario();
    void run();

private:
    struct Task;
    struct Whole;
    class Session;
    class Counter;
    /// Who has one may use the timer; the last one to let go of it destroys all of it.
    using Lease = std::shared_ptr<Whole>;
    struct Known {
        std::size_t id;
        Timeout timeout;
    };

    Lease makeTimer();
    void fail(TaskFailure const& failure);
    void call(Dice& dice, Lease lease, bool stops);
    void operate(Dice& dice, bool isInTask);
    void operateWithoutTimer(Dice& dice, std::unique_ptr<Session>& session);
    void letTimePass(Dice& dice);
    bool schedule(Dice& dice, Duration wait, bool mayRepeat, bool isScarce);
    void cancel(Dice& dice, bool isInTask);
    void reschedule(Dice& dice);
    void ask(Dice& dice, bool hasTimer);
    void operateHook(Dice& dice, std::unique_ptr<Session>& session);
    void moveHook(Dice& dice, Session& session, bool hasTimer);
    void runTask(std::size_t id, Timeout const& self);
    void end(Lease lease);
    void stop();
    void destroyFromATask(Whole& whole);
    void checkBalance(Whole const& whole);
    void checkPlaces();
    void checkHandles();
    Clock::TimePoint now() const;
    Clock::TimePoint earliest() const;
    Clock::TimePoint highest() const;
    Duration delay(Dice& dice) const;
    std::chrono::nanoseconds slack() const;
    Known pick(Dice& dice, bool forGood);

    Shape const shape_;
    Books books_;
    StrangeFactory factory_;
    // Of the living timer.
    Timer* timer_ = nullptr;
    WheelTimer* wheel_ = nullptr;  // the same, if it has levels
    Clock* clock_ = nullptr;
    SteppingClock* stepping_ = nullptr;  // the same, if it is one
    Counter* observer_ = nullptr;

    std::mutex mutex_;  // protects what follows
    std::vector<Known> known_;
    std::size_t hooksScheduled_ = 0;
    std::size_t hooksCancelled_ = 0;
    std::size_t hooksReturned_ = 0;
    std::size_t hooksMaybeMoved_ = 0;  // of these: looked pending before
    std::size_t hookBalance_ = 0;      // scheduled or moved, and neither run nor cancelled
    std::size_t hooksRejected_ = 0;
    std::size_t refused_ = 0;     // at the limit
    std::size_t toldThrows_ = 0;  // of the executor
    std::size_t thrown_ = 0;      // by it
};

}  // namespace timingwheel::test::simulation
