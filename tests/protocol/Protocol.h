// A model of delayed delivery on Kafka: what users, workers, the broker and bad luck may do to one
// partition, step by step. docs/decisions/0011 says what it is a model of and what it showed.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::test::kafka {

inline constexpr std::size_t kKeys = 2;
inline constexpr std::size_t kWorkers = 2;
inline constexpr std::size_t kStateRecords = 14;

// Everything of a world is bytes, without gaps: so worlds are compared as bytes.
using Byte = std::int8_t;

/// A timer as it is pending: when it is due, and the offset of the command that said so.
struct Pending {
    Byte due = 0;  // 0: it is not pending
    Byte command = 0;

    bool isPending() const { return due != 0; }
    friend bool operator==(Pending const&, Pending const&) = default;
};

using Timers = std::array<Pending, kKeys>;

/// What a user appends to the commands.
struct Command {
    enum class Kind : Byte { schedule, pushBack, cancel };
    Kind kind;
    Byte key;
    Byte due = 0;
    Byte every = 0;          // of a schedule: from one delivery to the next; 0: there is one
    bool catchesUp = false;  // or it skips times that have passed
};

/// What a command makes of the timers. For one that is not pending, push-backs and cancels are too
/// late.
void apply(Command const& command, Byte offset, Timers& timers);

/// A record of the state: a timer, or a tombstone; and beside it how far the commands are taken in.
struct StateRecord {
    enum class Fate : Byte { open, committed, aborted };
    Byte offset = 0;
    Byte key = 0;
    Pending timer;
    Byte next = 0;  // the offset behind the commands that are taken in
    Byte id = 0;    // of the transaction
    Fate fate = Fate::open;
};

/// Whose a transactional id is. Who begins as a producer with an id ends the transaction that is
/// open under it, and fences whoever had begun with it before.
enum class Id : Byte {
    worker,     // each has its own, and begins when it starts
    partition,  // who gets the partition begins with its id: so the daemon does it
};

/// What the broker knows of the transactions of an id.
struct Transaction {
    enum class Phase : Byte { none, open, committing, aborting };
    Phase phase = Phase::none;
    Byte hasState = 0;   // the state has records of it without a marker
    Byte hasOffset = 0;  // so have the group's offsets
    Byte offset = 0;
};

struct Worker {
    enum class Phase : Byte {
        dead,       // killed: its transaction may be open
        idle,       // it has no partition
        beginning,  // it has it, and begins with the partition's id
        fetching,   // it wants the committed offset
        measuring,  // it marks the end of the state
        reading,    // it reads the state up to that end
        running,    // it believes that the partition is its own
        renewing,   // so it does, and makes a new producer after an abort
    };
    /// What its transaction is about.
    enum class Work : Byte { none, takeIn, deliver, writeNext };

    Phase phase = Phase::idle;
    Byte isFenced = 0;  // another has begun with its id, or the broker has ended its transaction
    Byte generation = 0;
    Timers timers;      // its wheel
    Byte position = 0;  // in the commands
    Byte read = 0;      // in the state; without the partition, by following it
    Byte end = 0;
    Byte isOld = 0;  // what it has followed: a tombstone behind it is gone
    Work work = Work::none;
    Byte key = 0;
    Byte next = 0;  // when what it delivers is due again: 0, never
    Byte hasWritten = 0;
    Byte hasSentOffset = 0;
    Byte unanswered = 0;  // batches that it has aborted: the broker may know their sequence numbers
    Byte isDropped = 0;   // the broker took its delivery for such a batch
};

/// Which promise is broken.
enum class Wrong : Byte { nothing, takenInTwice, notPending, early, lost, stateDiffers, stuck };
inline constexpr std::string_view kTakenInTwice =
    "a command was taken in twice, or one was left out";
inline constexpr std::string_view kNotPending = "something was delivered that was not pending";
inline constexpr std::string_view kEarly = "something was delivered early";
inline constexpr std::string_view kLost = "a delivery was committed, and is not there";
inline constexpr std::string_view kStateDiffers = "the state is not what is pending";
inline constexpr std::string_view kStuck =
    "nothing more happens, and something was not taken in or is due";

