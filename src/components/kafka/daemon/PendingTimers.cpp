#include "components/kafka/daemon/PendingTimers.h"

#include <utility>

namespace timingwheel::inline v1::kafka {

PendingTimers::PendingTimers(std::int64_t now)
    : buckets_(kFirstBuckets), table_{Table::bucket_traits{buckets_.data(), buckets_.size()}} {
    wheel_.emplace(TimingWheelOptions{.wheelSize = kWheelSize, .start = Tick{now}});
}

PendingTimers::~PendingTimers() {
    wheel_.reset();  // before its entries
    table_.clear_and_dispose(PendingTimer::Free{});
}

std::size_t PendingTimers::bytes() const noexcept {
    return bytes_ + buckets_.size() * sizeof buckets_.front() + overdue_.size() * kOverdueNode +
           far_.bytes() + minutes_.bytes();
}

PendingTimer* PendingTimers::find(std::string_view id) noexcept {
    auto const found = table_.find(id);
    return found == table_.end() ? nullptr : &*found;
}

PendingTimers::Scheduled PendingTimers::schedule(Command const& command) {
    PendingTimer::Owner timer = PendingTimer::make(command, targetOf(command.to));
    reserve(command.at);
    Overdue::node_type node = nodeFor(*timer, command.at);
    minutes_.add(command.at);

    // Nothing throws from here on.
    PendingTimer* const former = find(command.id);
    PendingTimer::Owner replaced = former == nullptr ? nullptr : remove(*former);
    bool const hasReplaced = replaced != nullptr || removeFar(command.id);
    return {add(std::move(timer), std::move(node)), hasReplaced, std::move(replaced)};
}

PendingTimer::Owner PendingTimers::takeOut(std::string_view id) {
    if (PendingTimer* const near = find(id)) return remove(*near);
    if (!far_.find(id)) return {};
    Command command;
    command.id = id;
    PendingTimer::Owner timer = PendingTimer::make(command, 0);
    removeFar(id);
    return timer;
}

void PendingTimers::addFar(Command const& command, std::int64_t offset) {
    minutes_.add(command.at);
    if (PendingTimer* const near = find(command.id)) (void)remove(*near);
    removeFar(command.id);
    far_.add(command.id, {command.at, offset});
}

void PendingTimers::putAway(PendingTimer& timer, std::int64_t offset) {
    far_.add(timer.id(), {timer.at, offset});
    minutes_.add(timer.at);
    (void)remove(timer);
}

bool PendingTimers::bringNear(Command const& command, std::int64_t offset) {
    auto const far = far_.find(command.id);
    if (!far || far->offset != offset) return false;
    schedule(command);
    return true;
}

void PendingTimers::pushBack(PendingTimer& timer, std::int64_t at) {
    wheel_->raw().reserve(Tick{at});
    Overdue::node_type node = nodeFor(timer, at);
    minutes_.add(at);

    // Nothing throws from here on.
    minutes_.remove(timer.at);
    unplace(timer);
    timer.at = at;
    timer.isMoved = true;
    place(timer, std::move(node));
}

PendingTimer::Owner PendingTimers::remove(PendingTimer& timer) noexcept {
    unplace(timer);
    minutes_.remove(timer.at);
    table_.erase(table_.iterator_to(timer));
    bytes_ -= timer.size();
    return PendingTimer::Owner{&timer};
}

PendingTimer const& PendingTimers::putBack(PendingTimer::Owner timer, std::int64_t at) {
    reserve(at);
    Overdue::node_type node = nodeFor(*timer, at);
    minutes_.add(at);
    timer->at = at;
    return *add(std::move(timer), std::move(node));
}

std::vector<PendingTimer::Owner> PendingTimers::takeDue(std::int64_t now, std::size_t atMost,
                                                        std::size_t atMostBytes) {
    if (Tick{now} < wheel_->currentTick()) turnBack(now);
    std::vector<PendingTimer::Owner> taken;
    std::size_t bytes = 0;
    auto const isEnough = [&] { return taken.size() == atMost || bytes >= atMostBytes; };
    auto const take = [&](PendingTimer& timer) {
        bytes += timer.size();
        taken.push_back(remove(timer));
    };
    // All of it is earlier than what the wheel has.
    while (!overdue_.empty()) {
        if (isEnough()) return taken;
        take(*overdue_.begin()->second);
    }
    RawTimingWheel& wheel = wheel_->raw();
    while (wheel.hasFlushed() || wheel.flush(Tick{now})) {
        while (wheel.hasFlushed()) {
            if (isEnough()) return taken;
            if (TimerTaskEntry* const due = wheel.nextDue()) take(static_cast<PendingTimer&>(*due));
        }
    }
    wheel.advanceClock(Tick{now});
    return taken;
}

void PendingTimers::advance(std::int64_t now) {
    RawTimingWheel& wheel = wheel_->raw();
    if (Tick{now} < wheel.currentTick()) return;
    while (wheel.hasFlushed() || wheel.flush(Tick{now})) {
        while (wheel.hasFlushed()) {
            TimerTaskEntry* const due = wheel.nextDue();
            if (due == nullptr) continue;
            auto& timer = static_cast<PendingTimer&>(*due);
            overdue_.emplace(timer.at, &timer);
        }
    }
    wheel.advanceClock(Tick{now});
}

std::optional<std::int64_t> PendingTimers::nextExpiration() const noexcept {
    if (!overdue_.empty()) return overdue_.begin()->first;
    auto const next = wheel_->nextExpiration();
    if (!next) return std::nullopt;
    return next->value();
}

std::optional<std::int64_t> PendingTimers::earliest() const noexcept {
    std::optional<std::int64_t> earliest;
    for (PendingTimer const& timer : table_)
        if (!earliest || timer.at < *earliest) earliest = timer.at;
    return earliest;
}

std::uint32_t PendingTimers::targetOf(std::string_view topic) {
    std::string name{topic};
    auto const found = targets_.find(name);
    if (found != targets_.end()) return found->second;
    topics_.push_back(name);
    auto const target = static_cast<std::uint32_t>(topics_.size() - 1);
    targets_.emplace(std::move(name), target);
    return target;
}

/// Makes room for one more in the wheel and in the table.
void PendingTimers::reserve(std::int64_t at) {
    wheel_->raw().reserve(Tick{at});
    if (table_.size() < buckets_.size()) return;
    std::vector<Table::bucket_type> buckets(buckets_.size() * 2);
    table_.rehash(Table::bucket_traits{buckets.data(), buckets.size()});
    buckets_ = std::move(buckets);
}

/// A place beside the wheel for what is due on arrival; else none.
PendingTimers::Overdue::node_type PendingTimers::nodeFor(PendingTimer& timer, std::int64_t at) {
    if (Tick{at} > wheel_->currentTick()) return {};
    Overdue one;
    one.emplace(at, &timer);
    return one.extract(one.begin());
}

/// REQUIRES: there is room. Never throws.
PendingTimer* PendingTimers::add(PendingTimer::Owner timer, Overdue::node_type node) {
    bytes_ += timer->size();
    table_.insert(*timer);
    place(*timer, std::move(node));
    return timer.release();
}

void PendingTimers::place(PendingTimer& timer, Overdue::node_type node) {
    if (node)
        overdue_.insert(std::move(node));
    else
        static_cast<void>(wheel_->add(timer, Tick{timer.at}));
}

void PendingTimers::unplace(PendingTimer& timer) noexcept {
    if (overdue_.erase({timer.at, &timer}) == 0) wheel_->cancel(timer);
}

bool PendingTimers::removeFar(std::string_view id) noexcept {
    auto const far = far_.find(id);
    if (!far) return false;
    minutes_.remove(far->at);
    return far_.remove(id);
}

void PendingTimers::turnBack(std::int64_t now) {
    for (PendingTimer& timer : table_) wheel_->cancel(timer);
    overdue_.clear();
    wheel_.emplace(TimingWheelOptions{.wheelSize = kWheelSize, .start = Tick{now}});
    for (PendingTimer& timer : table_) place(timer, nodeFor(timer, timer.at));
}

}  // namespace timingwheel::inline v1::kafka
