#include "Protocol.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace timingwheel::test::kafka {

void apply(Command const& command, Byte offset, Timers& timers) {
    Pending& timer = timers[static_cast<std::size_t>(command.key)];
    if (command.kind == Command::Kind::cancel) {
        timer = {};
    } else if (command.kind == Command::Kind::schedule || timer.isPending()) {
        timer = {command.due, offset};
    }
}

namespace {

using Fate = StateRecord::Fate;
using TxPhase = Transaction::Phase;
using Phase = Worker::Phase;
using Work = Worker::Work;

constexpr Byte kNobody = -1;
constexpr Byte kNone = -1;

/// What happens, in words.
struct Step {
    std::string_view what;
    Byte number = kNone;
    std::size_t who = kWorkers;  // none

    std::string words() const {
        std::string words = who == kWorkers ? "" : "worker " + std::to_string(who + 1) + ": ";
        words += what;
        if (number != kNone) words += ' ' + std::to_string(number);
        return words;
    }
};

// Of what a transaction writes.
constexpr Byte kBatchOfState = 1;
constexpr Byte kBatchOfTarget = 2;

constexpr std::array<std::string_view, 7> kWrongs{"",    kTakenInTwice, kNotPending, kEarly,
                                                  kLost, kStateDiffers, kStuck};

static_assert(std::has_unique_object_representations_v<World>, "worlds are compared as bytes");

struct SameBytes {
    bool operator()(World const& one, World const& other) const {
        return std::memcmp(&one, &other, sizeof(World)) == 0;
    }
};

struct HashOfBytes {
    std::size_t operator()(World const& world) const {
        return std::hash<std::string_view>{}(
            {reinterpret_cast<char const*>(&world), sizeof(World)});
    }
};

std::size_t indexOf(Byte number) { return static_cast<std::size_t>(number); }
Byte byteOf(std::size_t number) { return static_cast<Byte>(number); }

/// The steps that are possible in a world, and what each makes of it.
class Steps {
public:
    using Take = std::function<void(World const& next, Step step)>;

    Steps(Scenario const& scenario, Take take) : scenario_(scenario), take_(std::move(take)) {}

    /// Takes each. False if there is none.
    bool from(World const& world) {
        anyStep_ = false;
        users(world);
        for (std::size_t id = 0; id < ids(); ++id) broker(world, id);
        for (std::size_t who = 0; who < kWorkers; ++who) {
            assign(world, who);
            luck(world, who);
            follow(world, who);
            recovery(world, who);
            transaction(world, who);
        }
        compaction(world);
        return anyStep_;
    }

private:
    bool mistakes(Mistake mistake) const {
        auto const& made = scenario_.mistakes;
        return std::find(made.begin(), made.end(), mistake) != made.end();
    }
    bool isOfPartition() const { return scenario_.id == Id::partition; }
    std::size_t ids() const { return isOfPartition() ? 1 : kWorkers; }
    std::size_t idOf(std::size_t who) const { return isOfPartition() ? 0 : who; }

    void take(World& next, Step step) {
        anyStep_ = true;
        if (next.wrong == Wrong::nothing) next.wrong = wrongOfState(next);
        take_(next, step);
    }

    // ---- users and time ------------------------------------------------------------------------

    void users(World const& world) {
        if (indexOf(world.produced) < scenario_.commands.size()) {
            World next = world;
            ++next.produced;
            take(next, {"a user appends command", world.produced});
        }
        if (world.now < scenario_.lastTime) {
            World next = world;
            ++next.now;
            take(next, {"the time is", next.now});
        }
    }

    // ---- the broker: group, markers, time-outs, compaction --------------------------------------

    void broker(World const& world, std::size_t id) {
        Transaction const& transaction = world.transactions[id];
        bool const isAbandoned = transaction.phase == TxPhase::open && isLeft(world, id);
        if (transaction.phase == TxPhase::open && (isAbandoned || world.timeOuts > 0)) {
            World next = world;
            if (!isAbandoned) --next.timeOuts;
            abort(next, id);
            fence(next, id);
            take(next, {"the broker ends a transaction that took too long, of id", byteOf(id)});
        }
        // A transaction ends by a marker in each partition, which come in any order.
        bool const isEnding =
            transaction.phase == TxPhase::committing || transaction.phase == TxPhase::aborting;
        if (!isEnding) return;
        if (transaction.hasState) {
            World next = world;
            markState(next, id);
            take(next, {"the state gets the marker of id", byteOf(id)});
        }
        if (transaction.hasOffset) {
            World next = world;
            markOffset(next, id);
            take(next, {"the offsets get the marker of id", byteOf(id)});
        }
    }

