#pragma once

#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <model/TimerScenario.h>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <type_traits>
#include <vector>

/// Operations on a wheel of one's own, and a multimap that must agree with it after each, also when
/// entries change the wheel while they are handed over. Both wheels are tried: what only one of
/// them has is left out for the other.
namespace timingwheel::model::wheel {

enum class Kind {
    add,
    cancel,
    reschedule,
    advanceBy,
    advanceToNextExpiration,
    advanceClockBy,
    pushBack,  // the entry's owner stores a later deadline into its word
    takeAny,
    addAll,
    rescheduleAll,
    cancelAll,
    pushBackAll,
    whenDueAddSelf,
    whenDueMoveOther,
    whenDueCancelOther,
    whenDuePushBackOther,
    whenDueThrow,
};

inline constexpr char const* kNames[] = {"add",
                                         "cancel",
                                         "reschedule",
                                         "advanceBy",
                                         "advanceToNextExpiration",
                                         "advanceClockBy",
                                         "pushBack",
                                         "takeAny",
                                         "addAll",
                                         "rescheduleAll",
                                         "cancelAll",
                                         "pushBackAll",
                                         "whenDueAddSelf",
                                         "whenDueMoveOther",
                                         "whenDueCancelOther",
                                         "whenDuePushBackOther",
                                         "whenDueThrow"};

/// Amounts are relative to the wheel's clock, so that an operation keeps its meaning when those
/// before it are left out.
struct Operation {
    Kind kind;
    std::size_t entry;
    std::size_t other;
    std::int64_t amount;

    friend std::ostream& operator<<(std::ostream& out, Operation const& operation) {
        return out << kNames[static_cast<int>(operation.kind)] << " entry=" << operation.entry
                   << " other=" << operation.other << " amount=" << operation.amount;
    }
};

struct Setting {
    LevelSizes levelSizes;  ///< a flat wheel has the first
    Tick start;
    bool pushesBack;
    bool usesLanes;
};

inline constexpr std::size_t kEntries = 24;

struct Entry : TimerTaskEntry {
    std::size_t index = 0;
    std::optional<Operation> whenDue;
};

/// A wheel and its model, kept in step.
template <class Wheel>
class Simulation {
public:
    explicit Simulation(Setting setting)
        : setting_{setting}, entries_(kEntries), wheel_{optionsFor(setting)} {
        for (std::size_t i = 0; i < kEntries; ++i) entries_[i].index = i;
    }

    /// Throws std::logic_error when wheel and model differ.
    void run(std::vector<Operation> const& operations) {
        for (Operation const& operation : operations) {
            apply(operation);
            check();
        }
        for (Entry& entry : entries_) entry.whenDue.reset();
        if constexpr (kFlat) finishWalking();
        advanceTo(Tick::max());
        check();
        require(model_.empty(), "an entry was never handed over");
    }

private:
    static constexpr bool kFlat = std::is_same_v<Wheel, HashedWheel<Entry>>;

    static auto optionsFor(Setting const& setting) {
        if constexpr (kFlat) {
            return HashedWheelOptions{.ticksPerWheel = setting.levelSizes.front(),
                                      .start = setting.start};
        } else {
            return withLevels(TimingWheelOptions{.start = setting.start,
                                                 .lanesFrom = setting.usesLanes ? 0 : SIZE_MAX},
                              setting.levelSizes);
        }
    }

    /// A flat wheel that holds something walks every tick: not farther than this at a time.
    static constexpr std::int64_t kFarthestWalk = 5'000;

    struct Thrown {};

    static void require(bool holds, char const* what) {
        if (!holds) throw std::logic_error{what};
    }

    void apply(Operation const& operation) {
        Entry& entry = entries_[operation.entry];
        Tick const deadline = wheel_.currentTick() + operation.amount;
        switch (operation.kind) {
            case Kind::add:
                if (!entry.isQueued()) place(entry, deadline, How::add);
                break;
            case Kind::reschedule:
                place(entry, deadline, How::reschedule);
                break;
            case Kind::cancel:
                cancel(entry);
                break;
            case Kind::advanceBy:
                advanceTo(deadline);
                break;
            case Kind::advanceToNextExpiration:
                if (wheel_.nextExpiration()) advanceTo(*wheel_.nextExpiration());
                break;
            case Kind::advanceClockBy:
                advanceClock(deadline);
                break;
            case Kind::pushBack:
                pushBack(entry, operation.amount);
                break;
            case Kind::takeAny:
                takeAny();
                break;
            case Kind::addAll:
            case Kind::rescheduleAll:
            case Kind::cancelAll:
            case Kind::pushBackAll:
                if constexpr (!kFlat) applyToAll(operation);
                break;
            default:
                entry.whenDue = operation;
                break;
        }
    }

    enum class How { add, reschedule };

