#include "components/kafka/daemon/Snapshot.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"

#include <algorithm>
#include <variant>

namespace timingwheel::inline v1::kafka {

void Snapshot::take(Record const& record) {
    if (record.key == kPositionKey) return;
    if (record.key && !record.value) {
        timers_.erase(std::string{*record.key});
        return;
    }
    auto const read = readState(record);
    auto const* const command = std::get_if<Command>(&read);
    if (command == nullptr) {
        ++foreign_;
        return;
    }
    std::string const& to = *topics_.emplace(command->to).first;
    timers_.insert_or_assign(std::string{command->id}, Timer{command->at, &to});
}

void Snapshot::visit(std::function<void(std::string_view id, Due due)> const& visitor) const {
    for (auto const& [id, timer] : timers_) visitor(id, {timer.at, *timer.to});
}

void Earliest::add(std::string_view id, Due due) {
    ++count_;
    if (heap_.size() == limit_ && due.at > heap_.front().at) return;
    heap_.push_back({due.at, std::string{id}, std::string{due.to}});
    std::push_heap(heap_.begin(), heap_.end());
    if (heap_.size() <= limit_) return;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
}

std::vector<Earliest::Timer> Earliest::timers() const {
    auto timers = heap_;
    std::sort_heap(timers.begin(), timers.end());
    return timers;
}

void Forecast::add(std::int64_t at) noexcept {
    ++std::find_if(rows.begin(), rows.end(), [&](Row const& row) {
          return at - now <= row.within;
      })->timers;
    farthest = std::max(farthest.value_or(at), at);
}

}  // namespace timingwheel::inline v1::kafka
