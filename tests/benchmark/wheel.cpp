#include <timingwheel/wheel/TimingWheel.h>

#include <CLI/CLI.hpp>
#include <boost/asio/detail/timer_queue.hpp>
#include <boost/asio/detail/wait_op.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

// What the hierarchical wheel costs, against the floor of what memory allows and against the
// containers that one would take instead. One thread, ticks of 1 ms, deadlines uniform up to a
// minute ahead, entries of 40 bytes that are not met in the order in which they lie in memory.
//
// All contenders take turns within every round, so that a busy machine is unfair to none of them.
// The figures are nanoseconds per operation: the median of the rounds, and half the distance
// between the quartiles. Compare ratios, not nanoseconds.
//
// Another contender is one more class with the members of Wheel, and one more line in main().

namespace {

using timingwheel::Tick;

constexpr std::int64_t kFarthest = 60'000;

enum Workload { kReschedule, kFill, kExpireTicks, kExpireJumps, kMixed, kShort, kNext, kWorkloads };

constexpr std::array<char const*, kWorkloads> kNames{
    "W1 reschedule", "W2 fill", "W3a by tick", "W3b by jump", "W4 90/10", "W7 short", "next()",
};

struct Settings {
    std::size_t pending = 1'000'000;
    std::size_t operations = 0;
    std::int64_t wheelSize = 20;
    int rounds = 9;
    std::uint64_t seed = 1;
    std::vector<std::string> only;
};

/// What is done, the same for all: made before anything is measured.
struct Script {
    struct Step {
        std::uint32_t entry;
        std::uint32_t delay;
    };

    explicit Script(Settings const& settings) : order(settings.pending) {
        std::mt19937_64 random{settings.seed};
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), random);
        auto const below = [&](std::size_t bound) {
            return static_cast<std::uint32_t>(random() % bound);
        };
        for (std::uint32_t entry : order) fill.push_back({entry, 1 + below(kFarthest)});
        auto const turn = static_cast<std::size_t>(settings.wheelSize - 1);
        for (std::size_t i = 0; i < settings.operations; ++i) {
            moves.push_back({below(settings.pending), 1 + below(kFarthest)});
            shortDelays.push_back(1 + below(turn));
        }
    }

    std::vector<std::uint32_t> order;
    std::vector<Step> fill;
    std::vector<Step> moves;
    std::vector<std::uint32_t> shortDelays;
};

// ---- contenders -------------------------------------------------------------------------------

/// The wheel of the library.
class Wheel {
public:
    static constexpr char const* kName = "TimingWheel";

    explicit Wheel(Settings const& settings)
        : entries_(settings.pending), wheel_{{.wheelSize = settings.wheelSize}} {}
    ~Wheel() {
        while (wheel_.base().takeAny() != nullptr) {
        }
    }

    std::int64_t now() const { return wheel_.currentTick().value(); }
    void schedule(std::size_t i, std::int64_t deadline) { wheel_.add(entries_[i], Tick{deadline}); }
    void reschedule(std::size_t i, std::int64_t deadline) {
        wheel_.reschedule(entries_[i], Tick{deadline});
    }
    /// Hands over all that is due, as `due(i)`, which may schedule i again.
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        wheel_.advanceTo(Tick{now}, [&](Entry& entry) {
            due(static_cast<std::size_t>(&entry - entries_.data()));
        });
    }
    /// When to come back: never later than the earliest deadline. Negative: when nothing waits.
    std::int64_t next() const {
        std::optional<Tick> const tick = wheel_.nextExpiration();
        return tick ? tick->value() : -1;
    }

private:
    struct Entry : timingwheel::TimerTaskEntry {
        std::array<std::uint64_t, 2> payload{};
    };
    static_assert(sizeof(Entry) == 40 || sizeof(void*) != 8);

    std::vector<Entry> entries_;
    timingwheel::TimingWheel<Entry> wheel_;
};

/// An ordered map, and in each entry where it stands in there.
class Multimap {
public:
    static constexpr char const* kName = "std::multimap";

