#include "components/kafka/daemon/Horizon.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Messages.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace timingwheel::inline v1::kafka {

namespace {

using std::chrono::milliseconds;

// Passes in the time of a horizon.
constexpr std::int64_t kPasses = 8;
// ms between two passes while memory is full.
constexpr std::int64_t kSoon = 1'000;
// Far timers that are looked at, and records that are read, between two transactions: until so many
// bytes of them are near.
constexpr std::size_t kLookedAt = 100'000;
constexpr std::size_t kRead = 2'000;
constexpr std::size_t kReadBytes = 1'000'000;
// Records that are read to get to one behind them. To look for it takes about as long.
constexpr std::int64_t kReadOver = 10'000;

}  // namespace

Horizon::Horizon(Duty const& duty, PendingTimers& timers)
    : duty_{duty}, timers_{timers}, length_{duty.shared.options.horizon.count()}, passBegan_{0} {}

void Horizon::putAway(Outputs const& outputs, std::int64_t now) {
    for (Output const& output : outputs.all()) {
        bool const isState =
            output.kind == Output::Kind::state || output.kind == Output::Kind::recurrence;
        if (!isState || output.offset < 0) continue;
        if (!isBeyond(output.at, now) || output.timer->isMoved) continue;
        PendingTimer* const timer = timers_.find(output.timer->id());
        // Later commands may have moved or ended it.
        if (timer == output.timer && timer->at == output.at) timers_.putAway(*timer, output.offset);
    }
}

bool Horizon::bringNear(std::int64_t now) {
    bool const isFull = duty_.shared.isFull();
    if (isFull) {
        // What is due makes room.
        if (auto const next = timers_.nextExpiration(); next && *next <= now) return false;
        if (!isShort_ && (isPassing_ || next_ < wanted_.size())) giveUp();
    }
    if (next_ < wanted_.size()) {
        readOn(milliseconds{0});
        return true;
    }
    bool const isClockSetBack = now < passBegan_;
    std::int64_t const usual = length_ / kPasses;
    std::int64_t const pause = isShort_ ? std::min(kSoon, usual) : usual;
    if (!isPassing_ && now - passBegan_ < pause && !isClockSetBack) return false;
    if (!std::exchange(isPassing_, true)) {
        passBegan_ = now;
        isShort_ = isFull;
        passUntil_ = isFull ? now : now + length_ / 2;
        timers_.beginPassOfFar();  // a Horizon before this one may have left a part of a pass
    }
    isPassing_ = !timers_.collectFar(passUntil_, kLookedAt, found_);
    if (!isPassing_) read(std::exchange(found_, {}));
    return isPassing_ || next_ < wanted_.size();
}

void Horizon::bringNear(std::vector<Record> const& commands) {
    std::vector<std::int64_t> offsets;
    for (Record const& command : commands) {
        if (!command.key || lastHeader(command, header::kCommand) != header::kPushBack) continue;
        if (auto const far = timers_.far().find(*command.key)) offsets.push_back(far->offset);
    }
    if (offsets.empty()) return;
    std::vector<std::int64_t> const later(wanted_.begin() + static_cast<std::ptrdiff_t>(next_),
                                          wanted_.end());
    read(std::move(offsets));
    while (next_ < wanted_.size() && !duty_.isStopping) readOn(milliseconds{100});
    read(later);
}

/// Begins to read what the state has at these offsets.
void Horizon::read(std::vector<std::int64_t> offsets) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    wanted_ = std::move(offsets);
    next_ = 0;
    if (wanted_.empty()) return;
    if (!reader_) reader_.emplace(duty_.shared.options, duty_.number);
    reader_->goTo(wanted_.front());
}

/// Ends a pass, and the reading of what it has found, that go beyond what is due.
void Horizon::giveUp() {
    isShort_ = true;
    isPassing_ = false;
    found_.clear();
    if (next_ == wanted_.size()) return;
    next_ = wanted_.size();
    finish();
}

void Horizon::readOn(milliseconds patience) {
    std::size_t const enough = timers_.bytes() + kReadBytes;
    for (std::size_t i = 0; i < kRead && next_ < wanted_.size() && timers_.bytes() < enough; ++i) {
        Message const message = reader_->next(patience);
        if (!message) return;
        passOver(message->offset);
        bool const isRecord = message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF;
        if (isRecord && next_ < wanted_.size() && wanted_[next_] == message->offset) {
            auto const state = readState(recordOf(*message));
            auto const* const command = std::get_if<Command>(&state);
            if (command == nullptr || !timers_.bringNear(*command, message->offset))
                missing_.push_back(message->offset);
            ++next_;
        }
        if (next_ < wanted_.size() && wanted_[next_] - message->offset > kReadOver)
            reader_->goTo(wanted_[next_]);
    }
    if (next_ == wanted_.size()) finish();
}

/// The state has nothing at those offsets before `end` that were not reached. What was there was
/// moved or ended since, or it is lost.
void Horizon::passOver(std::int64_t end) {
    for (; next_ < wanted_.size() && wanted_[next_] < end; ++next_)
        missing_.push_back(wanted_[next_]);
}

void Horizon::finish() {
    reader_->rest();
    if (missing_.empty()) return;
    std::sort(missing_.begin(), missing_.end());
    if (auto const lost = timers_.far().firstAt(missing_))
        throw std::runtime_error{duty_.shared.options.state + "/" + std::to_string(duty_.number) +
                                 "/" + std::to_string(*lost) +
                                 " has no timer, and there must be one"};
    missing_.clear();
}

}  // namespace timingwheel::inline v1::kafka
