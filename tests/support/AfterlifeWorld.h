#pragma once

#include <support/Afterlife.h>

#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace timingwheel::test::afterlife {

/// One timer with timeouts of every fate, whose surroundings die one after the other.
class World {
public:
    World(Setting setting, Fail fail) : setting_{std::move(setting)}, fail_{std::move(fail)} {}
    World(World const&) = delete;
    World& operator=(World const&) = delete;

    /// Lets everything die in the setting's order, and calls `look` after each death.
    void play(std::function<void()> const& look) {
        helper_.perform([this] {
            makeTimer();
            schedule();
        });
        if (setting_.isInsideTask)
            playInsideTask(look);
        else
            playHere(look);
    }

    void doing(std::string_view what) { doing_ = what; }
    void expect(bool holds, std::string_view who) {
        if (!holds) fail(std::string{who} + " answers otherwise than documented");
    }

    bool has(Death death) const {
        return std::find(dead_.begin(), dead_.end(), death) != dead_.end();
    }
    bool isEnded() const { return has(Death::stop) || has(Death::timer); }
    Setting const& setting() const { return setting_; }

    std::deque<Handle>& handles() { return handles_; }
    std::deque<Hook>& hooks() { return hooks_; }
    std::vector<std::unique_ptr<Owner>>& spareOwners() { return spareOwners_; }
    std::vector<Claim>& claims() { return claims_; }
    StoppedTimeouts& stopped() { return stopped_; }
    std::size_t returnedHandles() const { return returnedHandles_; }
    std::size_t returnedHooks() const { return returnedHooks_; }

    // Null when they are gone, or of another kind.
    Timer* timer() { return has(Death::timer) ? nullptr : timer_; }
    /// REQUIRES: it is there.
    Timer& stoppedTimer() { return *timer_; }
    WheelTimer* wheel() {
        if (system_ != nullptr) return system_.get();
        return loop_ != nullptr ? static_cast<WheelTimer*>(loop_.get()) : manual_.get();
    }
    SystemTimer* system() { return system_.get(); }
    LoopTimer* loop() { return loop_.get(); }
    ManualTimer* manual() { return manual_.get(); }
    HashedWheelTimer* flat() { return flat_.get(); }
    ManualClock* manualClock() { return manualClock_.get(); }
    MortalObserver& observer() { return observer_; }

    Clock& clock() {
        if (manualClock_ != nullptr) return *manualClock_;
        return mortalClock_;
    }
    /// What handles say that is left, once the timer has ended.
    nanoseconds left(Clock::TimePoint deadline) {
        if (deadline == Clock::TimePoint::max()) return nanoseconds::max();
        Clock::TimePoint const now = isEnded() ? endedAt_ : clock().now();
        return std::max(nanoseconds{0}, deadline - now);
    }

private:
    static constexpr auto kFar = hours{1};

    void fail(std::string const& what) {
        std::string text = setting_.described() + ": after";
        for (Death const death : dead_) text += std::string{" "} + toString(death) + ",";
        fail_(text + " " + doing_ + ": " + what);
    }

    // ---- how it lives -------------------------------------------------------------------------

    /// Time passes, and what is known by now is written down.
    void settleIn() {
        doing("living");
        if (setting_.hasExecutor) helper_.perform([this] { queueSome(); });
        bool const mayMove = !setting_.hasExecutor && !setting_.isInsideTask;
        if (manualClock_ == nullptr)
            mortalClock_.add(minutes{1});
        else if (mayMove)  // otherwise it would wait for what runs, or is held
            manualClock_->jump(minutes{1});
        for (Handle& handle : handles_) handle.deadline = handle.timeout.deadline();
        for (Hook& hook : hooks_) hook.deadline = hook.owner->hook.deadline();
    }