    void place(Entry& entry, Tick deadline, How how) {
        std::optional<Tick> const before = wheel_.nextExpiration();
        auto const placement =
            how == How::add ? wheel_.add(entry, deadline) : wheel_.reschedule(entry, deadline);
        std::optional<Tick> const after = wheel_.nextExpiration();

        forget(entry);
        require(entry.deadline() == deadline, "the deadline is not the one that was asked for");
        require(placement.isDue() == (deadline <= wheel_.currentTick()), "due, or is it not?");
        if (!placement.isDue()) model_.emplace(deadline.value(), entry.index);
        if constexpr (kFlat) {
            require(placement.isDue() || wheel_.slotOf(entry) < wheel_.allSlots().size(),
                    "no slot");
        } else {
            // While entries wait to be handed over the next expiration is the clock.
            if (wheel_.raw().hasFlushed() || before == wheel_.currentTick()) return;
        }
        require(placement.isEarliest() == (after && (!before || *after < *before)),
                "isEarliest() is not whether the next expiration has become earlier");
    }

    void cancel(Entry& entry) {
        require(wheel_.cancel(entry) == forget(entry), "cancel() does not tell the truth");
        require(!entry.isQueued(), "queued after cancel()");
    }

    void pushBack([[maybe_unused]] Entry& entry, [[maybe_unused]] std::int64_t amount) {
        if constexpr (!kFlat) {
            if (!setting_.pushesBack || amount < 0 || !entry.isQueued()) return;
            Tick const later = std::min(entry.deadline() + amount, farthest());
            if (later < entry.deadline()) return;
            forget(entry);
            if (amount % 2 == 0)
                entry.word() = TimerTaskEntry::pack(later, 5);
            else
                require(wheel_.pushBack(entry, later), "pushBack() refuses a later deadline");
            model_.emplace(later.value(), entry.index);
        }
    }

    // Beyond the reach of all levels an entry is placed again once a turn of the coarsest: as far
    // as that takes no more than some dozens of turns.
    Tick farthest() {
        std::int64_t const turn = wheel_.levels().back().interval();
        return wheel_.raw().reach() + 50 * std::min(turn, std::int64_t{1} << 50);
    }

    // A batch of up to 70 entries, of which the same one may come several times, at deadlines of
    // all lengths up to the amount.
    void applyToAll(Operation const& operation) {
        Kind const kind = operation.kind;
        if (kind == Kind::pushBackAll && !setting_.pushesBack) return;
        std::vector<Entry*> entries;
        std::vector<Tick> deadlines;
        std::size_t const count = (operation.entry * 3 + operation.other) % 71;
        for (std::size_t i = 0; i < count; ++i) {
            Entry& entry = entries_[(operation.entry + i * operation.other) % kEntries];
            bool const isNew = !entry.isQueued() &&
                               std::find(entries.begin(), entries.end(), &entry) == entries.end();
            if (kind == Kind::addAll && !isNew) continue;
            Tick const deadline = wheel_.currentTick() + (operation.amount >> (i * 11 % 60));
            entries.push_back(&entry);
            deadlines.push_back(kind == Kind::pushBackAll ? std::min(deadline, farthest())
                                                          : deadline);
        }
        if (kind == Kind::cancelAll) return cancelAll(entries);
        if (kind == Kind::pushBackAll) return pushBackAll(entries, deadlines);
        placeAll(entries, deadlines, kind);
    }

    // Each does in the model what the calls one by one would do.
    void cancelAll(std::vector<Entry*> const& entries) {
        std::size_t cancelled = 0;
        for (Entry* const entry : entries) cancelled += forget(*entry) ? 1U : 0U;
        require(wheel_.cancel(entries) == cancelled, "a batch cancels others");
    }

    void pushBackAll(std::vector<Entry*> const& entries, std::vector<Tick> const& deadlines) {
        std::size_t pushedBack = 0;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            auto const found = find(*entries[i]);
            if (found == model_.end() || deadlines[i].value() < found->first) continue;
            model_.erase(found);
            model_.emplace(deadlines[i].value(), entries[i]->index);
            ++pushedBack;
        }
        require(wheel_.pushBack(entries, deadlines) == pushedBack, "a batch pushes others back");
    }