    /// Who opened it has died, or was fenced: it takes too long, sooner or later.
    bool isLeft(World const& world, std::size_t id) const {
        if (mistakes(Mistake::keepsTransactionsOpen)) return false;
        for (std::size_t who = 0; who < kWorkers; ++who)
            if (idOf(who) == id && !world.workers[who].isFenced &&
                world.workers[who].phase == Phase::running)
                return false;
        return true;
    }

    /// Whoever has begun with it is refused from now on.
    void fence(World& world, std::size_t id) const {
        for (std::size_t who = 0; who < kWorkers; ++who)
            if (idOf(who) == id) world.workers[who].isFenced = 1;
    }

    /// The group gives the partition to a worker. The one that had it does not know.
    void assign(World const& world, std::size_t who) {
        if (world.generation == 0 && who != 0) return;  // both are alike: half of all worlds
        bool const isFree = world.owner == kNobody;
        if (world.workers[who].phase != Phase::idle || world.owner == byteOf(who)) return;
        if (!isFree && world.rebalances == 0) return;
        World next = world;
        if (!isFree) --next.rebalances;
        next.owner = byteOf(who);
        ++next.generation;
        Worker& worker = next.workers[who];
        worker.generation = next.generation;
        worker.phase = firstOfRecovery();
        take(next, {"gets the partition", kNone, who});
    }

    static void abort(World& world, std::size_t id) {
        world.transactions[id].phase = TxPhase::aborting;
        endIfMarked(world.transactions[id]);
    }

    static void endIfMarked(Transaction& transaction) {
        if (transaction.hasState || transaction.hasOffset) return;
        transaction.phase = TxPhase::none;
        transaction.offset = 0;
    }

    static void markState(World& world, std::size_t id) {
        Transaction& transaction = world.transactions[id];
        Fate const fate =
            transaction.phase == TxPhase::committing ? Fate::committed : Fate::aborted;
        for (std::size_t i = 0; i < indexOf(world.stateCount); ++i) {
            StateRecord& record = world.state[i];
            if (record.id == byteOf(id) && record.fate == Fate::open) record.fate = fate;
        }
        transaction.hasState = 0;
        endIfMarked(transaction);
    }

    static void markOffset(World& world, std::size_t id) {
        Transaction& transaction = world.transactions[id];
        if (transaction.phase == TxPhase::committing) world.committed = transaction.offset;
        transaction.hasOffset = 0;
        endIfMarked(transaction);
    }

    /// The first offset of the state whose fate is open.
    static Byte lastStableOffset(World const& world) {
        for (std::size_t i = 0; i < indexOf(world.stateCount); ++i)
            if (world.state[i].fate == Fate::open) return world.state[i].offset;
        return world.stateEnd;
    }

    /// Removes a record that a later one of its key replaces. A tombstone that replaces nothing any
    /// more goes after delete.retention.ms, which should be longer than anybody reads the state. By
    /// then what was followed is old. Only one who reads, or has read in part, can tell a
    /// difference, so it is enough to do it then.
    void compaction(World const& world) {
        auto const& workers = world.workers;
        bool const isRead = std::any_of(workers.begin(), workers.end(), isReading);
        bool const isFollowed = std::any_of(workers.begin(), workers.end(),
                                            [](Worker const& one) { return one.read > 0; });
        if (!isRead && !isFollowed) return;
        Byte const stable = lastStableOffset(world);
        for (std::size_t i = 0; i < indexOf(world.stateCount); ++i) {
            StateRecord const& record = world.state[i];
            if (record.offset >= stable) break;
            if (record.fate == Fate::aborted) continue;
            bool const isOldTombstone = (mistakes(Mistake::dropsTombstonesEarly) || !isRead) &&
                                        !record.timer.isPending() && isFirstOfItsKey(world, i);
            if (!isReplaced(world, i, stable) && !isOldTombstone) continue;
            World next = world;
            auto const place = next.state.begin() + static_cast<std::ptrdiff_t>(i);
            std::move(place + 1, next.state.begin() + next.stateCount, place);
            --next.stateCount;
            next.state[indexOf(next.stateCount)] = {};
            if (isOldTombstone && !isRead)
                for (Worker& worker : next.workers) worker.isOld = worker.read > 0 ? 1 : 0;
            take(next, {"compaction removes from the state offset", record.offset});
        }
    }

