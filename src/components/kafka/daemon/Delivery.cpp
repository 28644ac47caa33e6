#include "components/kafka/daemon/Delivery.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Intake.h"
#include "components/kafka/daemon/Recurrence.h"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace timingwheel::inline v1::kafka {

void deliverDue(PendingTimers& timers, DeliveryRules const& rules, std::int64_t now,
                std::int64_t next, Outputs& outputs) {
    for (PendingTimer::Owner& timer : timers.takeDue(now, rules.atMost, rules.atMostBytes)) {
        outputs.beginStep(next);
        outputs.delivery(*timer);
        outputs.countAs(&Tally::delivered);
        std::optional<std::int64_t> again;
        if (auto const rule = timer->rule(); !rule.empty()) {
            auto const read = Recurrence::read(rule, kMaxDelayDays * kDay);
            if (auto const* const recurrence = std::get_if<Recurrence>(&read)) {
                again = recurrence->next(timer->at, now);
            } else {
                // It was accepted once: this machine lacks its zone.
                outputs.deadLetter(letterOf(*timer, timer->at, timers, rules.source,
                                            std::get<Refusal>(read).reason));
                outputs.countAs(&Tally::failed);
            }
        }
        if (again)
            outputs.recurrence(timers.putBack(std::move(timer), *again));
        else
            outputs.tombstone(std::move(timer));
    }
}

void endRecurrence(Output& output, PendingTimers& timers, Outputs& outputs) {
    output.kind = Output::Kind::tombstone;
    outputs.keep(timers.remove(*timers.find(output.timer->id())));
}

OwnRecord letterOf(PendingTimer const& timer, std::int64_t at, PendingTimers const& timers,
                   std::string const& source, std::string const& reason) {
    OwnRecord record;
    auto const add = [&record](std::string_view name, std::optional<std::string_view> value) {
        auto& header = record.headers.emplace_back(std::string{name}, std::nullopt);
        if (value) header.second.emplace(*value);
    };
    record.key.emplace(timer.key().value_or(timer.id()));
    if (timer.value()) record.value.emplace(*timer.value());
    add(header::kId, timer.id());
    add(header::kAt, std::to_string(at));
    add(header::kTo, timers.topicOf(timer));
    for (auto const& [name, value] : timer.rule()) add(name, value);
    for (auto const& [name, value] : timer.headers()) add(name, value);
    return deadLetter(std::move(record), source, reason);
}

}  // namespace timingwheel::inline v1::kafka
