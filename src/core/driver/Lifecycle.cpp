#include "core/driver/Lifecycle.h"

#include "core/driver/makeDriverThread.h"
#include "core/driver/run/RunFrame.h"

#include <timingwheel/detail/TimerStopped.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1::detail {

/// Through this a clock that is set by hand asks the timer. Keeps the timer in memory meanwhile.
class Lifecycle::Listener final : public ClockListener {
public:
    explicit Listener(Lifecycle& life) noexcept : life_{life} { life_.context_.retain(); }
    ~Listener() override { life_.context_.release(); }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;

    std::optional<Clock::TimePoint> nextExpiration() override { return life_.nextExpiration(); }
    bool isInsideTask() const noexcept override { return RunFrame::isInside(life_.context_); }
    std::uint64_t wakeUps() const noexcept override { return life_.context_.alarm.wakeUps(); }
    void runDue() override {
        TimerContext& context = life_.context_;
        if (context.drivenBy == DrivenBy::thread) {
            life_.engine_.followClockBack();
            context.alarm.waitUntilIdle([this] { return life_.isDue(); },
                                        [&] { return context.hasClaims(); });
        } else {
            life_.engine_.runDueHere();
        }
    }

private:
    Lifecycle& life_;
};

Lifecycle::Lifecycle(TimerContext& context, Engine& engine)
    : context_{context},
      engine_{engine},
      phase_{context.drivenBy == DrivenBy::thread ? Phase::initial : Phase::started} {}

Lifecycle::~Lifecycle() = default;

void Lifecycle::listenToClock() {
    listener_ = std::make_shared<Listener>(*this);
    context_.clock.get().subscribe(listener_);
}

void Lifecycle::disown() noexcept {
    context_.owner.store(nullptr, std::memory_order_release);  // handles outlive their timer
    listener_.reset();
    {
        std::lock_guard const lock{mutex_};
        isDisowned_ = true;
        if (phase_ == Phase::stopping) return;  // that stop() makes shares yet, and does the rest
    }
    orphan();
}

void Lifecycle::orphan() noexcept {
    engine_.orphanKeepers();
    context_.release();
}

std::optional<Clock::TimePoint> Lifecycle::nextExpiration() const noexcept {
    // A schedule that met stop() may have asked for the driver after it had ended.
    if (isStopRequested()) return std::nullopt;
    Clock::TimePoint const next = context_.scale.timeOf(engine_.nextWake());
    if (next == Clock::TimePoint::max()) return std::nullopt;  // beyond what a clock can show
    return next;
}

bool Lifecycle::isDue() const noexcept {
    Tick const wake = engine_.nextWake();
    return wake != Tick::max() && wake <= context_.tickNow();
}

void Lifecycle::start() {
    std::lock_guard const lock{mutex_};
    if (phase_ == Phase::started) return;
    if (phase_ != Phase::initial) refuseStart();
    engine_.prepare();
    context_.alarm.setHasDriver(true);
    try {
        thread_ = makeThread();  // it says by itself when it no longer drives
    } catch (...) {
        context_.alarm.setHasDriver(false);
        throw;
    }
    phase_ = Phase::started;
    engine_.open();
}

void Lifecycle::refuseStart() const {
    throw TimerStopped{"timer \"" + context_.options.name + "\": cannot be started once stopped"};
}

std::thread Lifecycle::makeThread() {
    context_.retain();
    // Whatever becomes of the thread, its body gives the reference back exactly once.
    auto const release = [](Lifecycle* life) { life->context_.release(); };
    std::shared_ptr<Lifecycle> const self{this, release};
    return makeDriverThread(context_.options, [self] {
        self->engine_.drive();
        self->context_.alarm.setHasDriver(false);
    });
}

void Lifecycle::refuseInside(char const* function) const {
    if (!RunFrame::isInside(context_)) return;
    throw std::logic_error{"timer \"" + context_.options.name + "\": " + function +
                           " was called from inside one of its tasks: it would wait for itself"};
}

StoppedTimeouts Lifecycle::stop(Caller caller) {
    if (caller == Caller::user) refuseInside("stop()");
    KeptTimer const kept{context_};
    bool const inside = RunFrame::isInside(context_);
    {
        std::unique_lock lock{mutex_};
        if (phase_ == Phase::stopping || phase_ == Phase::stopped) {
            if (!inside) stopped_.wait(lock, [this] { return phase_ == Phase::stopped; });
            lock.unlock();
            // A coroutine that wakes destroys the timer: the others wake before that is gone.
            if (inside) engine_.endGivenUp();
            return {};
        }
        phase_ = Phase::stopping;
    }
    StoppedTimeouts stopped;
    stopRequested_.store(true, std::memory_order_relaxed);
    engine_.close(stopped);
    context_.alarm.wake();
    if (thread_.joinable()) {
        // The driver that destroys its own timer from a task ends when that task has returned.
        if (thread_.get_id() == std::this_thread::get_id())
            thread_.detach();
        else
            thread_.join();
    }
    engine_.collect(stopped);
    // Nothing runs any more. From here on the user may destroy the clock.
    context_.clock.freeze();
    engine_.tellStopped(stopped);
    engine_.endGivenUp();
    bool isDisowned = false;
    {
        std::lock_guard const lock{mutex_};
        phase_ = Phase::stopped;
        isDisowned = isDisowned_;
        stopped_.notify_all();
    }
    if (isDisowned) orphan();
    return stopped;
}

}  // namespace timingwheel::inline v1::detail
