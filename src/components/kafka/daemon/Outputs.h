#pragma once

#include "components/kafka/daemon/PendingTimer.h"
#include "components/kafka/daemon/Record.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// A record with bytes of its own.
struct OwnRecord {
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;

    static OwnRecord of(Record const& record);
};

/// What became of commands, and of what was due.
struct Tally {
    std::uint64_t scheduled = 0;
    std::uint64_t pushedBack = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t tooLate = 0;
    std::uint64_t refused = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;  // deliveries, and rules, that went to the dead letters
    std::uint64_t lost = 0;    // commands that retention has removed
};

/// What a transaction writes, in this order. It is kept until the transaction is committed, because
/// one that was aborted is made again.
struct Output {
    enum class Kind {
        state,       // a timer as it is now
        tombstone,   // it is pending no more
        delivery,    // to the timer's topic
        recurrence,  // of a timer that is delivered: as it is now, with its next time
        reply,
        deadLetter,
        nothing,  // it was given up, or only counts
    };

    Kind kind;
    PendingTimer const* timer = nullptr;  // of state, tombstone, delivery, recurrence
    std::int64_t at = 0;                  // the timer's, when the output was added
    std::unique_ptr<OwnRecord> record;    // of reply, deadLetter
    std::int64_t next = 0;                // the offset behind the commands up to this
    std::uint32_t step = 0;               // what belongs together has the same, and stands together
    std::int64_t offset = -1;             // of state, once it is committed: where it stands there
    std::uint64_t Tally::*countsAs = nullptr;  // once it is committed
    std::uint64_t count = 1;

    /// Keeps its place and step.
    void turnInto(Kind newKind, std::unique_ptr<OwnRecord> newRecord = {}) {
        kind = newKind;
        timer = nullptr;
        record = std::move(newRecord);
    }
};

class Outputs {
public:
    /// What follows is of one command, or of one timer that is due. A transaction has all of it, or
    /// nothing. `next` is the offset behind the commands that were taken in.
    void beginStep(std::int64_t next) {
        next_ = next;
        ++step_;
    }
    void state(PendingTimer const& timer) { add(Output::Kind::state, &timer); }
    /// Keeps the timer until the end of the transaction.
    void tombstone(PendingTimer::Owner timer) {
        add(Output::Kind::tombstone, timer.get());
        keep(std::move(timer));
    }
    /// A tombstone or a recurrence follows in the same step.
    void delivery(PendingTimer const& timer) { add(Output::Kind::delivery, &timer); }
    void recurrence(PendingTimer const& timer) { add(Output::Kind::recurrence, &timer); }
    void reply(OwnRecord record) { add(Output::Kind::reply, std::move(record)); }
    void deadLetter(OwnRecord record) { add(Output::Kind::deadLetter, std::move(record)); }
    void nothing() {
        outputs_.push_back({Output::Kind::nothing, nullptr, 0, nullptr, next_, step_});
    }
    /// The last output counts as this.
    void countAs(std::uint64_t Tally::*what) { outputs_.back().countsAs = what; }
    /// Commands that retention has removed: they count once `next` is committed.
    void lost(std::uint64_t count, std::int64_t next) {
        beginStep(next);
        nothing();
        countAs(&Tally::lost);
        outputs_.back().count = count;
    }
    /// A timer that an earlier output names.
    void keep(PendingTimer::Owner timer) {
        if (timer) kept_.push_back(std::move(timer));
    }

    std::vector<Output>& all() noexcept { return outputs_; }
    std::vector<Output> const& all() const noexcept { return outputs_; }
    bool empty() const noexcept { return outputs_.empty(); }
    void clear() noexcept {
        outputs_.clear();
        kept_.clear();
    }

private:
    void add(Output::Kind kind, PendingTimer const* timer) {
        outputs_.push_back({kind, timer, timer->at, nullptr, next_, step_});
    }
    void add(Output::Kind kind, OwnRecord record) {
        outputs_.push_back(
            {kind, nullptr, 0, std::make_unique<OwnRecord>(std::move(record)), next_, step_});
    }

    std::vector<Output> outputs_;
    std::vector<PendingTimer::Owner> kept_;
    std::int64_t next_ = 0;
    std::uint32_t step_ = 0;
};

}  // namespace timingwheel::inline v1::kafka