    explicit Multimap(Settings const& settings) : places_(settings.pending) {}

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) { places_[i] = map_.emplace(deadline, i); }
    void reschedule(std::size_t i, std::int64_t deadline) {
        auto node = map_.extract(places_[i]);
        node.key() = deadline;
        places_[i] = map_.insert(std::move(node));
    }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        while (!map_.empty() && map_.begin()->first <= now) {
            std::size_t const i = map_.begin()->second;
            map_.erase(map_.begin());
            due(i);
        }
    }
    std::int64_t next() const { return map_.empty() ? -1 : map_.begin()->first; }

private:
    using Map = std::multimap<std::int64_t, std::size_t>;

    std::int64_t now_ = 0;
    Map map_;
    std::vector<Map::iterator> places_;
};

/// A binary heap from which nothing can be removed: what was rescheduled stays until it comes up.
class PriorityQueue {
public:
    static constexpr char const* kName = "std::priority_queue, lazy";

    explicit PriorityQueue(Settings const& settings) : deadlines_(settings.pending) {}

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        deadlines_[i] = deadline;
        queue_.push({deadline, i});
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        while (!queue_.empty() && queue_.top().first <= now) {
            auto const [deadline, i] = queue_.top();
            queue_.pop();
            if (deadlines_[i] != deadline) continue;
            deadlines_[i] = -1;
            due(i);
        }
    }
    std::int64_t next() const { return queue_.empty() ? -1 : queue_.top().first; }

private:
    using Item = std::pair<std::int64_t, std::size_t>;

    std::int64_t now_ = 0;
    std::vector<std::int64_t> deadlines_;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

/// The heap behind Boost.Asio's timers, without its reactor and its lock.
class AsioQueue {
public:
    static constexpr char const* kName = "asio timer_queue";

    explicit AsioQueue(Settings const& settings) : entries_(settings.pending) { now_ = 0; }
    ~AsioQueue() {
        for (Entry& entry : entries_) queue_.cancel_timer(entry.timer, cancelled_);
    }

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        queue_.enqueue_timer(deadline, entries_[i].timer, &entries_[i].operation);
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        queue_.cancel_timer(entries_[i].timer, cancelled_);
        cancelled_.pop();
        schedule(i, deadline);
    }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        now_ = now;
        Operations ready;
        queue_.get_ready_timers(ready);
        while (auto* const operation = static_cast<Operation*>(ready.front())) {
            ready.pop();
            due(static_cast<std::size_t>(operation->entry - entries_.data()));
        }
    }
    std::int64_t next() const {
        return queue_.empty() ? -1 : now_ + queue_.wait_duration_usec(INT64_C(1) << 40) / 1'000;
    }

private:
    struct Traits {
        using time_type = std::int64_t;
        using duration_type = std::int64_t;

        struct Milliseconds {
            std::int64_t count;
            std::int64_t ticks() const { return count; }
            std::int64_t total_milliseconds() const { return count; }
            std::int64_t total_microseconds() const { return count * 1'000; }
        };
        static std::int64_t now() { return now_; }
        static std::int64_t subtract(std::int64_t a, std::int64_t b) { return a - b; }
        static bool less_than(std::int64_t a, std::int64_t b) { return a < b; }
        static Milliseconds to_posix_duration(std::int64_t ticks) { return {ticks}; }
    };
    using Queue = boost::asio::detail::timer_queue<Traits>;
    using Operations = boost::asio::detail::op_queue<boost::asio::detail::operation>;

    struct Entry;
    struct Operation : boost::asio::detail::wait_op {
        explicit Operation(Entry* owner) : wait_op{&Operation::ignore}, entry{owner} {}
        static void ignore(void*, boost::asio::detail::operation*, boost::system::error_code const&,
                           std::size_t) {}
        Entry* entry;
    };
    struct Entry {
        Entry() : operation{this} {}
        Queue::per_timer_data timer;
        Operation operation;
    };

    static inline std::int64_t now_ = 0;

    std::vector<Entry> entries_;
    mutable Queue queue_;
    Operations cancelled_;
};

/// The least that a doubly linked wheel can do: a node is taken out of one list and put into one of
/// 140 others. No time, no slots, nothing expires.
class Floor {
public:
    explicit Floor(Settings const& settings) : nodes_(settings.pending) {
        for (Node& list : lists_) list.next = list.previous = &list;
    }