    void placeAll(std::vector<Entry*> const& entries, std::vector<Tick> const& deadlines,
                  Kind kind) {
        std::vector<Entry*> expected;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            forget(*entries[i]);
            if (deadlines[i] <= wheel_.currentTick())
                expected.push_back(entries[i]);
            else
                model_.emplace(deadlines[i].value(), entries[i]->index);
        }
        std::vector<Entry*> due;
        auto const onDue = [&](Entry& entry) {
            require(!entry.isQueued(), "due at once, and queued");
            due.push_back(&entry);
        };
        std::size_t const returned = kind == Kind::addAll
                                         ? wheel_.add(entries, deadlines, onDue)
                                         : wheel_.reschedule(entries, deadlines, onDue);
        require(due == expected && returned == due.size(), "others of a batch are due");
    }

    void takeAny() {
        auto* const entry = static_cast<Entry*>(wheel_.raw().takeAny());
        require((entry == nullptr) == model_.empty(), "takeAny() leaves entries in the wheel");
        if (entry != nullptr) require(forget(*entry), "takeAny() takes what is in no wheel");
    }

    void advanceClock([[maybe_unused]] Tick to) {
        if constexpr (!kFlat) {
            Tick const before = wheel_.currentTick();
            Tick const clock = wheel_.raw().advanceClock(to);
            require(clock == wheel_.currentTick(), "advanceClock() does not return the clock");
            require(clock >= before, "the clock went back");
            require(clock <= std::max(to, before), "the clock went too far");
            require(clock >= to || wheel_.nextExpiration() == clock, "the clock stopped early");
        }
    }

    // Walks to what is near and takes out what is not.
    void finishWalking() {
        while (!model_.empty() &&
               model_.begin()->first <= wheel_.currentTick().value() + kFarthestWalk)
            advanceTo(Tick{model_.begin()->first});
        check();
        while (!model_.empty()) takeAny();
    }

    void advanceTo(Tick to) {
        Tick const before = wheel_.currentTick();
        if (kFlat && !wheel_.empty()) to = std::min(to, before + kFarthestWalk);
        std::size_t handedOver = 0;
        try {
            std::size_t const returned = wheel_.advanceTo(to, [&](Entry& entry) {
                ++handedOver;
                onDue(entry, std::max(to, before));
            });
            require(returned == handedOver, "advanceTo() returns another count");
        } catch (Thrown const&) {
            return;  // the next operations find the wheel in the middle of a bucket
        }
        require(wheel_.currentTick() == std::max(to, before), "the clock stands elsewhere");
        require(model_.empty() || model_.begin()->first > to.value(),
                "a due entry was not handed over");
    }

    void onDue(Entry& entry, Tick to) {
        Tick const deadline = entry.deadline();
        require(!entry.isQueued(), "handed over and queued");
        require(deadline <= to, "handed over early");
        require(deadline == wheel_.currentTick(), "the clock is not at the deadline");
        require(!model_.empty() && model_.begin()->first == deadline.value(),
                "handed over before an earlier deadline");
        // The multimap keeps equal deadlines in the order in which they came.
        require(!kFlat || model_.begin()->second == entry.index, "not in the order of arrival");
        require(forget(entry), "handed over, but was in no wheel");
        check();
        if (!entry.whenDue) return;
        Operation const operation = *entry.whenDue;
        entry.whenDue.reset();  // once: an entry that adds itself for ever would never end
        react(entry, operation);
        check();
        if (operation.kind == Kind::whenDueThrow) throw Thrown{};
    }

    void react(Entry& self, Operation const& operation) {
        Entry& other = entries_[operation.other];
        Tick const deadline = wheel_.currentTick() + operation.amount;
        switch (operation.kind) {
            case Kind::whenDueAddSelf:
                place(self, deadline, How::add);
                break;
            case Kind::whenDueMoveOther:
                place(other, deadline, How::reschedule);
                break;
            case Kind::whenDueCancelOther:
                cancel(other);
                break;
            case Kind::whenDuePushBackOther:
                pushBack(other, operation.amount);
                break;
            default:
                break;
        }
    }

    auto find(Entry const& entry) {
        return std::find_if(model_.begin(), model_.end(),
                            [&](auto const& item) { return item.second == entry.index; });
    }

    // Returns whether the model held the entry.
    bool forget(Entry const& entry) {
        auto const found = find(entry);
        if (found == model_.end()) return false;
        model_.erase(found);
        return true;
    }

    void check() const {
        require(wheel_.size() == model_.size(), "the size differs");
        require(wheel_.empty() == model_.empty(), "empty, or is it not?");
        std::optional<Tick> const next = wheel_.nextExpiration();
        if (!model_.empty())
            require(next && next->value() <= model_.begin()->first,
                    "the next expiration is later than the earliest deadline");
        std::size_t queued = 0;
        for (Entry const& entry : entries_) queued += entry.isQueued() ? 1U : 0U;
        require(queued == model_.size(), "other entries are queued");
        for (auto const& [deadline, index] : model_)
            require(entries_[index].isQueued() && entries_[index].deadline().value() == deadline,
                    "an entry is not queued, or at another deadline");
        if constexpr (kFlat)
            wheel_.checkInvariants();
        else
            wheel_.raw().checkInvariants(setting_.pushesBack ? RawTimingWheel::Deadlines::mayBeLater
                                                             : RawTimingWheel::Deadlines::asPlaced);
    }

    Setting setting_;
    std::multimap<std::int64_t, std::size_t> model_;
    std::vector<Entry> entries_;
    mutable Wheel wheel_;  // raw() is not const
};

}  // namespace timingwheel::model::wheel
