#include "components/kafka/daemon/DueMinutes.h"

#include <chrono>
#include <limits>

namespace timingwheel::inline v1::kafka {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kEndOfTime = std::numeric_limits<std::int64_t>::max();

std::int64_t minuteOf(std::int64_t time) {
    return std::chrono::floor<minutes>(milliseconds{time}).count();
}

}  // namespace

void DueMinutes::add(std::int64_t at) {
    std::int64_t const minute = minuteOf(at);
    if (last_ == minutes_.end() || last_->first != minute)
        last_ = minutes_.try_emplace(minute, 0).first;
    ++last_->second;
}

void DueMinutes::remove(std::int64_t at) noexcept {
    std::int64_t const minute = minuteOf(at);
    if (last_ == minutes_.end() || last_->first != minute) last_ = minutes_.find(minute);
    if (--last_->second > 0) return;
    minutes_.erase(last_);
    last_ = minutes_.end();
}

std::size_t DueMinutes::dueBy(std::int64_t time) const noexcept {
    std::int64_t const last = minuteOf(time);
    std::size_t due = 0;
    for (auto const& [minute, timers] : minutes_) {
        if (minute < last) {
            due += timers;
            continue;
        }
        if (minute == last)
            due += timers * static_cast<std::size_t>(time - last * kMinute) /
                   static_cast<std::size_t>(kMinute);
        break;
    }
    return due;
}

std::optional<std::int64_t> DueMinutes::farthest() const noexcept {
    if (minutes_.empty()) return std::nullopt;
    std::int64_t const last = minutes_.rbegin()->first;
    return last < minuteOf(kEndOfTime) ? (last + 1) * kMinute : kEndOfTime;
}

std::size_t DueMinutes::bytes() const noexcept {
    // The size of a node of the tree in the usual libraries.
    return minutes_.size() * (sizeof(Minutes::value_type) + 4 * sizeof(void*));
}

}  // namespace timingwheel::inline v1::kafka
