#include "driver/TimerLife.h"

#include "driver/DriverThread.h"
#include "driver/RunFrame.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// What a clock that is set by hand is told. Keeps the core alive while the clock asks.
class TimerLife::Listener final : public ClockListener {
public:
    explicit Listener(TimerLife& life) noexcept : life_{life} { life_.retain(); }
    ~Listener() override { life_.release(); }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;

    std::optional<Clock::TimePoint> nextExpiration() override { return life_.nextExpiration(); }
    bool isInsideTask() const noexcept override { return RunFrame::isInside(life_); }
    void runDue() override {
        if (life_.isConcurrent) {
            life_.alarm.watchUntilRest(
                [this] { return life_.isDue(); },
                [this] { return life_.claims.load(std::memory_order_acquire) != 0; });
        } else {
            life_.runDueHere();
        }
    }

private:
    TimerLife& life_;
};

TimerLife::TimerLife(TimerOptions timerOptions, bool withDriverThread)
    : TimerContext{std::move(timerOptions), withDriverThread},
      phase_{withDriverThread ? Phase::initial : Phase::started} {}

TimerLife::~TimerLife() = default;

void TimerLife::listenToClock() {
    listener_ = std::make_shared<Listener>(*this);
    clock.subscribe(listener_);
}

void TimerLife::disown() noexcept {
    owner.store(nullptr, std::memory_order_release);
    listener_.reset();
    orphanKeepers();
    release();
}

std::optional<Clock::TimePoint> TimerLife::nextExpiration() const noexcept {
    // A schedule that met stop() may have asked for the driver after that had gone.
    if (isStopRequested()) return std::nullopt;
    Clock::TimePoint const next = scale.timeOf(nextKey());
    if (next == Clock::TimePoint::max()) return std::nullopt;  // beyond what the clock can tell
    return next;
}

bool TimerLife::isDue() const noexcept {
    Tick const key = nextKey();
    return key != Tick::max() && key <= scale.nowToTick(now());
}

void TimerLife::start() {
    std::lock_guard const lock{lifeMutex_};
    if (phase_ == Phase::started) return;
    if (phase_ != Phase::initial) refuseStart();
    prepare();
    alarm.setAttended(true);
    try {
        thread_ = makeThread();
    } catch (...) {
        alarm.setAttended(false);
        throw;
    }
    phase_ = Phase::started;
    open();
}

void TimerLife::refuseStart() const {
    throw std::logic_error{"timer \"" + options.name + "\": cannot be started once stopped"};
}

std::thread TimerLife::makeThread() {
    retain();
    // Whatever becomes of the thread, its body gives the reference back exactly once.
    auto const release = [](TimerLife* life) { life->TimerContext::release(); };
    std::shared_ptr<TimerLife> const self{this, release};
    return makeDriverThread(options, [self] {
        self->drive();
        self->alarm.setAttended(false);
    });
}

void TimerLife::refuseInside(char const* function) const {
    if (!RunFrame::isInside(*this)) return;
    throw std::logic_error{"timer \"" + options.name + "\": " + function +
                           " was called from inside one of its tasks: it would wait for itself"};
}

StoppedTimeouts TimerLife::stop(Caller caller) {
    if (caller == Caller::user) refuseInside("stop()");
    bool const inside = RunFrame::isInside(*this);
    {
        std::unique_lock lock{lifeMutex_};
        if (phase_ == Phase::stopping || phase_ == Phase::stopped) {
            if (!inside) stopped_.wait(lock, [this] { return phase_ == Phase::stopped; });
            return {};
        }
        phase_ = Phase::stopping;
    }
    StoppedTimeouts stopped;
    stopRequested_.store(true, std::memory_order_seq_cst);
    close(stopped);
    alarm.wake();
    if (thread_.joinable()) {
        // The driver that destroys its own timer from a task ends when that task has returned.
        if (thread_.get_id() == std::this_thread::get_id())
            thread_.detach();
        else
            thread_.join();
    }
    collect(stopped);
    freezeTime();
    std::lock_guard const lock{lifeMutex_};
    phase_ = Phase::stopped;
    stopped_.notify_all();
    return stopped;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
