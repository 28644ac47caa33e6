// Every interleaving of what may happen to one timeout at the same time, step by step: a model of
// who writes its word, in which the steps are those of the driver's own TimeoutWord.

#include "core/timeout/TimeoutWord.h"

#include <support/Figure.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

// Shows G4.

namespace timingwheel::detail {
namespace {

using test::exactly;
using test::figure;
using State = TimeoutState;

constexpr int kNobody = -1;
constexpr std::int64_t kDue = 1;
constexpr std::int64_t kPushedTo = 2;

/// One of those who act: where it stands in its steps, and what it remembers.
struct Actor {
    enum class Kind { cancel, pushBack, driver, wheelCancel, wheelCancelNow, worker, claim };
    Kind kind;
    int at = 0;
    std::uint64_t seen = 0;
    std::int64_t tick = 0;
    bool isOver = false;

    friend auto operator<=>(Actor const&, Actor const&) = default;
};

/// All there is at a moment. A copy is another future.
struct World {
    std::uint64_t word = TimeoutWord{Tick{kDue}, State::pending}.bits();
    int holder = kNobody;  // of the lock
    std::vector<Actor> actors;
    std::int64_t agreed = kDue;  // the deadline by the last push-back that was told so
    int runs = 0;
    int wins = 0;           // a cancel said true
    int destroyed = 0;      // the task
    bool isPushed = false;  // onto the worker's stack of cancelled nodes
    bool isQueued = false;  // in the executor's hands
    bool isWrong = false;

    friend auto operator<=>(World const&, World const&) = default;

