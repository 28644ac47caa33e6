#pragma once

#include "Choices.h"
#include "Memory.h"
#include "VectorClock.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore.h>
#include <string>
#include <unordered_map>
#include <vector>

namespace timingwheel::test::simulation {

/// Runs one thread at a time, and decides at each visible step which. The threads are real ones
/// that hand each other a baton; locks, waits and time are simulated.
///
/// Every function but run() is called by the thread that has the baton.
class Scheduler {
public:
    static constexpr std::int64_t kForever = INT64_MAX;
    struct Thread;

    explicit Scheduler(Choices& choices) noexcept;
    Scheduler(Scheduler const&) = delete;
    Scheduler& operator=(Scheduler const&) = delete;
    ~Scheduler();

    /// Runs `body` as the first thread, and all that it starts, to the end; then calls `atEnd`, and
    /// ends the process.
    [[noreturn]] void run(std::function<void()> body, std::function<void()> atEnd);
    /// Is told what time it becomes when all threads wait for that.
    void onIdle(std::function<void(std::int64_t now)> listener) { idle_ = std::move(listener); }

    Actor self() noexcept;

    /// Anybody may go on from here.
    void step();
    /// The same, but the caller does not, if another can.
    void yield();
    std::int64_t now() noexcept;

    void lock(void const* mutex);
    bool tryLock(void const* mutex);
    void unlock(void const* mutex);
    /// False if it was the time that ended the wait.
    bool wait(void const* condition, void const* mutex, std::int64_t until);
    void notify(void const* condition, bool all);
    void sleepUntil(std::int64_t time);
    /// Waits for wake(where), unless what is there is not `expected` any more, and then returns
    /// false.
    bool waitWhile(std::uint32_t const* where, std::uint32_t expected);
    int wake(void const* where, int most);

    /// `isMade` is called before anybody else goes on.
    ThreadId start(
        std::function<void()> body, std::function<void()> const& isMade = [] {});
    void join(ThreadId thread);

private:
    enum class Waits { forNothing, forMutex, forCondition, forWord, forTime, forThread };

    bool canGoOn(Thread const& thread) const noexcept;
    bool canBeTimed(Thread const& thread) const noexcept;
    bool isFree(void const* mutex) const noexcept;
    void release(Thread& self, void const* mutex) noexcept;
    void wakeSpuriously();
    void handOver(bool yields);
    void goOn(Thread& next);
    std::string whoWaits();
    void runThread(Thread& thread, std::function<void()> const& body);

    struct Mutex {
        Thread* owner = nullptr;
        VectorClock released;
    };

    Choices& choices_;
    std::int64_t now_ = 1'000'000'000'000;
    std::function<void(std::int64_t)> idle_;
    std::function<void()> atEnd_;
    std::vector<std::unique_ptr<Thread>> threads_;
    std::unordered_map<void const*, Mutex> mutexes_;
};

}  // namespace timingwheel::test::simulation