    static bool isReading(Worker const& worker) { return worker.phase == Phase::reading; }

    static bool isReplaced(World const& world, std::size_t index, Byte stable) {
        for (std::size_t i = index + 1; i < indexOf(world.stateCount); ++i) {
            StateRecord const& later = world.state[i];
            if (later.offset >= stable) return false;
            if (later.key == world.state[index].key && later.fate == Fate::committed) return true;
        }
        return false;
    }

    static bool isFirstOfItsKey(World const& world, std::size_t index) {
        return std::none_of(
            world.state.begin(), world.state.begin() + byteOf(index),
            [&](StateRecord const& earlier) { return earlier.key == world.state[index].key; });
    }

    // ---- luck ----------------------------------------------------------------------------------

    void luck(World const& world, std::size_t who) {
        Worker const& worker = world.workers[who];
        if (worker.phase == Phase::dead) return restart(world, who);
        if (world.kills > 0 && worker.phase != Phase::idle) {
            World next = world;
            --next.kills;
            lose(next, who, Phase::dead);
            take(next, {"is killed", kNone, who});
        }
        // A paused one learns later that the partition is another's, or never.
        if (worker.phase != Phase::idle && worker.generation != world.generation) {
            World next = world;
            leave(next, who);
            take(next, {"learns that it has lost the partition", kNone, who});
        }
    }

    /// A worker that has an id of its own begins with it when it starts.
    void restart(World const& world, std::size_t who) {
        World next = world;
        if (!isOfPartition() && !canBegin(next, who)) return;
        next.workers[who].phase = Phase::idle;
        take(next, {"starts again", kNone, who});
    }

    /// Begins with the worker's id. False if it has to wait for the end of a transaction: what is
    /// open is ended.
    bool canBegin(World& world, std::size_t who) {
        std::size_t const id = idOf(who);
        TxPhase const phase = world.transactions[id].phase;
        if (phase == TxPhase::committing || phase == TxPhase::aborting) return false;
        if (phase == TxPhase::open) {
            if (mistakes(Mistake::keepsTransactionsOpen)) return false;
            World next = world;
            if (!mayDisturb(next, who)) return false;
            abort(next, id);
            fence(next, id);
            take(next, {"ends the transaction that was left open", kNone, who});
            return false;
        }
        fence(world, id);
        world.workers[who].isFenced = 0;
        return true;
    }

    /// One that does not know that the partition is another's disturbs the new owner only so often.
    /// Then it learns.
    bool mayDisturb(World& world, std::size_t who) const {
        if (!isOfPartition() || world.workers[who].generation == world.generation) return true;
        if (world.disturbances == 0) return false;
        --world.disturbances;
        return true;
    }

    /// What it had in memory is gone. The group notices.
    void lose(World& world, std::size_t who, Phase phase) const {
        Worker& worker = world.workers[who];
        if (world.owner == byteOf(who) && worker.generation == world.generation)
            world.owner = kNobody;
        Byte const isFenced = isOfPartition() ? Byte{1} : worker.isFenced;
        worker = {};
        worker.phase = phase;
        worker.isFenced = isFenced;
    }

    /// It aborts what it has begun and gives the partition up. One that was fenced, and has an id
    /// of its own, starts again.
    void leave(World& world, std::size_t who) const {
        bool const isFenced = world.workers[who].isFenced != 0;
        std::size_t const id = idOf(who);
        if (!isFenced && world.transactions[id].phase == TxPhase::open) abort(world, id);
        lose(world, who, isFenced && !isOfPartition() ? Phase::dead : Phase::idle);
    }

    // ---- a worker follows the state of another's partition --------------------------------------

    /// All that is committed, up to what is open. More of it is the same, but later.
    void follow(World const& world, std::size_t who) {
        Worker const& worker = world.workers[who];
        Byte const stable = lastStableOffset(world);
        if (world.follows == 0 || worker.phase != Phase::idle || world.owner == byteOf(who) ||
            worker.read >= stable)
            return;
        World next = world;
        --next.follows;
        Worker& follower = next.workers[who];
        dropIfOld(follower);
        for (StateRecord const& record : world.state)
            if (record.fate == Fate::committed && record.offset >= follower.read &&
                record.offset < stable)
                takeRecord(record, follower);
        follower.read = stable;
        take(next, {"follows the state up to", stable, who});
    }