    void makeTimer() {
        doing("making");
        if (setting_.hasManualClock) manualClock_ = std::make_unique<ManualClock>();
        if (setting_.hasExecutor) executor_ = std::make_unique<HoldingExecutor>();
        Executor const executor = executor_ ? Executor{*executor_} : Executor{};
        auto const quiet = [](TaskFailure const&) {};
        TimerOptions const options{.tick = std::chrono::seconds{1},
                                   .wheelSize = 8,
                                   .clock = clock(),
                                   .executor = executor,
                                   .shards = setting_.kind == Kind::system ? 2U : 1U,
                                   .errorHandler = quiet,
                                   .observer = &observer_};
        if (setting_.kind == Kind::system) {
            system_ = std::make_unique<SystemTimer>(options);
            timer_ = system_.get();
        } else if (setting_.kind == Kind::loop) {
            loop_ = std::make_unique<LoopTimer>(options);
            timer_ = loop_.get();
        } else if (setting_.kind == Kind::manual) {
            manual_ = std::make_unique<ManualTimer>(options);
            timer_ = manual_.get();
        } else {
            flat_ =
                std::make_unique<HashedWheelTimer>(HashedWheelTimerOptions{.tick = options.tick,
                                                                           .ticksPerWheel = 8,
                                                                           .clock = clock(),
                                                                           .executor = executor,
                                                                           .immediateIfDue = true,
                                                                           .leakDetection = false,
                                                                           .errorHandler = quiet,
                                                                           .observer = &observer_});
            timer_ = flat_.get();
        }
    }

    /// Waits until one that is due at once is over, whoever runs it.
    template <class IsOver>
    void settle(IsOver&& isOver) {
        if (executor_ != nullptr) {
            executor_->waitFor(1);
            executor_->take()();
        }
        if (loop_ != nullptr) loop_->runDue();
        if (manual_ != nullptr) manual_->advanceTo(clock().now());
        while (!isOver()) std::this_thread::yield();
    }
    void reject() {
        executor_->waitFor(1);
        static_cast<void>(executor_->take());
    }

    Timeout& keep(char const* name, Timeout timeout, Fate fate) {
        handles_.push_back({name, std::move(timeout), fate});
        if (fate == Fate::returned) ++returnedHandles_;
        return handles_.back().timeout;
    }
    Owner& keepHook(char const* name, bool isReturned) {
        hooks_.push_back({name, std::make_unique<Owner>()});
        if (isReturned) ++returnedHooks_;
        return *hooks_.back().owner;
    }

    void schedule() {
        doing("scheduling");
        keep("an empty handle", {}, Fate::none);
        Timeout& expired =
            keep("one that has run", timer_->newTimeout([] {}, nanoseconds{-1}), Fate::expired);
        settle([&] { return expired.isDone(); });
        keep("a cancelled one", timer_->newTimeout([] {}, kFar), Fate::cancelled).cancel();
        if (executor_ != nullptr) {
            keep("a rejected one", timer_->newTimeout([] {}, nanoseconds{-1}), Fate::rejected);
            reject();
        }
        keep("a pending one", timer_->newTimeout(ACallable{number_}, kFar), Fate::returned);
        keep("an object", timer_->newTimeout(std::make_shared<AnObject>(), kFar), Fate::returned);
        keep("one that is never due", timer_->newTimeout([] {}, Duration::max()), Fate::returned);
        if (wheel() != nullptr) scheduleOnWheel(*wheel());
    }

    void queueSome() {
        keep("a queued one", timer_->newTimeout([] {}, nanoseconds{-1}), Fate::returned);
        keep("a queued object", timer_->newTimeout(std::make_shared<AnObject>(), nanoseconds{-1}),
             Fate::returned);
        std::size_t queued = 2;
        if (wheel() != nullptr) {
            wheel()->schedule(keepHook("a queued hook", true).hook, nanoseconds{-1});
            ++queued;
        }
        executor_->waitFor(queued);
        claims_.push_back(executor_->take());  // the others die with the executor
    }

