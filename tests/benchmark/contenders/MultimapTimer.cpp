#include "ConditionVariableTimer.h"
#include "compare/Loads.h"

#include <functional>
#include <map>
#include <utility>

namespace timingwheel::bench {
namespace {

/// Search, insertion: O(log n). Erasing by iterator: constant, amortised.
class MultimapQueue {
    std::multimap<SteadyTime, std::function<void()>> map_;

public:
    using Token = decltype(map_)::iterator;
    static constexpr bool kFillInOrder = false;

    bool empty() const { return map_.empty(); }
    std::size_t size() const { return map_.size(); }
    SteadyTime earliest() const { return map_.begin()->first; }
    Token insert(SteadyTime deadline, std::function<void()> task) {
        return map_.emplace(deadline, std::move(task));
    }
    void erase(Token token) { map_.erase(token); }
    std::function<void()> takeEarliest() {
        auto const node = map_.extract(map_.begin());
        return std::move(node.mapped());
    }
};

Registration const registration{
    {
        .id = "Multimap",
        .title = "std::multimap",
        .usage =
            "a `std::multimap` by deadline of `std::function`, a mutex, a condition variable, a "
            "thread; a timer is cancelled by its iterator",
    },
    timerLoads<ConditionVariableTimer<MultimapQueue>>()};

}  // namespace
}  // namespace timingwheel::bench
