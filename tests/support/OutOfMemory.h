#pragma once

#include <support/AllocationCounter.h>
#include <support/DriverThreads.h>
#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Handles.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerTrace.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

/// Calls that are tried with too little memory: each of their allocations fails in turn, once or
/// from then on, and each time the timer is looked at from every side.
namespace timingwheel::test {

/// In which ways the timers differ on which calls are tried.
struct TimerKind {
    enum class Observer { none, counts, jsonLines, chrome };

    char const* name;
    Observer observer = Observer::none;
    bool hasLimit = false;
    bool isFull = false;   ///< the limit is reached
    bool isFresh = false;  ///< nothing was scheduled yet
    bool hasPool = false;
    std::size_t shards = 0;
    /// So many times its thread cannot be started.
    int failingStarts = 0;
    /// So many more timeouts in one bucket.
    std::size_t crowd = 0;
    /// Of a HashedWheelTimer.
    bool runsDueAtOnce = false;
};

/// Takes everything and keeps nothing: a stream over it needs no memory.
class Nowhere final : public std::streambuf {
protected:
    int_type overflow(int_type character) override { return traits_type::not_eof(character); }
    std::streamsize xsputn(char const*, std::streamsize count) override { return count; }
};

class CountingObserver final : public TimerObserver {
public:
    void onEvent(TimerEvent const&) noexcept override { ++events; }
    std::atomic<std::size_t> events{0};
};

/// An exception that is no small one.
struct Large {
    std::array<char, 4'096> bytes{};
};

/// A timer of type `T` under a ManualClock with timeouts in it, all of which are accounted for at
/// the end. A call is made on it, alone or after a first attempt that failed.
///
/// Every deadline lies between two ticks, so that all kinds of timers run it at the same instant.
template <class T>
class Scene {
public:
    using Nanoseconds = std::chrono::nanoseconds;

    static constexpr bool kIsFlat = std::is_same_v<T, HashedWheelTimer>;
    static constexpr Nanoseconds kTick = std::chrono::milliseconds{1};
    /// Beyond the levels that are there.
    static constexpr Nanoseconds kFar = std::chrono::milliseconds{kIsFlat ? 60 : 300};
    static constexpr Nanoseconds kEnd = std::chrono::milliseconds{kIsFlat ? 70 : 400};
    static constexpr Clock::TimePoint kStart{std::chrono::seconds{1}};
    static constexpr Nanoseconds kPeriod = std::chrono::milliseconds{50};

    struct Object {
        explicit Object(Scene& scene) : home{&scene} {}
        void run() { ++runs, ranAt = home->now(); }
        Scene* home;
        int runs = 0;
        Nanoseconds ranAt{};
        TimerHook<&Object::run> hook{*this};
    };

    struct Planted {
        Planted(Nanoseconds at, bool throws) : due{at}, isThrowing{throws} {}
        Nanoseconds due;
        bool isThrowing;
        bool isExpected = true;
        int runs = 0;
        int order = 0;
        Nanoseconds ranAt{};
        Timeout timeout;
    };

    explicit Scene(TimerKind const& how) : kind{how} {
        make();
        if (kind.isFresh) {
            cancelAll();
        } else {
            plant();
        }
        clock.advanceTo(kStart);  // whoever drives it is at rest
    }
    Scene(Scene const&) = delete;
    Scene& operator=(Scene const&) = delete;

    /// Since the start.
    Nanoseconds now() const { return clock.now() - kStart; }
    /// What to pass to have it run at `due`.
    static Nanoseconds delay(Nanoseconds due) { return due - kTick / 2; }
    static Clock::TimePoint at(Nanoseconds due) { return kStart + delay(due); }

    auto task() {
        return [this, w = witness] {
            static_cast<void>(w);
            ++runs, ranAt = now();
        };
    }

    /// For a task that throws: one more failure will be reported.
    void thrown() {
        ++runs, ++expectedFailures;
        throw Large{};
    }

