#pragma once

#include <support/AfterlifeWorld.h>
#include <support/Receiver.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/TimedScheduler.h>

#include <array>
#include <coroutine>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

/// The table of operations: every public function, and what it answers when the timer has ended.
namespace timingwheel::test::afterlife {

/// When an operation is tried.
enum class When {
    always,     ///< also before anything has ended: it changes nothing
    ended,      ///< the timer has stopped, or is gone
    stopped,    ///< it has stopped, and is still there
    gone,       ///< it is gone
    clockLeft,  ///< it has ended, and its ManualClock is still there
};

struct Row {
    std::vector<std::string> members;  ///< of the public headers
    When when;
    std::function<void(World&)> tryIt;
    bool mayTell = false;  ///< the observer, if it is still there
};
using Rows = std::vector<Row>;

inline Clock::TimePoint const kLater{hours{3}};

/// Tries `ask` on every handle: true if that answers as it should.
template <class Ask>
std::function<void(World&)> eachHandle(Ask ask) {
    return [ask](World& world) {
        for (Handle& handle : world.handles()) world.expect(ask(world, handle), handle.name);
    };
}
template <class Ask>
std::function<void(World&)> eachHook(Ask ask) {
    return [ask](World& world) {
        for (Hook& hook : world.hooks()) world.expect(ask(world, hook), hook.name);
    };
}

template <class Exception, class Call>
bool throws(Call&& call) {
    try {
        call();
    } catch (Exception const&) {
        return true;
    }
    return false;
}

/// Whether a handle of what stop() returned, or would, is at its end.
inline bool isReturnedBy(World const& world, Handle const& handle) {
    return world.isEnded() && handle.fate == Fate::returned;
}

inline Rows questionsToHandles() {
    return {
        {{"Timeout::isPending"}, When::always, eachHandle([](World& world, Handle& handle) {
             bool const isPending = !world.isEnded() && handle.fate == Fate::returned;
             return handle.timeout.isPending() == isPending ||
                    world.setting().kind == Kind::flat;  // a queued one has expired there
         })},
        {{"Timeout::isExpired"}, When::ended, eachHandle([](World&, Handle& handle) {
             return handle.timeout.isExpired() ==
                    (handle.fate == Fate::expired || handle.fate == Fate::running);
         })},
        {{"Timeout::isDone"}, When::always, eachHandle([](World&, Handle& handle) {
             return handle.timeout.isDone() == (handle.fate == Fate::expired);
         })},
        {{"Timeout::isCancelled"}, When::always, eachHandle([](World& world, Handle& handle) {
             return handle.timeout.isCancelled() ==
                    (handle.fate == Fate::cancelled || isReturnedBy(world, handle));
         })},
        {{"Timeout::isReturned"}, When::always, eachHandle([](World& world, Handle& handle) {
             return handle.timeout.isReturned() == isReturnedBy(world, handle);
         })},
        {{"Timeout::isRejected"}, When::always, eachHandle([](World&, Handle& handle) {
             return handle.timeout.isRejected() == (handle.fate == Fate::rejected);
         })},
        {{"Timeout::deadline"}, When::always, eachHandle([](World&, Handle& handle) {
             return handle.timeout.deadline() == handle.deadline;
         })},
        {{"Timeout::remaining"}, When::always, eachHandle([](World& world, Handle& handle) {
             auto const left =
                 handle.fate == Fate::none ? nanoseconds{0} : world.left(handle.deadline);
             return handle.timeout.remaining() == left;
         })},
        {{"Timeout::timer"}, When::always, eachHandle([](World& world, Handle& handle) {
             return handle.timeout.timer() == (handle.fate == Fate::none ? nullptr : world.timer());
         })},
        {{"Timeout::task"}, When::ended, eachHandle([](World&, Handle& handle) {
             return handle.timeout.task() == nullptr;
         })},
        {{"Timeout::operator<<"}, When::always, eachHandle([](World&, Handle& handle) {
             std::ostringstream out;
             out << handle.timeout;
             return out.str().starts_with("timeout(");
         })},
        {{"Timeout::operator bool"}, When::always, eachHandle([](World&, Handle& handle) {
             return static_cast<bool>(handle.timeout) == (handle.fate != Fate::none);
         })},
    };
}

inline Rows usesOfHandles() {
    return {
        {{"Timeout::cancel"}, When::ended, eachHandle([](World&, Handle& handle) {
             return !handle.timeout.cancel();
         })},
        {{"Timeout::cancelAndWait"}, When::ended, eachHandle([](World&, Handle& handle) {
             return !handle.timeout.cancelAndWait();
         })},
        {{"Timeout::Timeout", "Timeout::operator=", "Timeout::operator==", "Timeout::operator<=>",
          "Timeout::~Timeout", "std::hash::operator()"},
         When::always,
         eachHandle([](World&, Handle& handle) {
             Timeout const copy{handle.timeout};
             Timeout moved{Timeout{copy}};
             Timeout assigned;
             assigned = moved;
             assigned = std::move(moved);
             std::hash<Timeout> const hash;
             return assigned == handle.timeout && (assigned <=> copy) == 0 &&
                    hash(assigned) == hash(copy) && !moved;
         })},
        {{"ScopedTimeout::ScopedTimeout", "ScopedTimeout::operator bool", "ScopedTimeout::get",
          "ScopedTimeout::operator->", "ScopedTimeout::~ScopedTimeout"},
         When::ended,
         eachHandle([](World&, Handle& handle) {
             ScopedTimeout const scoped{handle.timeout};
             return scoped.get() == handle.timeout && scoped->deadline() == handle.deadline &&
                    static_cast<bool>(scoped) == static_cast<bool>(handle.timeout);
         })},
        {{"ScopedTimeout::operator=", "ScopedTimeout::reset", "ScopedTimeout::release"},
         When::ended,
         eachHandle([](World&, Handle& handle) {
             ScopedTimeout scoped{handle.timeout};
             scoped = ScopedTimeout{handle.timeout};
             Timeout const released = scoped.release();
             scoped = released;
             scoped.reset();
             return released == handle.timeout && !scoped;
         })},
        {{"TimerObserver::entryOf"},
         When::always,
         [](World& world) {
             for (Handle& handle : world.handles())
                 world.expect((TimerObserver::entryOf(handle.timeout) != nullptr) ==
                                  (handle.fate != Fate::none),
                              handle.name);
             for (Hook& hook : world.hooks())
                 world.expect(TimerObserver::entryOf(hook.owner->hook) != nullptr, hook.name);
         }},
    };
}

inline Rows usesOfHooks() {
    return {
        {{"TimerHookBase::deadline"}, When::always, eachHook([](World&, Hook& hook) {
             return hook.owner->hook.deadline() == hook.deadline;
         })},
        {{"TimerHookBase::isPending"}, When::ended, eachHook([](World&, Hook& hook) {
             return !hook.owner->hook.isPending();
         })},
        {{"TimerHookBase::reschedule"}, When::ended, eachHook([](World&, Hook& hook) {
             return !hook.owner->hook.reschedule(hours{1}) &&
                    !hook.owner->hook.reschedule(nanoseconds{-1}) &&
                    !hook.owner->hook.reschedule(hours{1}, {.tolerance = minutes{1}}) &&
                    !hook.owner->hook.reschedule(kLater);
         })},
        {{"TimerHookBase::cancel"}, When::ended, eachHook([](World&, Hook& hook) {
             return !hook.owner->hook.cancel();
         })},
        {{"TimerHookBase::cancelAndWait"}, When::ended, eachHook([](World&, Hook& hook) {
             return !hook.owner->hook.cancelAndWait();
         })},
        // The destructor of one that was pending, and the first schedule on another timer.
        {{"TimerHook::TimerHook"},
         When::ended,
         [](World& world) {
             if (world.spareOwners().empty()) return;
             auto const owner = std::move(world.spareOwners().back());
             world.spareOwners().pop_back();
             if (world.spareOwners().size() % 2 == 0) return;
             ManualTimer next;
             next.schedule(owner->hook, nanoseconds{-1});
             next.advanceTo(next.clock().now());
             world.expect(owner->runs() == 1, "a hook that goes on with another timer");
         }},
    };
}

inline Rows usesOfClaims() {
    return {
        {{"Claim::Claim", "Claim::operator=", "Claim::~Claim"},
         When::always,
         [](World& world) {
             for (Claim const& claim : world.claims()) {
                 Claim copy{claim};
                 Claim moved{std::move(copy)};
                 moved = Claim{claim};
             }
         }},
        {{"Claim::operator()"},
         When::ended,
         [](World& world) {
             for (Claim const& claim : world.claims()) {
                 Claim copy{claim};
                 copy();
                 copy();  // it has been given away
             }
         }},
    };
}

/// What the range of stop() says, whoever has it.
inline void lookThrough(World& world, StoppedTimeouts const& range) {
    bool const isMine = world.has(Death::stop);
    world.expect(range.size() == (isMine ? world.returnedHandles() : 0), "size()");
    world.expect(range.hooks() == (isMine ? world.returnedHooks() : 0), "hooks()");
    world.expect(range.empty() == (range.size() == 0), "empty()");
    std::size_t objects = 0;
    std::size_t callables = 0;
    std::size_t count = 0;
    for (auto each = range.begin(); each != range.end(); each++, ++count) {
        StoppedTimeout const stopped = *each;
        Timeout const handle = stopped.timeout();
        world.expect(handle.isReturned() && handle.timer() == world.timer(), "timeout()");
        world.expect(stopped.deadline() == handle.deadline(), "deadline()");
        world.expect(stopped.remaining() == world.left(stopped.deadline()), "remaining()");
        if (stopped.task() != nullptr) ++objects;
        auto const* const callable = stopped.target<ACallable>();
        if (callable == nullptr) continue;
        ++callables;
        world.expect(*callable->number == 7, "target()");
    }
    world.expect(count == range.size(), "an iterator");
    world.expect(objects == (isMine ? (world.setting().hasExecutor ? 2U : 1U) : 0U), "task()");
    world.expect(callables == (isMine ? 1U : 0U), "target()");
}

inline Rows usesOfStopped() {
    return {
        {{"StoppedTimeouts::begin", "StoppedTimeouts::end", "StoppedTimeouts::size",
          "StoppedTimeouts::empty", "StoppedTimeouts::hooks", "StoppedTimeouts::Iterator::Iterator",
          "StoppedTimeouts::Iterator::operator*", "StoppedTimeouts::Iterator::operator++",
          "StoppedTimeouts::Iterator::operator==", "StoppedTimeout::deadline",
          "StoppedTimeout::remaining", "StoppedTimeout::timeout", "StoppedTimeout::task",
          "StoppedTimeout::target"},
         When::ended,
         [](World& world) { lookThrough(world, world.stopped()); }},
        {{"StoppedTimeouts::StoppedTimeouts",
          "StoppedTimeouts::operator=", "StoppedTimeouts::~StoppedTimeouts"},
         When::ended,
         [](World& world) {
             StoppedTimeouts moved{std::move(world.stopped())};
             world.expect(world.stopped().empty(), "a range that was moved from");
             lookThrough(world, moved);
             world.stopped() = std::move(moved);
         }},
    };
}

inline Rows usesOfTimers() {
    return {
        {{"Timer::newTimeout"},
         When::stopped,
         [](World& world) {
             for (Duration const delay :
                  {Duration{nanoseconds{-1}}, Duration{hours{1}}, Duration::max()})
                 world.expect(throws<std::logic_error>(
                                  [&] { world.stoppedTimer().newTimeout([] {}, delay); }),
                              "the timer");
         },
         true},
        {{"Timer::stop", "WheelTimer::stop", "HashedWheelTimer::stop"},
         When::stopped,
         [](World& world) {
             StoppedTimeouts const again = world.stoppedTimer().stop();
             world.expect(again.empty() && again.hooks() == 0, "the timer");
         }},
        {{"Timer::pendingTimeouts", "WheelTimer::pendingTimeouts",
          "HashedWheelTimer::pendingTimeouts"},
         When::stopped,
         [](World& world) {
             world.expect(world.stoppedTimer().pendingTimeouts() == 0, "the timer");
         }},
        {{"Timer::pending"},
         When::stopped,
         [](World& world) {
             world.stoppedTimer().pending(
                 [&](PendingTimeout const&) { world.expect(false, "the timer"); });
         }},
        {{"WheelTimer::scheduleAtFixedRate", "WheelTimer::scheduleWithFixedDelay",
          "WheelTimer::scheduleAtTimes", "WheelTimer::schedule"},
         When::stopped,
         [](World& world) {
             WheelTimer* const wheel = world.wheel();
             if (wheel == nullptr) return;
             Owner owner;
             auto const nothing = [] {};
             std::function<void()> const calls[]{
                 [&] { wheel->newTimeout(nothing, kLater); },
                 [&] { wheel->newTimeout(nothing, hours{1}, {.tolerance = minutes{1}}); },
                 [&] { wheel->scheduleAtFixedRate(nothing, hours{1}, hours{1}); },
                 [&] { wheel->scheduleWithFixedDelay(nothing, hours{1}, hours{1}); },
                 [&] {
                     wheel->scheduleAtTimes(nothing, [](auto time) { return time + hours{1}; });
                 },
                 [&] { wheel->schedule(owner.hook, hours{1}); },
                 [&] { wheel->schedule(owner.hook, kLater); },
                 [&] { wheel->schedule(std::array<TimerHookBase*, 1>{&owner.hook}, hours{1}); }};
             for (auto const& call : calls)
                 world.expect(throws<std::logic_error>(call), "the timer");
         },
         true},
        {{"WheelTimer::sleep", "WheelTimer::stopAfter"},
         When::stopped,
         [](World& world) {
             WheelTimer* const wheel = world.wheel();
             if (wheel == nullptr) return;
             auto const await = [](auto sleep) {
                 static_cast<void>(sleep.await_suspend(std::noop_coroutine()));
             };
             std::stop_source const source;
             std::stop_token const token = source.get_token();
             std::function<void()> const calls[]{
                 [&] { await(wheel->sleep(hours{1})); },
                 [&] { await(wheel->sleep(nanoseconds{-1}, token)); },
                 [&] { await(wheel->sleep(kLater)); },
                 [&] { await(wheel->sleep(kLater, token)); },
                 [&] { StopAfter const never{wheel->stopAfter(hours{1})}; },
                 [&] { StopAfter const never{wheel->stopAfter(hours{1}, token)}; }};
             for (auto const& call : calls)
                 world.expect(throws<std::logic_error>(call), "the timer");
             Completion completion;
             auto operation =
                 TimedScheduler{*wheel}.schedule_after(hours{1}).connect(Receiver{&completion});
             operation.start();
             world.expect(completion.stops == 1 && completion.count() == 1, "a sender");
         },
         true},
        {{"WheelTimer::reschedule"}, When::stopped, eachHandle([](World& world, Handle& handle) {
             WheelTimer* const wheel = world.wheel();
             std::array<Timeout const*, 1> const batch{&handle.timeout};
             return wheel == nullptr || (!wheel->reschedule(handle.timeout, hours{1}) &&
                                         !wheel->reschedule(handle.timeout, kLater) &&
                                         wheel->reschedule(batch, hours{1}) == 0);
         })},
        {{"WheelTimer::cancel"}, When::stopped, eachHook([](World& world, Hook& hook) {
             WheelTimer* const wheel = world.wheel();
             std::array<TimerHookBase*, 1> const batch{&hook.owner->hook};
             return wheel == nullptr ||
                    (wheel->cancel(batch) == 0 && wheel->reschedule(batch, hours{1}) == 0);
         })},
        {{"WheelTimer::cancelAll"},
         When::stopped,
         [](World& world) {
             WheelTimer* const wheel = world.wheel();
             world.expect(wheel == nullptr || wheel->cancelAll() == 0, "the timer");
         }},
        {{"WheelTimer::statistics", "HashedWheelTimer::statistics"},
         When::stopped,
         [](World& world) {
             TimerStatistics const all = world.wheel() != nullptr ? world.wheel()->statistics()
                                                                  : world.flat()->statistics();
             world.expect(all.pending == 0 && all.scheduled == all.fired + all.cancelled +
                                                                   all.rejected + all.returned,
                          "the timer");
             world.expect(all.returned >= world.returnedHandles(), "the timer");
         }},
        {{"WheelTimer::clock", "WheelTimer::name", "WheelTimer::tick",
          "WheelTimer::checkInvariants"},
         When::stopped,
         [](World& world) {
             WheelTimer* const wheel = world.wheel();
             if (wheel == nullptr) return;
             wheel->checkInvariants();
             world.expect(&wheel->clock() == &world.clock() && wheel->name() == "timingwheel" &&
                              wheel->tick() == std::chrono::seconds{1},
                          "the timer");
         }},
    };
}

inline Rows usesOfOneKind() {
    return {
        {{"SystemTimer::start", "SystemTimer::drain"},
         When::stopped,
         [](World& world) {
             if (world.system() == nullptr) return;
             world.expect(throws<std::logic_error>([&] { world.system()->start(); }), "the timer");
             world.system()->drain();
         }},
        {{"LoopTimer::nativeHandle", "LoopTimer::runDue", "LoopTimer::nextExpiration",
          "LoopTimer::pollTimeout"},
         When::stopped,
         [](World& world) {
             LoopTimer* const loop = world.loop();
             if (loop == nullptr) return;
             world.expect(loop->nativeHandle() != detail::kNoHandle && !loop->runDue() &&
                              !loop->runDue(1) && !loop->nextExpiration() &&
                              loop->pollTimeout() == -1,
                          "the timer");
         }},
        {{"ManualTimer::advanceTo", "ManualTimer::nextExpiration", "ManualTimer::pollTimeout"},
         When::stopped,
         [](World& world) {
             ManualTimer* const manual = world.manual();
             if (manual == nullptr) return;
             world.expect(!manual->advanceTo(kLater) && !manual->nextExpiration() &&
                              manual->pollTimeout() == -1,
                          "the timer");
         }},
        {{"HashedWheelTimer::start", "HashedWheelTimer::clock", "HashedWheelTimer::name",
          "HashedWheelTimer::tick", "HashedWheelTimer::ticksPerWheel"},
         When::stopped,
         [](World& world) {
             HashedWheelTimer* const flat = world.flat();
             if (flat == nullptr) return;
             world.expect(throws<std::logic_error>([&] { flat->start(); }), "the timer");
             world.expect(&flat->clock() == &world.clock() && flat->name() == "timingwheel" &&
                              flat->tick() == std::chrono::seconds{1} && flat->ticksPerWheel() == 8,
                          "the timer");
         }},
        {{"ManualClock::now", "ManualClock::kind", "ManualClock::advance", "ManualClock::advanceTo",
          "ManualClock::jump", "ManualClock::jumpTo", "Clock::now", "Clock::steady",
          "Clock::continuous", "Clock::wall", "Clock::wallTime", "Clock::systemTime",
          "Clock::kind"},
         When::clockLeft,
         [](World& world) {
             ManualClock& clock = *world.manualClock();
             Clock::TimePoint const now = clock.now();
             clock.advance(hours{5});
             clock.advanceTo(now + hours{6});
             world.expect(clock.now() == now + hours{6}, "the clock");
             clock.jump(hours{-5});
             clock.jumpTo(now);
             world.expect(clock.now() == now && Clock::steady().now() != now &&
                              Clock::continuous().now() != now &&
                              Clock::wallTime(Clock::systemTime(Clock::wall().now())) != now &&
                              clock.kind() == Clock::Kind::steady,
                          "the clock");
         }},
    };
}

inline Rows allRows() {
    Rows all;
    for (Rows const& rows : {questionsToHandles(), usesOfHandles(), usesOfHooks(), usesOfClaims(),
                             usesOfStopped(), usesOfTimers(), usesOfOneKind()})
        all.insert(all.end(), rows.begin(), rows.end());
    return all;
}

inline bool isTime(When when, World& world) {
    switch (when) {
        case When::always:
            return true;
        case When::ended:
            return world.isEnded();
        case When::stopped:
            return world.has(Death::stop) && !world.has(Death::timer);
        case When::gone:
            return world.has(Death::timer);
        case When::clockLeft:
            return world.isEnded() && world.manualClock() != nullptr;
    }
    return false;
}

/// Tries the whole table after each death. Returns how many cells that were.
inline std::size_t live(Setting const& setting, Rows const& rows, Fail const& fail) {
    World world{setting, fail};
    std::size_t cells = 0;
    world.play([&] {
        for (Row const& row : rows) {
            if (!isTime(row.when, world)) continue;
            world.doing(row.members.front());
            std::size_t const events = world.observer().events();
            row.tryIt(world);
            world.expect(!world.isEnded() || row.mayTell || world.observer().events() == events,
                         "the observer");
            ++cells;
        }
    });
    return cells;
}

}  // namespace timingwheel::test::afterlife
