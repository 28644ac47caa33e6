#pragma once

#include <timingwheel/wheel/TimingWheel.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Replays traces recorded from Kafka's own classes (`tests/golden/*.trace`).
///
/// A replay takes from each line only what was *done* (an id, an absolute expiration, the time that
/// the clock was set to, which bucket came next), does the same to the wheel, and writes down what
/// the wheel did in the same format. A trace is matched when every line comes out as it stands in
/// the file; only `armed=` is left out, because Kafka keeps an emptied bucket in its delay queue.
///
/// Kafka rounds an expiration down to its tick, so the wheel is fed floor(expiration / tick), and
/// what it answers is multiplied back. Of two buckets with the same expiration Kafka takes either
/// first, so all buckets of one expiration are taken out together, and their entries are placed
/// again in the order in which the trace has the buckets.
namespace timingwheel::test {

using Lines = std::vector<std::string>;

inline Lines linesOf(std::string const& path) {
    std::ifstream file{path};
    if (!file) throw std::runtime_error{"cannot read " + path};
    Lines lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// The first line that did not come out as it stands in the trace; numbered from 1.
struct Difference {
    std::size_t line;
    std::string expected;
    std::string actual;

    friend std::ostream& operator<<(std::ostream& out, Difference const& difference) {
        return out << "line " << difference.line << ": expected \"" << difference.expected
                   << "\", was \"" << difference.actual << '"';
    }
};

class GoldenTrace {
public:
    enum class Invariants { checkedAfterEveryLine, unchecked };

    /// Whether the wheel is given one size, or that size for each of its first levels.
    enum class Sizes { one, listed };

    explicit GoldenTrace(Invariants invariants, Sizes sizes = Sizes::one)
        : invariants_{invariants}, sizes_{sizes} {}

    /// Returns the first difference, or nothing when the wheel matches the whole trace.
    static std::optional<Difference> replay(Lines const& lines, Invariants invariants,
                                            Sizes sizes = Sizes::one) {
        GoldenTrace trace{invariants, sizes};
        for (std::string const& line : lines)
            if (std::optional<Difference> difference = trace.take(line)) return difference;
        return trace.end();
    }

    /// The same line by line: how the next one differs, if it does. The first must be a config.
    std::optional<Difference> take(std::string const& line) {
        ++lines_;
        std::string const expected = withoutArmed(line);
        std::string const actual = follow(line);
        if (actual != expected) return Difference{lines_, expected, actual};
        if (invariants_ == Invariants::checkedAfterEveryLine) wheel_->checkInvariants();
        return std::nullopt;
    }

    /// After the last line.
    std::optional<Difference> end() const {
        if (!done_) return Difference{lines_ + 1, "(the end)", "no line says done"};
        return std::nullopt;
    }

private:
    enum class State { added, fired, cancelled };
    struct Task : TimerTaskEntry {
        std::int64_t id = 0;
        State state = State::added;
    };
    using Place = std::pair<std::int64_t, std::int64_t>;  // level, slot

    static std::string withoutArmed(std::string line) {
        std::size_t const armed = line.find(" armed=");
        if (armed != std::string::npos) line.erase(armed, line.find(' ', armed + 1) - armed);
        return line;
    }

    static std::int64_t number(std::istream& in) {
        std::int64_t value = 0;
        if (!(in >> value)) throw std::runtime_error{"a number is missing in the trace"};
        return value;
    }

    static std::int64_t setting(std::istream& in) {
        in.ignore(32, '=');
        return number(in);
    }

    std::string follow(std::string const& line) {
        std::istringstream in{line};
        std::string event;
        in >> event;
        // What the wheel did already comes first: whatever the trace says instead is a difference.
        if (!did_.empty()) return takeFirstDone();
        if (event == "config") return config(in);
        if (event == "add" || event == "readd") return add(in);
        if (event == "cancel") return cancel(in);
        if (event == "advance") return advance(in);
        if (event == "flush") return flush(in);
        if (event == "end") return endOfAdvance();
        if (event == "done") return done();
        return "nothing";
    }

    std::string takeFirstDone() {
        std::string first = did_.front();
        did_.pop_front();
        return first;
    }

    std::string config(std::istream& in) {
        tick_ = setting(in);
        std::int64_t const wheelSize = setting(in);
        std::int64_t const start = setting(in);
        TimingWheelOptions options{.start = Tick{start / tick_}};
        if (sizes_ == Sizes::one)
            options.wheelSize = wheelSize;
        else
            options.levelSizes = {wheelSize, wheelSize, wheelSize};
        wheel_.emplace(std::move(options));
        std::ostringstream out;
        out << "config tick=" << tick_ << " wheelSize=" << wheel_->levels().front().size()
            << " start=" << start;
        return out.str();
    }

    std::string add(std::istream& in) {
        std::int64_t const id = number(in);
        std::int64_t const expiration = number(in);
        auto const [found, isNew] = tasks_.try_emplace(id);
        Task& task = found->second;
        task.id = id;
        task.state = State::added;
        Placement const placement = wheel_->reschedule(task, Tick{expiration / tick_});

        std::ostringstream out;
        out << (isNew ? "add " : "readd ") << id << ' ' << expiration;
        if (placement.isDue()) {
            out << " expired";
            fire(task);
        } else {
            out << " queued" << where(placement);
        }
        out << " size=" << wheel_->size();
        return out.str();
    }

    std::string cancel(std::istream& in) {
        Task& task = tasks_.at(number(in));
        std::ostringstream out;
        out << "cancel " << task.id << ' ';
        if (wheel_->cancel(task))
            out << "queued";
        else
            out << (task.state == State::fired ? "fired" : "cancelled");
        task.state = State::cancelled;  // also one that had fired
        out << " size=" << wheel_->size();
        return out.str();
    }

    std::string advance(std::istream& in) {
        now_ = number(in);
        firedInThisAdvance_ = 0;
        return "advance " + std::to_string(now_);
    }

    std::string flush(std::istream& in) {
        std::int64_t const level = number(in);
        std::int64_t const slot = number(in);
        std::int64_t const expiration = number(in);
        bool const listsTasks = !(in >> std::ws).eof();
        if (expiration > now_) return "nothing expires after " + std::to_string(now_);

        Tick const tick{expiration / tick_};
        RawTimingWheel& raw = wheel_->raw();
        if (!isWhereASlotBegins(level, slot, tick)) return "no bucket of that slot expires then";
        if (!listsTasks)
            raw.advanceClock(tick);
        else if (std::optional<Tick> const other = takeOutAll(tick))
            return "a bucket has expired at " + std::to_string(other->value() * tick_);

        std::ostringstream out;
        out << "flush " << level << ' ' << slot << ' ' << raw.currentTick().value() * tick_;
        for (Task* task : takenOut_[{level, slot}]) out << ' ' << task->id;
        if (!listsTasks) listEntries(out, level, slot);
        for (Task* task : takenOut_[{level, slot}]) placeAgain(*task);
        takenOut_.erase({level, slot});
        return out.str();
    }

    // Of a bucket that the trace has as empty, the wheel need not know any more that it was armed.
    bool isWhereASlotBegins(std::int64_t number, std::int64_t slot, Tick expiration) {
        if (static_cast<std::size_t>(number) >= wheel_->levels().size()) return false;
        TimingWheelLevel const& level = wheel_->levels()[static_cast<std::size_t>(number)];
        std::int64_t const slots = expiration.value() / level.granularity();
        return slots * level.granularity() == expiration.value() &&
               slots % wheel_->levels().front().size() == slot;
    }

    // All buckets of one expiration; returns that of another one that held tasks.
    std::optional<Tick> takeOutAll(Tick expiration) {
        RawTimingWheel& raw = wheel_->raw();
        while (TimerTaskList const* const flush = raw.flush(expiration)) {
            if (raw.hasFlushed() && raw.currentTick() != expiration) return raw.currentTick();
            std::vector<Task*>& tasks = takenOut_[{flush->level(), flush->slot()}];
            while (raw.hasFlushed()) tasks.push_back(static_cast<Task*>(&raw.takeFlushed()));
        }
        return std::nullopt;
    }

    // A bucket that the trace has as empty.
    void listEntries(std::ostream& out, std::int64_t level, std::int64_t slot) const {
        auto const buckets = wheel_->levels()[static_cast<std::size_t>(level)].buckets();
        buckets[static_cast<std::size_t>(slot)].forEach(
            [&](TimerTaskEntry const& entry) { out << ' ' << static_cast<Task const&>(entry).id; });
    }

    void placeAgain(Task& task) {
        Placement const placement = wheel_->raw().place(task);
        if (placement.isDue())
            fire(task);
        else
            did_.push_back("move " + std::to_string(task.id) + where(placement));
    }

    void fire(Task& task) {
        task.state = State::fired;
        ++fired_;
        ++firedInThisAdvance_;
        did_.push_back("fire " + std::to_string(task.id));
    }

    std::string endOfAdvance() const {
        for (auto const& [place, tasks] : takenOut_)
            if (!tasks.empty())
                return "a bucket of level " + std::to_string(place.first) + " has expired too";
        std::optional<Tick> const next = wheel_->nextExpiration();
        if (next && *next <= Tick{now_ / tick_})
            return "a bucket has expired at " + std::to_string(next->value() * tick_);

        std::ostringstream out;
        out << "end fired=" << firedInThisAdvance_ << " size=" << wheel_->size() << " clocks=";
        char const* separator = "";
        for (TimingWheelLevel const& level : wheel_->levels()) {
            out << separator << level.clock() * tick_;
            separator = ",";
        }
        return out.str();
    }

    std::string done() {
        done_ = true;
        std::ostringstream out;
        out << "done tasks=" << tasks_.size() << " fires=" << fired_
            << " levels=" << wheel_->levels().size();
        return out.str();
    }

    std::string where(Placement const& placement) const {
        std::ostringstream out;
        out << ' ' << placement.bucket().level() << ' ' << placement.bucket().slot() << ' '
            << placement.bucket().expiration() * tick_;
        return out.str();
    }

    Invariants invariants_;
    Sizes sizes_;
    std::size_t lines_ = 0;
    std::map<std::int64_t, Task> tasks_;
    std::optional<TimingWheel<Task>> wheel_;  // dies before the tasks
    std::map<Place, std::vector<Task*>> takenOut_;
    std::deque<std::string> did_;
    std::int64_t tick_ = 1;
    std::int64_t now_ = 0;
    std::size_t fired_ = 0;
    std::size_t firedInThisAdvance_ = 0;
    bool done_ = false;
};

/// Replays one line of `tests/golden/placements-t1-w20.txt`: a task alone in a wheel of 20 slots,
/// its clock moved from bucket to bucket. Returns the line as the wheel would write it.
inline std::string placementsOf(std::int64_t delay) {
    TimerTaskEntry entry;
    TimingWheel<TimerTaskEntry> wheel{{.wheelSize = 20}};
    std::ostringstream out;
    out << delay;
    Placement placement = wheel.add(entry, Tick{delay});
    while (!placement.isDue()) {
        TimerTaskList const& bucket = placement.bucket();
        out << ' ' << bucket.level() << ':' << bucket.slot() << '@' << bucket.expiration();
        wheel.raw().flush(*wheel.nextExpiration());
        placement = wheel.raw().place(wheel.raw().takeFlushed());
    }
    out << " fires " << wheel.currentTick();
    return out.str();
}

}  // namespace timingwheel::test