    /// What must be the same after a call that failed.
    struct Look {
        std::size_t pending = 0;
        std::array<std::uint64_t, 7> counts{};
        std::optional<Clock::TimePoint> next;
        std::vector<Clock::TimePoint> deadlines;
        std::array<bool, 3> isHookPending{};
        long witnesses = 0;
        int runs = 0;
        friend bool operator==(Look const&, Look const&) = default;
    };
    Look look() const {
        TimerStatistics const s = timer->statistics();
        Look look;
        look.pending = timer->pendingTimeouts();
        look.counts = {s.scheduled, s.fired,    s.runs,       s.cancelled,
                       s.returned,  s.rejected, s.rescheduled};
        look.witnesses = witness.use_count();
        look.runs = runs;
        EXPECT_EQ(s.pending, look.pending);
        if constexpr (std::is_same_v<T, ManualTimer>) look.next = timer->nextExpiration();
        for (Planted const& each : planted)
            look.deadlines.push_back(each.timeout.isPending() ? each.timeout.deadline()
                                                              : Clock::TimePoint::min());
        look.isHookPending = {hooked.hook.isPending(), spare.hook.isPending(), made.isPending()};
        return look;
    }

    void checkInvariants() const {
        if constexpr (!kIsFlat) timer->checkInvariants();
    }
    bool isRunning() const { return timer != nullptr && !stopped; }

    /// Lets all time pass and expects that everything planted ran as it should, that the timer
    /// can be used, and that its books balance.
    void finish() {
        if (!isRunning()) return;
        clock.advanceTo(kStart + kEnd);
        expectPlanted();
        expectUsable();
        expectBalance();
    }
    void expectRan(int times, Nanoseconds lastAt) const {
        EXPECT_EQ(runs, times);
        if (areTimesKept) {
            EXPECT_EQ(ranAt, lastAt);
        }
        EXPECT_EQ(witness.use_count(), 1);
    }
    /// For calls that end the timer: nothing has run, and `stopped` is what was pending.
    void expectReturned() const {
        for (Planted const& each : planted) {
            EXPECT_EQ(each.runs, 0);
            EXPECT_TRUE(each.timeout.isReturned());
            EXPECT_EQ(each.timeout.timer(), timer.get());
        }
        EXPECT_FALSE(hooked.hook.isPending());
        if (!stopped) return;
        std::size_t const others = kIsFlat || kind.isFresh ? 0 : 1;
        EXPECT_EQ(stopped->size(), planted.size() + kind.crowd + others);
        EXPECT_EQ(stopped->hooks(), others);
        expectBalance();
    }
    void cancelAll() {
        for (Planted& each : planted) EXPECT_TRUE(each.timeout.cancel());
        periodic.cancel();
        hooked.hook.cancel();
        expectNothing();
    }
    /// All was cancelled.
    void expectNothing() {
        for (Planted& each : planted) each.isExpected = false;
        isHookExpected = false;
        expectedPeriods = 0;
    }

private:
    static constexpr std::array kDue{2, 4, 4, 9, 17, 30, 41, 41};
    static constexpr int kThrowingDue = 17;
    static constexpr int kPeriodDue = 25;
    static constexpr int kHookDue = 12;

    /// The limit: what is planted, hook and periodic one included, and one more unless it is full.
    std::size_t most() const {
        std::size_t const taken = kind.isFresh ? 0 : kDue.size() + (kIsFlat ? 0 : 2);
        return taken + (kind.isFull ? 0 : 1);
    }

    TimerObserver* observer() {
        auto const onError = [this](std::system_error const&) { ++traceErrors; };
        switch (kind.observer) {
            case TimerKind::Observer::none:
                return nullptr;
            case TimerKind::Observer::counts:
                return &counting;
            case TimerKind::Observer::jsonLines:
                trace = std::make_unique<JsonLinesTrace>(nowhere, onError);
                break;
            case TimerKind::Observer::chrome:
                trace = std::make_unique<ChromeTrace>(nowhere, onError);
                break;
        }
        return trace.get();
    }