    void scheduleOnWheel(WheelTimer& wheel) {
        auto const runs = std::make_shared<std::atomic<int>>(0);
        auto const count = [runs] { ++*runs; };
        keep("a periodic one", wheel.scheduleAtFixedRate([] {}, kFar, kFar), Fate::returned);
        Timeout const& repeated =
            keep("a periodic one that has run",
                 wheel.scheduleWithFixedDelay(count, Duration{}, kFar), Fate::returned);
        settle([&] { return *runs == 1 && repeated.isPending(); });
        keep("a cancelled periodic one", wheel.scheduleAtFixedRate([] {}, kFar, kFar),
             Fate::cancelled)
            .cancel();
        wheel.reschedule(keep("a moved one", wheel.newTimeout([] {}, kFar), Fate::returned),
                         2 * kFar);

        keepHook("a hook that was never scheduled", false);
        Owner& ran = keepHook("a hook that has run", false);
        wheel.schedule(ran.hook, nanoseconds{-1});
        settle([&] { return ran.runs() == 1; });
        Owner& cancelled = keepHook("a cancelled hook", false);
        wheel.schedule(cancelled.hook, kFar);
        cancelled.hook.cancel();
        wheel.schedule(keepHook("a pending hook", true).hook, kFar);
        if (executor_ != nullptr) {
            wheel.schedule(keepHook("a rejected hook", false).hook, nanoseconds{-1});
            reject();
        }
        for (std::size_t i = 0; i <= setting_.order.size(); ++i) {
            spareOwners_.push_back(std::make_unique<Owner>());
            wheel.schedule(spareOwners_.back()->hook, kFar);
            ++returnedHooks_;
        }
    }

    // ---- how it ends --------------------------------------------------------------------------

    void playHere(std::function<void()> const& look) {
        settleIn();
        look();
        for (Death const death : setting_.order) {
            die(death);
            look();
        }
    }

    void playInsideTask(std::function<void()> const& look) {
        Latch scheduled;
        Latch played;
        // The task may destroy them on another thread.
        LoopTimer* const loop = loop_.get();
        ManualTimer* const manual = manual_.get();
        auto const task = [&](Timeout const& self) {
            if (system_ != nullptr && !setting_.hasExecutor) scheduled.wait();
            keep("the running one", self, Fate::running);
            playHere(look);
            played.open();
        };
        Timeout const running = timer_->newTimeout(task, nanoseconds{-1});
        scheduled.open();
        if (setting_.hasExecutor) {
            executor_->waitFor(1);
            executor_->take()();
        } else if (loop != nullptr) {
            loop->runDue();
        } else if (manual != nullptr) {
            manual->advanceTo(clock().now());
        }
        played.wait();
        while (!running.isDone()) std::this_thread::yield();
        for (Handle& handle : handles_)
            if (handle.fate == Fate::running) handle.fate = Fate::expired;
        look();
    }

    void die(Death death) {
        doing(toString(death));
        if (!isEnded() && (death == Death::stop || death == Death::timer)) endedAt_ = clock().now();
        switch (death) {
            case Death::stop:
                stopped_ = timer_->stop();
                break;
            case Death::timer:
                system_.reset();
                loop_.reset();
                manual_.reset();
                flat_.reset();
                break;
            case Death::clock:
                manualClock_.reset();
                mortalClock_.die();
                break;
            case Death::executor:
                executor_.reset();
                break;
            case Death::observer:
                observer_.die();
                break;
            case Death::thread:
                helper_.end();
                break;
        }
        dead_.push_back(death);
        if (!has(Death::clock) && manualClock_ == nullptr) mortalClock_.add(minutes{1});
    }

    Setting const setting_;
    Fail const fail_;
    std::string doing_;
    std::vector<Death> dead_;
    Clock::TimePoint endedAt_{};

    MortalClock mortalClock_{[this](std::string const& what) { fail(what); }};
    MortalObserver observer_{[this](std::string const& what) { fail(what); }};
    std::unique_ptr<ManualClock> manualClock_;
    std::unique_ptr<HoldingExecutor> executor_;
    std::unique_ptr<SystemTimer> system_;
    std::unique_ptr<LoopTimer> loop_;
    std::unique_ptr<ManualTimer> manual_;
    std::unique_ptr<HashedWheelTimer> flat_;
    Timer* timer_ = nullptr;
    Helper helper_;

    std::shared_ptr<int> number_ = std::make_shared<int>(7);
    std::deque<Handle> handles_;
    std::deque<Hook> hooks_;
    std::vector<std::unique_ptr<Owner>> spareOwners_;
    std::vector<Claim> claims_;
    StoppedTimeouts stopped_;
    std::size_t returnedHandles_ = 0;
    std::size_t returnedHooks_ = 0;
};

}  // namespace timingwheel::test::afterlife