    void dropIfOld(Worker& worker) const {
        if (!worker.isOld || mistakes(Mistake::keepsOldCopy)) return;
        worker.timers = {};
        worker.read = worker.isOld = 0;
    }

    void takeRecord(StateRecord const& record, Worker& reader) const {
        reader.timers[indexOf(record.key)] = record.timer;
        if (!mistakes(Mistake::believesTheGroup))
            reader.position = std::max(reader.position, record.next);
    }

    // ---- a worker takes over -------------------------------------------------------------------

    /// In this order, or in that of a mistake.
    std::array<Phase, 5> recoveryOrder() const {
        using enum Worker::Phase;
        std::array order{beginning, fetching, measuring, reading, running};
        if (mistakes(Mistake::measuresBeforeFetching)) std::swap(order[1], order[2]);
        if (mistakes(Mistake::beginsLast))
            std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
        return order;
    }

    /// Who has an id of its own has begun with it already.
    Phase firstOfRecovery() const {
        Phase const first = recoveryOrder().front();
        return first == Phase::beginning && !isOfPartition() ? after(first) : first;
    }

    Phase after(Phase phase) const {
        auto const order = recoveryOrder();
        return *(std::find(order.begin(), order.end(), phase) + 1);
    }

    void recovery(World const& world, std::size_t who) {
        switch (world.workers[who].phase) {
            case Phase::beginning:
                return begin(world, who);
            case Phase::fetching:
                return fetch(world, who);
            case Phase::measuring:
                return measure(world, who);
            case Phase::reading:
                return read(world, who);
            case Phase::renewing:
                return renew(world, who);
            default:
                return;
        }
    }

    void begin(World const& world, std::size_t who) {
        World next = world;
        if (!canBegin(next, who)) return;
        next.workers[who].phase = after(Phase::beginning);
        take(next, {"begins with the partition's id", kNone, who});
    }

    /// A new producer has a new epoch. Everybody else is fenced, also the new owner; what this one
    /// keeps in memory may be old by now.
    void renew(World const& world, std::size_t who) {
        World next = world;
        if (!canBegin(next, who)) return;
        next.workers[who].phase = Phase::running;
        take(next, {"makes a new producer", kNone, who});
    }

    /// The committed offset, for which it waits while a transaction that sends one is not over. A
    /// broker that was replaced does not know of that transaction.
    void fetch(World const& world, std::size_t who) {
        World next = world;
        Worker& worker = next.workers[who];
        Byte const followed = worker.position;
        worker.phase = after(Phase::fetching);
        bool const isStable =
            std::none_of(world.transactions.begin(), world.transactions.end(),
                         [](Transaction const& one) { return one.hasOffset != 0; });
        if (isStable || mistakes(Mistake::fetchesUnstableOffset)) {
            worker.position = std::max(followed, world.committed);
            take(next, {"fetches the offset", world.committed, who});
        }
        if (world.oldAnswers == 0) return;
        --next.oldAnswers;
        for (Byte old = 0; old <= world.committed; ++old) {
            worker.position = std::max(followed, old);
            take(next, {"fetches of a broker that was replaced the offset", old, who});
        }
    }

    void measure(World const& world, std::size_t who) {
        World next = world;
        Worker& worker = next.workers[who];
        worker.end =
            mistakes(Mistake::measuresLastStableOffset) ? lastStableOffset(world) : world.stateEnd;
        if (mistakes(Mistake::readsNothingOn) && worker.read > 0) worker.end = worker.read;
        worker.phase = after(Phase::measuring);
        take(next, {"takes for the end of the state", worker.end, who});
        if (!mistakes(Mistake::asksForTheEnd) || world.oldAnswers == 0) return;
        --next.oldAnswers;
        for (Byte old = 0; old < world.stateEnd; ++old) {
            worker.end = old;
            take(next, {"is told by a broker that was replaced the end of the state", old, who});
        }
    }

