#include "loads/WheelLoads.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace timingwheel::bench {
namespace {

class Multimap {
public:
    explicit Multimap(Request const& request) : timers_(request.count) {}

    std::int64_t now() const { return now_; }
    void schedule(std::size_t i, std::int64_t deadline) {
        timers_[i].place = map_.emplace(deadline, i);
    }
    void reschedule(std::size_t i, std::int64_t deadline) {
        auto node = map_.extract(timers_[i].place);
        node.key() = deadline;
        timers_[i].place = map_.insert(std::move(node));
    }
    void cancel(std::size_t i) { map_.erase(timers_[i].place); }
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
    struct Timer {
        Map::iterator place;
        Payload payload{};
    };

    std::int64_t now_ = 0;
    Map map_;
    std::vector<Timer> timers_;
};

Registration const registration{
    {"multimap", "std::multimap, alone",
     "each timer keeps its iterator; rescheduling moves its node", 1'000'000},
    queueLoads<Multimap>()};

}  // namespace
}  // namespace timingwheel::bench
