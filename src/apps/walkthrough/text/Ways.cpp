#include "apps/walkthrough/text/Ways.h"

#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <deque>
#include <iterator>
#include <list>
#include <optional>
#include <queue>
#include <random>
#include <utility>

namespace walkthrough {

namespace {

using timingwheel::Tick;

std::size_t unsignedOf(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Later deadlines come later; counts how often it is asked.
struct CountingLater {
    std::int64_t* comparisons;
    template <class Value>
    bool operator()(Value const& a, Value const& b) const {
        ++*comparisons;
        return a > b;
    }
};
template <class Value>
using CountingHeap = std::priority_queue<Value, std::vector<Value>, CountingLater>;

Cost begin(char const* way, Load const& load) {
    Cost cost{.way = way, .tasks = load.delays.size()};
    for (std::size_t i = 0; i < cost.tasks; ++i)
        if (load.isCancelled(i)) ++cost.cancelled;
    return cost;
}

template <class Wheel>
std::deque<timingwheel::TimerTaskEntry> fill(Wheel& wheel, Load const& load) {
    std::deque<timingwheel::TimerTaskEntry> entries(load.delays.size());
    for (std::size_t i = 0; i < entries.size(); ++i)
        static_cast<void>(wheel.add(entries[i], Tick{load.delays[i]}));
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (load.isCancelled(i)) wheel.cancel(entries[i]);
    return entries;
}

/// A TimingWheel whose steps are counted.
class CountedLevels {
public:
    CountedLevels(Cost& cost, std::int64_t wheelSize)
        : cost_{cost}, wheel_{{.wheelSize = wheelSize}} {}

    void add(timingwheel::TimerTaskEntry& entry, Tick deadline) {
        std::size_t const armedBefore = wheel_.delayHeap().size();
        timingwheel::Placement const placement = wheel_.add(entry, deadline);
        if (!placement.isDue()) note(placement, armedBefore);
    }

    void cancel(timingwheel::TimerTaskEntry& entry) { wheel_.cancel(entry); }

    std::optional<Tick> nextExpiration() const { return wheel_.nextExpiration(); }

    void runUntil(Tick now) {
        while (wheel_.raw().flush(now)) {
            buckets_.pop();
            while (wheel_.raw().hasFlushed()) takeOne(now);
        }
    }

    std::size_t slots() const {
        return wheel_.levels().size() * unsignedOf(wheel_.levels()[0].interval());
    }
    std::int64_t comparisonsOfHeap() const { return comparisonsOfHeap_; }

private:
    void takeOne(Tick now) {
        timingwheel::TimerTaskEntry& entry = wheel_.raw().takeFlushed();
        std::size_t const armedBefore = wheel_.delayHeap().size();
        timingwheel::Placement const placement = wheel_.raw().place(entry);
        if (placement.isDue()) {
            if (entry.deadline() == now) ++cost_.onTime;
            return;
        }
        ++cost_.moves;
        note(placement, armedBefore);
    }

    /// The deadline was compared with the end of each level up to its own.
    void note(timingwheel::Placement const& placement, std::size_t armedBefore) {
        cost_.comparisons += placement.bucket().level() + 1;
        if (wheel_.delayHeap().size() > armedBefore)
            buckets_.push({placement.bucket().expiration(), placement.bucket().level()});
    }

    Cost& cost_;
    timingwheel::TimingWheel<timingwheel::TimerTaskEntry> wheel_;
    std::int64_t comparisonsOfHeap_ = 0;
    CountingHeap<std::pair<std::int64_t, std::uint32_t>> buckets_{{&comparisonsOfHeap_}};
};

}  // namespace

Cost sortedList(Load const& load) {
    Cost cost = begin("a sorted list", load);
    std::list<std::int64_t> deadlines;
    std::vector<std::list<std::int64_t>::iterator> places;
    for (std::int64_t const deadline : load.delays) {
        auto place = deadlines.end();
        while (place != deadlines.begin()) {
            ++cost.comparisons;
            if (*std::prev(place) <= deadline) break;
            --place;
        }
        places.push_back(deadlines.insert(place, deadline));
    }
    for (std::size_t i = 0; i < cost.tasks; ++i)
        if (load.isCancelled(i)) deadlines.erase(places[i]);
    while (!deadlines.empty()) {
        std::int64_t const now = deadlines.front();
        ++cost.wakeUps;
        while (!deadlines.empty() && deadlines.front() == now) {
            deadlines.pop_front();
            ++cost.onTime;
        }
    }
    return cost;
}

Cost heap(Load const& load) {
    Cost cost = begin("a heap", load);
    CountingHeap<std::pair<std::int64_t, std::size_t>> tasks{CountingLater{&cost.comparisons}};
    for (std::size_t i = 0; i < cost.tasks; ++i) tasks.emplace(load.delays[i], i);
    std::int64_t now = 0;
    for (; !tasks.empty(); tasks.pop()) {
        auto const [deadline, task] = tasks.top();
        if (load.isCancelled(task)) {
            ++cost.lookedAt;
            continue;
        }
        if (deadline > now) ++cost.wakeUps;
        now = deadline;
        ++cost.onTime;
    }
    return cost;
}

Cost ringWithRounds(Load const& load, std::int64_t slots) {
    Cost cost = begin("a ring, with rounds", load);
    timingwheel::HashedWheel<timingwheel::TimerTaskEntry> wheel{{.ticksPerWheel = slots}};
    auto const entries = fill(wheel, load);
    cost.slots = wheel.allSlots().size();
    auto& base = wheel.raw();
    while (!base.empty()) {
        base.beginTick(base.currentTick() + 1);
        ++cost.wakeUps;
        Tick const now = base.currentTick();
        auto const& slot = wheel.allSlots()[unsignedOf(now.value()) % cost.slots];
        cost.lookedAt += static_cast<std::int64_t>(slot.size());
        while (timingwheel::TimerTaskEntry* const entry = base.takeDue()) {
            --cost.lookedAt;
            if (entry->deadline() == now) ++cost.onTime;
        }
    }
    return cost;
}

Cost levelsThatTick(Load const& load, std::int64_t wheelSize) {
    Cost cost = begin("levels that tick", load);
    CountedLevels wheel{cost, wheelSize};
    auto const entries = fill(wheel, load);
    for (Tick now{1}; cost.onTime + cost.cancelled < cost.tasks; now = now + 1) {
        ++cost.wakeUps;
        wheel.runUntil(now);
    }
    cost.slots = wheel.slots();
    return cost;
}

Cost levels(Load const& load, std::int64_t wheelSize) {
    Cost cost = begin("levels and a delay heap", load);
    CountedLevels wheel{cost, wheelSize};
    auto const entries = fill(wheel, load);
    while (std::optional<Tick> const next = wheel.nextExpiration()) {
        ++cost.wakeUps;
        wheel.runUntil(*next);
    }
    cost.slots = wheel.slots();
    cost.comparisons += wheel.comparisonsOfHeap();
    return cost;
}

std::vector<Cost> allWays(Load const& load) {
    constexpr std::int64_t kSlots = 20;
    return {sortedList(load), heap(load), ringWithRounds(load, kSlots),
            levelsThatTick(load, kSlots), levels(load, kSlots)};
}

std::vector<std::int64_t> spreadDelays(std::size_t count, std::int64_t longest) {
    std::mt19937_64 random{1};
    std::vector<std::int64_t> delays(count);
    for (std::int64_t& delay : delays)
        delay = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest));
    return delays;
}

}  // namespace walkthrough