    void make() {
        std::conditional_t<kIsFlat, HashedWheelTimerOptions, TimerOptions> options;
        options.tick = kTick;
        options.clock = clock;
        if (kind.hasLimit) options.maxPendingTimeouts = most();
        if (kind.hasPool) options.executor = pool_.emplace(TaskPoolOptions{.threads = 1});
        options.errorHandler = [this](TaskFailure const&) { ++failures; };
        options.observer = observer();
        if (kind.failingStarts > 0)
            options.threadFactory = FailingFactory{.failures = kind.failingStarts};
        if constexpr (kIsFlat) {
            options.ticksPerWheel = 8;
            options.leakDetection = false;
            options.immediateIfDue = kind.runsDueAtOnce;
        } else {
            options.wheelSize = 4;
            options.shards = kind.shards;
        }
        timer = std::make_unique<T>(std::move(options));
    }

    void plant() {
        planted.reserve(kDue.size());
        for (int const due : kDue) {
            bool const throws = due == kThrowingDue;
            Planted& each = planted.emplace_back(std::chrono::milliseconds{due}, throws);
            each.timeout = timer->newTimeout([this, &each] { run(each); }, delay(each.due));
        }
        for (std::size_t i = 0; i < kind.crowd; ++i)
            timer->newTimeout([this] { ++crowdRan_; }, delay(planted.back().due));
        if constexpr (!kIsFlat) {
            timer->schedule(hooked.hook, delay(std::chrono::milliseconds{kHookDue}));
            periodic = timer->scheduleAtFixedRate(
                [this] { ++periods_; }, delay(std::chrono::milliseconds{kPeriodDue}), kPeriod);
        }
    }

    void run(Planted& each) {
        ++each.runs;
        each.order = ++order_;
        each.ranAt = now();
        if (each.isThrowing) throw Large{};
    }

    void expectPlanted() {
        std::stable_sort(planted.begin(), planted.end(),
                         [](Planted const& a, Planted const& b) { return a.due < b.due; });
        Planted const* before = nullptr;
        for (Planted const& each : planted) {
            EXPECT_EQ(each.runs, each.isExpected ? 1 : 0);
            EXPECT_EQ(each.timeout.isExpired(), each.isExpected);
            EXPECT_FALSE(each.timeout.isPending());
            if (!each.isExpected) continue;
            expectedFailures += each.isThrowing ? 1 : 0;
            if (areTimesKept) {
                EXPECT_EQ(each.ranAt, each.due);
            }
            if (before != nullptr && before->due < each.due) {
                EXPECT_LT(before->order, each.order);
            }
            before = &each;
        }
        EXPECT_EQ(failures, expectedFailures);
        EXPECT_EQ(crowdRan_, kind.crowd);
        if constexpr (kIsFlat) return;
        EXPECT_EQ(hooked.runs, isHookExpected ? 1 : 0);
        EXPECT_EQ(periods_, expectedPeriods);
        periodic.cancel();
    }

    void expectUsable() {
        made.cancel();
        spare.hook.cancel();
        if (timer->pendingTimeouts() > 0) clock.advance(kTick);  // the flat one counts them still
        EXPECT_EQ(timer->pendingTimeouts(), 0U);
        int before = runs;
        Timeout const next = timer->newTimeout([this] { ++runs; }, delay(kTick));
        clock.advance(kTick);
        EXPECT_TRUE(next.isDone());
        EXPECT_EQ(runs, before + 1);
        runs = before;
        if (!kind.hasLimit) return;
        // The limit was released.
        std::vector<Timeout> all;
        while (all.size() < most()) all.push_back(timer->newTimeout([] {}, kEnd));
        EXPECT_THROW(timer->newTimeout([] {}, kEnd), RejectedExecution);
        for (Timeout const& each : all) EXPECT_TRUE(each.cancel());
    }

    void expectBalance() const {
        TimerStatistics const s = timer->statistics();
        EXPECT_EQ(s.scheduled, s.pending + s.fired + s.cancelled + s.rejected + s.returned);
        EXPECT_EQ(s.rejected, expectedRejections);
        checkInvariants();
    }