    TimeoutWord load() const { return TimeoutWord{word}; }
    State state() const { return load().state(); }
    void store(TimeoutWord next) { word = next.bits(); }
    /// The compare-and-set of the driver; `seen` is what is there when it fails.
    bool replace(std::uint64_t& seen, TimeoutWord next) {
        TimerTaskEntry entry;
        entry.word().store(word);
        TimeoutWord expected{seen};
        bool const isDone = next.replace(entry, expected);
        word = entry.word().load();
        seen = expected.bits();
        return isDone;
    }
    /// False while another has it.
    bool lock(int who) {
        if (holder != kNobody) return false;
        holder = who;
        return true;
    }
    void unlock() { holder = kNobody; }
    void run(std::int64_t tick) {
        ++runs;
        isWrong |= destroyed > 0 || agreed > tick;
    }
    void destroy() { isWrong |= ++destroyed > 1 || state() == State::running; }
};

/// Ends an actor, with the answer of what it called.
void end(World& world, Actor& me, bool answer = false) {
    world.wins += answer ? 1 : 0;
    me.isOver = true;
}

/// Ends one that holds the lock.
void endUnlocked(World& world, Actor& me, bool answer = false) {
    world.unlock();
    end(world, me, answer);
}

// Each function does the next step of an actor, and returns false if it has to wait for the lock.

/// Shard::markCancelled() and unlinkAndMark().
bool stepCancel(World& world, Actor& me, int who) {
    switch (me.at++) {
        case 0:
            if (!isPending(world.state()) && world.state() != State::running) end(world, me);
            return true;
        case 1:
            return world.lock(who);
        case 2:
            me.seen = world.word;
            if (!isPending(world.state())) endUnlocked(world, me);
            return true;
        case 3:
            world.store({TimeoutWord{me.seen}.deadline(), State::cancelled});
            return true;
        default:
            endUnlocked(world, me, true);
            return true;
    }
}

/// Shard::reschedule() to later.
bool stepPushBack(World& world, Actor& me, int who) {
    TimeoutWord const pushed{Tick{kPushedTo}, State::pending};
    switch (me.at++) {
        case 0:
            me.seen = world.word;
            return true;
        case 1:
            if (!isPending(TimeoutWord{me.seen}.state())) {
                end(world, me);
            } else if (TimeoutWord{me.seen}.state() == State::pending) {
                me.at = 1;
                if (!world.replace(me.seen, pushed)) return true;
                world.agreed = kPushedTo;
                end(world, me);
            }
            return true;
        case 2:
            return world.lock(who);
        case 3:
            if (!isPending(world.state())) endUnlocked(world, me);
            return true;
        case 4:
            world.store(pushed);
            world.agreed = kPushedTo;
            return true;
        default:
            endUnlocked(world, me);
            return true;
    }
}

/// Shard::serve(), which takes the entry out and lets it wait among others before it runs it.
/// `tick` counts its visits: at the second what was pushed back is due as well.
template <bool kChecks>
bool stepDriver(World& world, Actor& me, int who) {
    TimeoutWord const seen{me.seen};
    switch (me.at++) {
        case 0:
            if (!world.lock(who)) return false;
            me.tick = me.tick < kPushedTo ? me.tick + 1 : kPushedTo;
            me.seen = world.word;
            return true;
        case 1:
            if (!isPending(seen.state())) {
                endUnlocked(world, me);
            } else if (seen.deadline().value() > me.tick) {  // it cascades
                world.unlock();
                me.at = 0;
            } else if (seen.state() == State::pending) {
                TimeoutWord const ready{seen.deadline(), State::ready};
                if (!kChecks) world.store(ready);
                if (kChecks && !world.replace(me.seen, ready)) me.at = 1;
            }
            return true;
        case 2:
            world.unlock();
            return true;
        case 3:
            return world.lock(who);
        case 4:
            if (world.state() == State::ready) {
                world.run(me.tick);
                world.store({world.load().deadline(), State::running});
            } else {  // taken out meanwhile: to be cancelled, or to be placed again
                me.at = 0;
            }
            world.unlock();
            return true;
        default:
            world.store({world.load().deadline(), State::expired});
            end(world, me);
            return true;
    }
}

/// HashedWheelWorker::cancel().
bool stepWheelCancel(World& world, Actor& me) {
    switch (me.at++) {
        case 0:
            me.seen = world.word;
            return true;
        case 1:
            if (TimeoutWord{me.seen}.state() != State::pending)
                end(world, me);
            else if (!world.replace(me.seen, {TimeoutWord{me.seen}.deadline(), State::cancelling}))
                me.at = 1;
            return true;
        default:
            world.isPushed = true;
            end(world, me, true);
            return true;
    }
}

/// HashedWheelWorker::cancelAndEnd() and cancelQueued().
bool stepWheelCancelNow(World& world, Actor& me, int who) {
    TimeoutWord const seen{me.seen};
    switch (me.at++) {
        case 0:
            me.seen = world.word;
            return true;
        case 1:
            if (seen.state() == State::handedOver) {
                me.at = 4;
            } else if (seen.state() != State::pending && seen.state() != State::cancelling) {
                end(world, me);
            } else {
                std::uint64_t before = me.seen;
                bool const isMine = world.replace(before, {seen.deadline(), State::cancelled});
                if (!isMine) me.seen = before;
                me.at = isMine ? 2 : 1;
            }
            return true;
        case 2:
            world.isPushed |= seen.state() == State::pending;
            return true;
        case 3:
            world.destroy();
            end(world, me, seen.state() == State::pending);
            return true;
        case 4:
            return world.lock(who);
        case 5:
            if (world.state() != State::handedOver) {
                endUnlocked(world, me);
                return true;
            }
            world.isQueued = false;
            world.store({seen.deadline(), State::cancelled});
            world.unlock();
            return true;
        default:
            world.destroy();
            end(world, me, true);
            return true;
    }
}

/// HashedWheelWorker::wake() with an executor: what was cancelled ends, what is due is handed over;
/// at last the stack of the cancelled is emptied once more.
bool stepWorker(World& world, Actor& me, int who) {
    TimeoutWord const seen{me.seen};
    switch (me.at++) {
        case 0:
        case 4:
            me.seen = world.word;
            if (!world.isPushed || seen.state() == State::running) ++me.at;
            return true;
        case 1:
        case 5:
            if (seen.state() == State::cancelling &&
                world.replace(me.seen, {seen.deadline(), State::cancelled}))
                world.destroy();
            return true;
        case 2:
            return world.lock(who);
        case 3:
            me.seen = world.word;
            if (world.state() == State::pending &&
                world.replace(me.seen, {Tick{kDue}, State::handedOver}))
                world.isQueued = true;
            world.unlock();
            return true;
        default:
            // A cancel() that has won pushes: it comes again for that.
            if (world.state() == State::cancelling)
                me.at = 4;
            else
                end(world, me);
            return true;
    }
}

/// A claim, on a thread of the executor.
bool stepClaim(World& world, Actor& me, int who) {
    switch (me.at++) {
        case 0:
            return world.lock(who);
        case 1:
            if (!world.isQueued) {  // not yet, or taken back
                bool const canCome = world.state() == State::pending;
                world.unlock();
                me.at = 0;
                if (!canCome) end(world, me);
                return true;
            }
            world.isQueued = false;
            world.run(kDue);
            world.store({Tick{kDue}, State::running});
            world.unlock();
            return true;
        case 2:
            world.store({Tick{kDue}, State::expired});
            return true;
        default:
            world.destroy();
            end(world, me);
            return true;
    }
}

template <bool kDriverChecks>
bool step(World& world, std::size_t which) {
    Actor& me = world.actors[which];
    int const who = static_cast<int>(which);
    switch (me.kind) {
        case Actor::Kind::cancel:
            return stepCancel(world, me, who);
        case Actor::Kind::pushBack:
            return stepPushBack(world, me, who);
        case Actor::Kind::driver:
            return stepDriver<kDriverChecks>(world, me, who);
        case Actor::Kind::wheelCancel:
            return stepWheelCancel(world, me);
        case Actor::Kind::wheelCancelNow:
            return stepWheelCancelNow(world, me, who);
        case Actor::Kind::worker:
            return stepWorker(world, me, who);
        case Actor::Kind::claim:
            return stepClaim(world, me, who);
    }
    return false;
}

/// What came of all interleavings.
struct Tally {
    std::size_t worlds = 0;
    std::size_t ends = 0;
    std::size_t wrong = 0;  ///< not one winner, or early, or run or destroyed when it must not be
};

/// Goes through every world that can be reached.
template <bool kDriverChecks = true>
Tally explore(std::vector<Actor::Kind> const& kinds, int destructions) {
    World first;
    for (Actor::Kind const kind : kinds) first.actors.push_back({.kind = kind});
    std::set<World> known{first};
    std::vector<World> open{first};
    Tally tally;
    while (!open.empty()) {
        World const world = open.back();
        open.pop_back();
        ++tally.worlds;
        bool isEnd = true;
        for (std::size_t i = 0; i < world.actors.size(); ++i) {
            if (world.actors[i].isOver) continue;
            World next = world;
            if (!step<kDriverChecks>(next, i)) continue;
            isEnd = false;
            if (known.insert(next).second) open.push_back(next);
        }
        if (!isEnd) continue;
        ++tally.ends;
        bool isRight = !world.isWrong && world.runs + world.wins == 1 && world.holder == kNobody &&
                       world.destroyed == destructions;
        for (Actor const& actor : world.actors) isRight = isRight && actor.isOver;
        tally.wrong += isRight ? 0U : 1U;
    }
    return tally;
}

// G4
TEST(Interleavings, HaveOneWinnerOfCancelCancelPushBackAndExpiry) {
    using Kind = Actor::Kind;
    Tally const tally =
        explore({Kind::cancel, Kind::cancel, Kind::pushBack, Kind::pushBack, Kind::driver}, 0);
    EXPECT_GT(tally.worlds, 1'000U);
    figure("G4", "ends of all interleavings with other than one winner, a model", tally.wrong,
           exactly(0), {tally.ends, 0});
}

// G4
TEST(Interleavings, OfAHashedWheelHaveOneWinnerAndOneDestruction) {
    using Kind = Actor::Kind;
    Tally const tally = explore(
        {Kind::wheelCancel, Kind::wheelCancelNow, Kind::wheelCancelNow, Kind::worker, Kind::claim},
        1);
    EXPECT_GT(tally.worlds, 1'000U);
    figure("G4", "the same of a HashedWheelTimer with an executor, a model", tally.wrong,
           exactly(0), {tally.ends, 0});
}

// The exploration finds what it is for: a driver that stores where others may push back.
TEST(Interleavings, FindADriverThatDoesNotCheck) {
    using Kind = Actor::Kind;
    EXPECT_GT(explore<false>({Kind::pushBack, Kind::driver}, 0).wrong, 0U);
    EXPECT_EQ(explore<true>({Kind::pushBack, Kind::driver}, 0).wrong, 0U);
}

}  // namespace
}  // namespace timingwheel::detail