    void push(std::size_t i, std::uint32_t delay) {
        Node& node = nodes_[i];
        // 60,000 delays onto 140 lists, without a division.
        Node& list = lists_[delay * kLists >> 16U];
        node.next = &list;
        node.previous = list.previous;
        list.previous->next = &node;
        list.previous = &node;
    }
    void move(std::size_t i, std::uint32_t delay) {
        nodes_[i].next->previous = nodes_[i].previous;
        nodes_[i].previous->next = nodes_[i].next;
        push(i, delay);
    }

private:
    static constexpr std::uint32_t kLists = 140;
    struct Node {
        Node* next = nullptr;
        Node* previous = nullptr;
        std::array<std::uint64_t, 3> payload{};
    };

    std::vector<Node> nodes_;
    std::array<Node, kLists> lists_;
};

// ---- workloads --------------------------------------------------------------------------------

template <class Work>
double nanosecondsPer(std::size_t operations, Work&& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(operations);
}

using Figures = std::array<double, kWorkloads>;

Figures measureFloor(Settings const& settings, Script const& script) {
    Figures figures{};
    Floor floor{settings};
    figures[kFill] = nanosecondsPer(script.fill.size(), [&] {
        for (auto const [entry, delay] : script.fill) floor.push(entry, delay);
    });
    figures[kReschedule] = nanosecondsPer(script.moves.size(), [&] {
        for (auto const [entry, delay] : script.moves) floor.move(entry, delay);
    });
    return figures;
}

/// One contender, empty at the beginning and after each workload that expires.
template <class Contender>
class Run {
public:
    Run(Settings const& settings, Script const& script) : script_{script}, contender_{settings} {}

    Figures measure() {
        Figures figures{};
        std::size_t const pending = script_.fill.size();
        figures[kFill] = nanosecondsPer(pending, [&] { fill(); });
        figures[kReschedule] = nanosecondsPer(script_.moves.size(), [&] { rescheduleAll(); });
        figures[kExpireTicks] = nanosecondsPer(pending, [&] { expireByTick(); });
        fill();
        figures[kExpireJumps] = nanosecondsPer(pending, [&] { expireByJump(); });
        fill();
        figures[kNext] = nanosecondsPer(kAsked, [&] { askForNext(); });
        figures[kMixed] = measureMixed();
        expireByJump();
        figures[kShort] = measureShort();
        return figures;
    }

private:
    static constexpr std::size_t kAsked = 10'000;
    // Enough for the coarse levels to cascade as well.
    static constexpr std::size_t kMixedPasses = 3;

    void fill() {
        std::int64_t const now = contender_.now();
        for (auto const [entry, delay] : script_.fill) contender_.schedule(entry, now + delay);
    }

    void rescheduleAll() {
        std::int64_t const now = contender_.now();
        for (auto const [entry, delay] : script_.moves) contender_.reschedule(entry, now + delay);
    }

    void expireByTick() {
        std::size_t left = script_.fill.size();
        while (left > 0) contender_.advanceTo(contender_.now() + 1, [&](std::size_t) { --left; });
    }

    void expireByJump() {
        for (std::int64_t next = contender_.next(); next >= 0; next = contender_.next())
            contender_.advanceTo(next, [](std::size_t) {});
    }

    void askForNext() {
        for (std::size_t i = 0; i < kAsked; ++i) {
            std::int64_t next = contender_.next();
            asm volatile("" : "+r"(next) : : "memory");
        }
    }

    /// Of ten steps one is an expiry, after which its entry is scheduled again; nine reschedule.
    double measureMixed() {
        std::size_t const steps = kMixedPasses * script_.moves.size();
        std::size_t done = 0;
        auto const delayOf = [&](Script::Step step) { return contender_.now() + step.delay; };
        auto const next = [&] { return script_.moves[done++ % script_.moves.size()]; };
        return nanosecondsPer(steps, [&] {
            while (done < steps) {
                std::size_t const before = done;
                contender_.advanceTo(contender_.now() + 1, [&](std::size_t entry) {
                    contender_.schedule(entry, delayOf(next()));
                });
                for (std::size_t left = 9 * (done - before); left > 0; --left) {
                    Script::Step const step = next();
                    contender_.reschedule(step.entry, delayOf(step));
                }
            }
        });
    }