    int order_ = 0;
    std::int64_t periods_ = 0;
    std::size_t crowdRan_ = 0;
    Nowhere buffer_;
    std::optional<TaskPool> pool_;

public:
    TimerKind const kind;
    ManualClock clock{kStart};
    std::shared_ptr<int> const witness = std::make_shared<int>();
    int runs = 0;
    Nanoseconds ranAt{};
    Timeout made;
    std::vector<Planted> planted;
    Object hooked{*this};
    Object spare{*this};
    Timeout periodic;
    bool isHookExpected = true;
    std::int64_t expectedPeriods = kEnd / kPeriod;
    bool areTimesKept = true;
    std::function<void()> const large = [this, room = Large{}] {
        static_cast<void>(room);
        ++runs, ranAt = now();
    };
    std::shared_ptr<ATask> const taskObject = std::make_shared<ATask>();
    std::shared_ptr<Object> const owned = std::make_shared<Object>(*this);
    int expectedFailures = 0;
    std::uint64_t expectedRejections = 0;
    std::atomic<int> failures{0};
    std::atomic<int> traceErrors{0};
    std::optional<StoppedTimeouts> stopped;
    CountingObserver counting;
    std::ostream nowhere{&buffer_};
    std::unique_ptr<TimerObserver> trace;
    std::unique_ptr<T> timer;  // the last: it uses the others
};

/// One call on a scene of type `S`.
template <class S>
struct Call {
    using Step = std::function<void(S&)>;

    Call(char const* nameOfIt, Step make, Step expect = nullptr, bool may = true,
         Threads whose = Threads::thisOne)
        : name{nameOfIt},
          act{std::move(make)},
          expectDone{std::move(expect)},
          mayFail{may},
          threads{whose} {}

    char const* name;
    Step act;
    /// At the end of all time.
    Step expectDone;
    /// It may throw std::bad_alloc, and then has changed nothing. One that may not allocates
    /// nothing but events for an observer.
    bool mayFail;
    /// Whose allocations fail.
    Threads threads;
    /// Before it, with memory.
    Step prepare;
};

/// What to expect of a call whose task runs once.
template <class S>
auto ranOnceAt(std::chrono::nanoseconds due) {
    return [due](S& s) { s.expectRan(1, due); };
}
/// The act of a call that is refused: with an `Exception`, or else without memory for its words.
/// Either way nothing has changed.
template <class Exception, class S>
auto refused(void (*act)(S&)) {
    return [act](S& s) {
        auto const before = s.runs;
        try {
            act(s);
            ADD_FAILURE() << "was not refused";
        } catch (Exception const&) {
        }
        EXPECT_EQ(s.runs, before);
    };
}

/// What was tried.
struct Tried {
    std::size_t calls = 0;
    std::size_t allocations = 0;  ///< that failed, one in each attempt or the first of several
    std::size_t wrong = 0;        ///< attempts after which something was not as it must be
    std::size_t leaks = 0;