/// All there is at a moment. A copy is another future.
struct World {
    Byte now = 0;
    Byte produced = 0;  // commands

    std::array<StateRecord, kStateRecords> state;
    Byte stateCount = 0;
    Byte stateEnd = 0;

    Byte committed = 0;  // the group's offset in the commands
    Byte generation = 0;
    Byte owner = -1;

    std::array<Transaction, kWorkers> transactions;  // with an id of the partition, the first alone
    std::array<Worker, kWorkers> workers;

    // What may still happen.
    Byte rebalances = 0;
    Byte kills = 0;
    Byte timeOuts = 0;
    Byte failures = 0;
    Byte disturbances = 0;
    Byte oldAnswers = 0;
    Byte follows = 0;

    // What is true, by the order in which transactions were committed.
    Timers pending;
    Byte takenIn = 0;
    Byte delivered = 0;
    Wrong wrong = Wrong::nothing;
};

/// What a worker might do wrong.
enum class Mistake {
    deliversWithoutOffset,       // the transaction of a delivery sends no offset
    asksForTheEnd,               // of the state, a broker
    believesTheGroup,            // how far the commands are taken in, and not the state
    fetchesUnstableOffset,       // while a transaction that sends one is open
    measuresLastStableOffset,    // the end of the state before the first open transaction
    measuresBeforeFetching,      // the end of the state, and then the offset
    readsUncommitted,            // the state
    deliversOutsideTransaction,  // the delivery counts at once
    dropsTombstonesEarly,        // the topic's delete.retention.ms is too short
    keepsTransactionsOpen,       // of a worker that was killed: none times out, and none is ended
    beginsLast,                  // with the partition's id, when it has read the state
    keepsProducerAfterAbort,     // so it uses sequence numbers again
    keepsNextInMemory,           // the next time of what recurs, and writes a tombstone
    writesNextAlone,             // the next time of what recurs, in a transaction of its own
    movesOnAfterAbort,           // to the next time of what recurs
    readsNothingOn,              // it takes over with what it has followed
    keepsOldCopy,  // of the state, though compaction has removed a tombstone behind it
};

/// What is tried: commands of users, and how often luck may strike.
struct Scenario {
    std::vector<Command> commands;
    Id id = Id::partition;
    Byte lastTime = 2;
    Byte rebalances = 1;
    Byte kills = 1;
    Byte timeOuts = 1;
    Byte failures = 0;      // of transactions, which are aborted
    Byte disturbances = 1;  // by one that begins, although the partition is another's by now
    Byte oldAnswers = 0;    // of a broker that was replaced, and does not know it
    Byte follows = 0;       // of one without the partition, which reads the state as far as it is
    std::vector<Mistake> mistakes{};
    std::string_view sought{};  // the promise whose breach ends the search: empty, any
};

/// What came of all courses.
struct Explored {
    std::size_t worlds = 0;
    std::size_t ends = 0;                      // worlds in which nothing more happens
    std::set<int> delivered;                   // how much, in these
    std::map<std::string, std::size_t> steps;  // how often each was taken
    std::string wrong;                         // which promise was broken first, if one was
    std::vector<std::string> course;           // the shortest way there
};

/// Goes through every interleaving. Breadth first: so a course that breaks a promise is a shortest.
///
/// - Each command is taken in once, in the order of the commands.
/// - Each delivery is of a timer that is pending then, by the commands taken in and the deliveries
///   made before it, is not early, and is there. So none is lost, none comes twice, none after its
///   cancel was confirmed, none at a time that was pushed back.
/// - What recurs is pending with its next time from then on: so its deliveries come in order.
/// - Who reads the state, once no transaction is open, finds what is pending.
/// - Where nothing more happens, all commands are taken in, and nothing is due.
Explored explore(Scenario const& scenario);

}  // namespace timingwheel::test::kafka