    /// One record, or the end. It goes on where it has followed.
    void read(World const& world, std::size_t who) {
        World next = world;
        Worker& reader = next.workers[who];
        dropIfOld(reader);
        auto const records = std::span{world.state}.first(indexOf(world.stateCount));
        auto const record =
            std::find_if(records.begin(), records.end(),
                         [&](StateRecord const& one) { return one.offset >= reader.read; });
        if (record == records.end() || record->offset >= reader.end) {
            reader.phase = after(Phase::reading);
            reader.read = reader.end = reader.isOld = 0;
            return take(next, {"has read the state", kNone, who});
        }
        bool const reads = record->fate == Fate::committed || mistakes(Mistake::readsUncommitted);
        if (record->fate == Fate::open && !reads) return;  // it waits for the marker
        if (reads) takeRecord(*record, reader);
        reader.read = static_cast<Byte>(record->offset + 1);
        take(next, {"reads of the state offset", record->offset, who});
    }

    // ---- a worker's transactions ---------------------------------------------------------------

    void transaction(World const& world, std::size_t who) {
        Worker const& worker = world.workers[who];
        if (worker.phase != Phase::running) return;
        if (worker.work != Work::none) return proceed(world, who);
        // The next begins when the one before it is over.
        if (!worker.isFenced && world.transactions[idOf(who)].phase != TxPhase::none) return;
        if (worker.next != 0) return beginWork(world, who, Work::writeNext, worker.key);
        if (worker.position < world.produced)
            beginWork(world, who, Work::takeIn, scenario_.commands[indexOf(worker.position)].key);
        for (std::size_t key = 0; key < kKeys; ++key) {
            Pending const& timer = worker.timers[key];
            if (timer.isPending() && timer.due <= world.now)
                beginWork(world, who, Work::deliver, byteOf(key));
        }
    }

    void beginWork(World const& world, std::size_t who, Work work, Byte key) {
        World begun = world;
        if (isRefused(begun, who)) return;
        begun.workers[who].work = work;
        begun.workers[who].key = key;
        begun.transactions[idOf(who)].phase = TxPhase::open;
        proceed(begun, who);
    }

    /// A client sends records when it likes, at the latest before it commits: so records and offset
    /// arrive in any order.
    void proceed(World const& world, std::size_t who) {
        World checked = world;
        if (isRefused(checked, who)) return;
        Worker const& worker = world.workers[who];
        bool const sendsOffset =
            worker.work == Work::takeIn || !mistakes(Mistake::deliversWithoutOffset);
        if (world.failures > 0) fail(world, who);
        if (!worker.hasWritten) {
            write(world, who, 0);
            bool const delivers = worker.work == Work::deliver;
            if ((worker.unanswered & kBatchOfState) != 0) write(world, who, kBatchOfState);
            if ((worker.unanswered & kBatchOfTarget) != 0 && delivers)
                write(world, who, kBatchOfTarget);
        }
        if (!worker.hasSentOffset && sendsOffset) sendOffset(world, who);
        if (worker.hasWritten && (worker.hasSentOffset || !sendsOffset)) commit(world, who);
    }

    /// It is aborted, whatever it failed by. What was written may be unanswered.
    void fail(World const& world, std::size_t who) {
        World next = world;
        --next.failures;
        abort(next, idOf(who));
        Worker& worker = next.workers[who];
        if (!mistakes(Mistake::keepsProducerAfterAbort))
            worker.phase = Phase::renewing;
        else if (worker.hasWritten)
            worker.unanswered =
                worker.work == Work::deliver ? Byte{kBatchOfState | kBatchOfTarget} : kBatchOfState;
        if (mistakes(Mistake::movesOnAfterAbort) && worker.next != 0)
            worker.timers[indexOf(worker.key)].due = worker.next;
        endWork(worker);
        take(next, {"aborts a transaction that has failed", kNone, who});
    }