    Tried& operator+=(Tried const& other) noexcept {
        calls += other.calls;
        allocations += other.allocations;
        wrong += other.wrong;
        leaks += other.leaks;
        return *this;
    }
};

/// Makes the call on a scene of its own, where the `kth` allocation fails; none if that is 0.
/// Returns whether one did.
template <class S>
bool tryCall(TimerKind const& kind, Call<S> const& call, std::size_t kth,
             AllocationFailure::Repeat repeat) {
    S scene{kind};
    if (call.prepare) call.prepare(scene);
    auto const before = scene.look();
    bool happened = false;
    bool threw = false;
    {
        AllocationFailure const failure{kth, repeat, call.threads};
        try {
            call.act(scene);
        } catch (std::bad_alloc const&) {
            threw = true;
        }
        happened = failure.happened();
    }
    EXPECT_TRUE(happened || !threw);
    if (!call.mayFail) {
        EXPECT_FALSE(threw);
        EXPECT_FALSE(happened && kind.observer == TimerKind::Observer::none);
    }
    if (threw) {
        EXPECT_TRUE(scene.look() == before);
        scene.checkInvariants();
        call.act(scene);  // there is memory again
    }
    if (scene.isRunning()) scene.checkInvariants();
    scene.finish();
    if (call.expectDone) call.expectDone(scene);
    return happened;
}

/// What failed so far in the test that runs.
inline int failuresSoFar() {
    return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

/// Lets each allocation of `attempt(kth, repeat)` fail in turn, once and from then on, until it
/// returns that none did. No memory may be left over, not even once.
template <class Attempt>
Tried failEachAllocation(Attempt&& attempt) {
    using Repeat = AllocationFailure::Repeat;
    Tried tried{.calls = 1};
    attempt(0, Repeat::once);  // what is made once for the process is made here
    for (Repeat const repeat : {Repeat::once, Repeat::forEver}) {
        for (std::size_t kth = 1;; ++kth) {
            SCOPED_TRACE(testing::Message()
                         << "allocation " << kth
                         << (repeat == Repeat::once ? " fails" : " and all later ones fail"));
            int const failuresBefore = failuresSoFar();
            AllocationCounter const blocks{Threads::all};
            bool const happened = attempt(kth, repeat);
            bool const isLeft = blocks.allocations() != blocks.deallocations();
            EXPECT_FALSE(isLeft) << blocks.allocations() << " blocks, of which "
                                 << blocks.deallocations() << " were given back";
            if (isLeft) ++tried.leaks;
            if (failuresSoFar() != failuresBefore) {
                ++tried.wrong;
                return tried;
            }
            if (!happened) break;
            ++tried.allocations;
        }
    }
    return tried;
}

/// Not fewer than one in three, or some kind of timer would get no call that allocates.
inline std::size_t oneCallIn() { return std::min<std::size_t>(oneIn(3), 3); }

/// Every call on a timer of the first kind; on the others every one in turn, and all at length.
template <class S>
Tried tryAll(std::vector<TimerKind> const& kinds, std::vector<Call<S>> const& calls) {
    Tried sum;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        for (std::size_t c = 0; c < calls.size(); ++c) {
            if (k > 0 && (k + c) % oneCallIn() != 0) continue;
            TimerKind const& kind = kinds[k];
            Call<S> const& call = calls[c];
            SCOPED_TRACE(testing::Message() << call.name << " on a timer " << kind.name);
            sum += failEachAllocation([&](std::size_t kth, AllocationFailure::Repeat repeat) {
                return tryCall(kind, call, kth, repeat);
            });
        }
    }
    return sum;
}

/// Tells what was tried, and how much must have been at length.
inline void tell(std::string const& what, Tried const& tried, std::uint64_t atLeastTried) {
    Of const of{tried.allocations, atLeastTried};
    figure("G16", "failed allocations after which not all was as it must be, " + what, tried.wrong,
           exactly(0), of);
    figure("G16", "failed allocations after which memory was lost, " + what, tried.leaks,
           exactly(0), of);
    EXPECT_GE(tried.allocations, atLeastTried / oneCallIn());
}

/// Makes each call on timers whose thread cannot be started at first: as often it throws
/// std::system_error and nothing has changed, then it does what it says.
template <class S>
void tellStarts(std::string const& timer, std::vector<Call<S>> const& calls) {
    constexpr int kMost = 5;
    std::size_t tried = 0;
    std::size_t changed = 0;
    for (bool const hasLimit : {false, true}) {
        for (int failing = 1; failing <= kMost; ++failing) {
            for (Call<S> const& call : calls) {
                SCOPED_TRACE(testing::Message() << call.name << " after " << failing);
                S scene{{.name = "without a thread",
                         .hasLimit = hasLimit,
                         .isFresh = true,
                         .failingStarts = failing}};
                auto const before = scene.look();
                for (int i = 0; i < failing; ++i, ++tried) {
                    EXPECT_THROW(call.act(scene), std::system_error);
                    changed += scene.look() == before ? 0U : 1U;
                    scene.checkInvariants();
                    scene.clock.advance(Duration{});
                }
                call.act(scene);
                scene.finish();
                if (call.expectDone) call.expectDone(scene);
            }
        }
    }
    figure("G17",
           "first calls whose thread could not be started, and which changed something, " + timer,
           changed, exactly(0), {tried, 60});
}

}  // namespace timingwheel::test