    /// Whatever expires is scheduled again within a turn of the finest level.
    double measureShort() {
        std::size_t next = 0;
        auto const& delays = script_.shortDelays;
        for (std::uint32_t entry : script_.order)
            contender_.schedule(entry, contender_.now() + delays[next++ % delays.size()]);
        next = 0;
        return nanosecondsPer(delays.size(), [&] {
            while (next < delays.size())
                contender_.advanceTo(contender_.now() + 1, [&](std::size_t entry) {
                    contender_.schedule(entry, contender_.now() + delays[next++ % delays.size()]);
                });
        });
    }

    Script const& script_;
    Contender contender_;
};

// ---- the table --------------------------------------------------------------------------------

/// The figures of one contender, of all rounds.
struct Row {
    std::string name;
    std::function<Figures()> measure;
    std::vector<Figures> rounds;

    double quantile(Workload workload, double q) const {
        std::vector<double> values;
        for (Figures const& figures : rounds) values.push_back(figures[workload]);
        std::sort(values.begin(), values.end());
        return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
    }
    double median(Workload workload) const { return quantile(workload, 0.5); }
    double spread(Workload workload) const {
        return (quantile(workload, 0.75) - quantile(workload, 0.25)) / 2;
    }
};

void print(Settings const& settings, std::vector<Row> const& rows) {
    std::printf("pending %zu, wheel size %lld, %d rounds; ns per operation (x the floor)\n",
                settings.pending, static_cast<long long>(settings.wheelSize), settings.rounds);
    std::printf("%-26s", "");
    for (char const* name : kNames) std::printf("%24s", name);
    for (Row const& row : rows) {
        std::printf("\n%-26s", row.name.c_str());
        for (int i = 0; i < kWorkloads; ++i) {
            auto const workload = static_cast<Workload>(i);
            // Nothing expires on the floor: what expires is compared with a move.
            Workload const against = workload == kFill ? kFill : kReschedule;
            double const median = row.median(workload);
            if (median == 0) {
                std::printf("%24s", "-");
            } else {
                std::printf("%10.1f +- %4.1f (%4.2f)", median, row.spread(workload),
                            median / rows.front().median(against));
            }
        }
    }
    std::printf("\n");
}

template <class Contender>
void add(std::vector<Row>& rows, Settings const& settings, Script const& script) {
    auto const isWanted = [](std::string const& part) {
        return std::string{Contender::kName}.find(part) != std::string::npos;
    };
    if (!settings.only.empty() &&
        std::none_of(settings.only.begin(), settings.only.end(), isWanted))
        return;
    rows.push_back({Contender::kName,
                    [&] {
                        return Run<Contender>{settings, script}.measure();
                    },
                    {}});
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    CLI::App app{"What the hierarchical wheel costs"};
    app.add_option("--pending", settings.pending, "entries in the wheel")
        ->check(CLI::PositiveNumber);
    app.add_option("--operations", settings.operations, "of W1, W4 and W7; 0: as many as pending");
    app.add_option("--wheel-size", settings.wheelSize, "slots of each level")
        ->check(CLI::Range(3, 1'048'576));
    app.add_option("--rounds", settings.rounds)->check(CLI::PositiveNumber);
    app.add_option("--seed", settings.seed);
    app.add_option("--only", settings.only, "parts of the names of the contenders to run");
    CLI11_PARSE(app, argc, argv);
    if (settings.operations == 0)
        settings.operations = std::max<std::size_t>(settings.pending, 1'000'000);

    Script const script{settings};
    std::vector<Row> rows;
    rows.push_back({"floor", [&] { return measureFloor(settings, script); }, {}});
    add<Wheel>(rows, settings, script);
    add<Multimap>(rows, settings, script);
    add<PriorityQueue>(rows, settings, script);
    add<AsioQueue>(rows, settings, script);

    for (int round = 0; round < settings.rounds; ++round)
        for (Row& row : rows) row.rounds.push_back(row.measure());
    print(settings, rows);
    return 0;
}