    /// A batch whose sequence numbers the broker has seen is taken for the old one: the broker says
    /// yes, and writes nothing.
    void write(World const& world, std::size_t who, Byte takenForOld) {
        World next = world;
        Worker& worker = next.workers[who];
        bool const takesIn = worker.work == Work::takeIn;
        if (worker.work == Work::deliver) worker.next = nextOf(worker, world.now);
        bool const recurs = worker.work == Work::deliver && worker.next != 0;
        Pending timer = takesIn ? takenIn(worker)[indexOf(worker.key)] : whatFollows(worker);
        if (recurs && mistakes(Mistake::keepsNextInMemory)) timer = {};
        bool const writesState = !(recurs && mistakes(Mistake::writesNextAlone));
        if (takenForOld != kBatchOfState && writesState) {
            assert(indexOf(next.stateCount) < kStateRecords);
            next.state[indexOf(next.stateCount)] = {
                next.stateEnd,      worker.key,        timer,
                nextOffset(worker), byteOf(idOf(who)), Fate::open};
            ++next.stateCount;
            ++next.stateEnd;
            next.transactions[idOf(who)].hasState = 1;
        }
        worker.hasWritten = 1;
        worker.unanswered = 0;
        if (takenForOld == kBatchOfTarget) worker.isDropped = 1;
        if (takenForOld != 0)
            return take(next, {"the broker takes a new batch for an old one", kNone, who});
        if (takesIn)
            return take(next,
                        {"writes to the state what it makes of command", worker.position, who});
        if (worker.work == Work::writeNext)
            return take(next, {"writes the next time alone of timer", worker.key, who});
        if (mistakes(Mistake::deliversOutsideTransaction)) deliver(next, worker);
        take(next, {recurs ? "writes a delivery and the next time of timer"
                           : "writes a delivery and the tombstone of timer",
                    worker.key, who});
    }

    void sendOffset(World const& world, std::size_t who) {
        World next = world;
        Worker& worker = next.workers[who];
        if (worker.generation != next.generation) {
            leave(next, who);
            return take(next, {"is refused: another has the partition", kNone, who});
        }
        Transaction& transaction = next.transactions[idOf(who)];
        transaction.hasOffset = 1;
        transaction.offset = nextOffset(worker);
        worker.hasSentOffset = 1;
        take(next, {"sends the offset", transaction.offset, who});
    }

    void commit(World const& world, std::size_t who) {
        World next = world;
        Worker& worker = next.workers[who];
        next.transactions[idOf(who)].phase = TxPhase::committing;
        if (worker.work == Work::takeIn) {
            if (next.takenIn != worker.position) next.wrong = Wrong::takenInTwice;
            apply(scenario_.commands[indexOf(worker.position)], worker.position, next.pending);
            ++next.takenIn;
            worker.timers = takenIn(worker);
            ++worker.position;
        } else {
            bool const delivers = worker.work == Work::deliver;
            if (delivers && !mistakes(Mistake::deliversOutsideTransaction)) deliver(next, worker);
            worker.timers[indexOf(worker.key)] = whatFollows(worker);
            if (delivers && worker.next != 0 && mistakes(Mistake::writesNextAlone)) {
                Byte const key = worker.key, due = worker.next;
                endWork(worker);
                worker.key = key;
                worker.next = due;
                return take(next, {"commits", kNone, who});
            }
        }
        endWork(worker);
        take(next, {"commits", kNone, who});
    }

    static void endWork(Worker& worker) {
        worker.work = Work::none;
        worker.key = worker.next = worker.hasWritten = worker.hasSentOffset = worker.isDropped = 0;
    }

    /// When the timer that it delivers is due again. Its rule is that of the last schedule.
    Byte nextOf(Worker const& worker, Byte now) const {
        Pending const& timer = worker.timers[indexOf(worker.key)];
        auto const isRule = [&](Command const& command) {
            return command.key == worker.key && command.kind == Command::Kind::schedule;
        };
        auto const first =
            std::make_reverse_iterator(scenario_.commands.begin() + timer.command + 1);
        auto const rule = std::find_if(first, scenario_.commands.rend(), isRule);
        if (rule->every == 0) return 0;
        Byte due = timer.due;
        do due = static_cast<Byte>(due + rule->every);
        while (!rule->catchesUp && due <= now);
        return due;
    }

    /// What its work leaves of the timer: the next time, or nothing.
    static Pending whatFollows(Worker const& worker) {
        if (worker.next == 0) return {};
        return {worker.next, worker.timers[indexOf(worker.key)].command};
    }

    static Byte nextOffset(Worker const& worker) {
        return static_cast<Byte>(worker.position + (worker.work == Work::takeIn ? 1 : 0));
    }

    Timers takenIn(Worker const& worker) const {
        Timers timers = worker.timers;
        apply(scenario_.commands[indexOf(worker.position)], worker.position, timers);
        return timers;
    }

