#pragma once

#include <support/ThreadPool.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerObserver.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace timingwheel::soak {

enum class Kind : std::uint8_t {
    systemInline,
    systemPool,
    systemShards,
    systemRefusing,
    systemManualClock,
    hashedWorker,
    hashedPool,
    hashedRefusing,
    loop,
    manual,
};
inline constexpr std::size_t kKinds = 10;

char const* toString(Kind kind) noexcept;

inline bool isFlat(Kind kind) noexcept {
    return kind == Kind::hashedWorker || kind == Kind::hashedPool || kind == Kind::hashedRefusing;
}

/// Counts the events that the statistics count too.
class CountingObserver final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        counts_[static_cast<std::size_t>(event.stage)].fetch_add(1, std::memory_order_relaxed);
    }
    std::uint64_t count(TimerEvent::Stage stage) const noexcept {
        return counts_[static_cast<std::size_t>(stage)].load(std::memory_order_relaxed);
    }

private:
    std::array<std::atomic<std::uint64_t>, 16> counts_{};
};

/// What a timer tells.
struct Handlers {
    std::function<void(TaskFailure const&)> onFailure;
    std::function<void(SlowTask const&)> onSlowTask;
};

/// A timer of some kind with what it was given: options by dice, clock, pool, observer.
class Subject {
public:
    Subject(Kind kind, test::Random& random, Handlers handlers);
    ~Subject();
    Subject(Subject const&) = delete;
    Subject& operator=(Subject const&) = delete;

    Kind kind() const noexcept { return kind_; }

    /// These stay what they were while the timer is being destroyed: its tasks still use them.
    Timer& timer() const noexcept { return *timer_; }
    /// Null for the flat one.
    WheelTimer* wheel() const noexcept { return wheel_; }
    SystemTimer* system() const noexcept { return system_; }
    LoopTimer* loop() const noexcept { return loop_; }
    ManualTimer* manual() const noexcept { return manual_; }
    HashedWheelTimer* hashed() const noexcept { return hashed_; }

    TimerStatistics statistics() const {
        return wheel_ != nullptr ? wheel_->statistics() : hashed_->statistics();
    }
    Clock& clock() const noexcept { return *clock_; }
    /// Null unless the clock is set by hand.
    ManualClock* manualClock() noexcept { return manualClock_ ? &*manualClock_ : nullptr; }
    /// Null unless the events are counted.
    CountingObserver const* events() const noexcept { return counting_.get(); }
    std::chrono::nanoseconds tick() const noexcept { return tick_; }
    bool isLimited() const noexcept { return isLimited_; }

    /// Destroys the timer, and nothing else.
    void destroyTimer() noexcept { owner_.reset(); }
    bool isGone() const noexcept { return owner_ == nullptr; }

private:
    void observe(test::Random& random);
    void makeWheel(test::Random& random, Handlers handlers);
    void makeFlat(test::Random& random, Handlers handlers);
    Executor executor(test::Random& random);

    Kind const kind_;
    std::chrono::nanoseconds tick_{};
    bool isLimited_ = false;
    std::optional<ManualClock> manualClock_;
    Clock* clock_ = nullptr;
    std::optional<TaskPool> pool_;
    std::optional<test::FlakyPool> refusing_;
    std::unique_ptr<CountingObserver> counting_;
    std::unique_ptr<TimerObserver> trace_;
    Timer* timer_ = nullptr;
    WheelTimer* wheel_ = nullptr;
    SystemTimer* system_ = nullptr;
    LoopTimer* loop_ = nullptr;
    ManualTimer* manual_ = nullptr;
    HashedWheelTimer* hashed_ = nullptr;
    std::unique_ptr<Timer> owner_;  // the last: it uses the others
};

}  // namespace timingwheel::soak