    static void deliver(World& world, Worker const& worker) {
        Pending& pending = world.pending[indexOf(worker.key)];
        Pending const& timer = worker.timers[indexOf(worker.key)];
        if (timer != pending) world.wrong = Wrong::notPending;
        if (pending.due > world.now) world.wrong = Wrong::early;
        if (worker.isDropped) world.wrong = Wrong::lost;
        pending = whatFollows(worker);
        ++world.delivered;
    }

    /// The broker refuses one that was fenced. With an id of its own it starts again. With the
    /// partition's it begins anew, also if the partition is another's and it does not know.
    bool isRefused(World& world, std::size_t who) {
        Worker& worker = world.workers[who];
        if (!worker.isFenced) return false;
        if (!isOfPartition()) {
            lose(world, who, Phase::dead);
            take(world, {"is fenced", kNone, who});
            return true;
        }
        if (!mayDisturb(world, who)) return true;
        bool const isOwner = worker.generation == world.generation;
        Byte const generation = worker.generation;
        worker = {};
        worker.isFenced = 1;
        worker.generation = generation;
        worker.phase = firstOfRecovery();
        take(world, {isOwner ? "is fenced, and begins anew"
                             : "is fenced, and begins anew, though another has the partition",
                     kNone, who});
        return true;
    }

    // ---- what must be true at any moment -------------------------------------------------------

    static Wrong wrongOfState(World const& world) {
        for (Transaction const& transaction : world.transactions)
            if (transaction.phase != TxPhase::none) return Wrong::nothing;
        Timers state;
        for (std::size_t i = 0; i < indexOf(world.stateCount); ++i)
            if (world.state[i].fate == Fate::committed)
                state[indexOf(world.state[i].key)] = world.state[i].timer;
        return state == world.pending ? Wrong::nothing : Wrong::stateDiffers;
    }

    Scenario const& scenario_;
    Take take_;
    bool anyStep_ = false;
};

bool isFinished(World const& world, Scenario const& scenario) {
    return indexOf(world.takenIn) == scenario.commands.size() &&
           std::none_of(world.pending.begin(), world.pending.end(), [&](Pending const& timer) {
               return timer.isPending() && timer.due <= world.now;
           });
}

}  // namespace

Explored explore(Scenario const& scenario) {
    struct Way {
        std::size_t from;
        Step step;
    };
    Explored explored;
    std::unordered_set<World, HashOfBytes, SameBytes> seen;
    std::vector<World const*> worlds;  // in the order in which they were found
    std::vector<Way> ways;

    auto const find = [&](World const& world, std::size_t from, Step step) {
        ++explored.steps[std::string{step.what}];
        auto const [place, isNew] = seen.insert(world);
        if (!isNew) return;
        worlds.push_back(&*place);
        ways.push_back({from, step});
    };
    auto const isSought = [&](Wrong wrong) {
        std::string_view const words = kWrongs[static_cast<std::size_t>(wrong)];
        return !words.empty() && (scenario.sought.empty() || scenario.sought == words);
    };
    World start;
    start.rebalances = scenario.rebalances;
    start.kills = scenario.kills;
    start.timeOuts = scenario.timeOuts;
    start.failures = scenario.failures;
    start.disturbances = scenario.disturbances;
    start.oldAnswers = scenario.oldAnswers;
    start.follows = scenario.follows;
    if (scenario.id == Id::partition)
        for (Worker& worker : start.workers) worker.isFenced = 1;  // it has not begun
    find(start, 0, {"it begins"});

    std::size_t at = 0;
    Wrong wrong = Wrong::nothing;
    for (; at < worlds.size(); ++at) {
        World const& world = *worlds[at];
        wrong = world.wrong;
        if (isSought(wrong)) break;
        if (wrong != Wrong::nothing) continue;
        Steps steps{scenario, [&](World const& next, Step step) { find(next, at, step); }};
        if (steps.from(world)) continue;
        ++explored.ends;
        explored.delivered.insert(world.delivered);
        if (!isFinished(world, scenario)) {
            wrong = Wrong::stuck;
            if (isSought(wrong)) break;
        }
    }
    explored.worlds = worlds.size();
    if (at < worlds.size()) {
        explored.wrong = kWrongs[static_cast<std::size_t>(wrong)];
        for (; at != 0; at = ways[at].from) explored.course.push_back(ways[at].step.words());
        std::reverse(explored.course.begin(), explored.course.end());
    }
    return explored;
}

}  // namespace timingwheel::test::kafka
