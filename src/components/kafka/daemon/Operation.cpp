#include "components/kafka/daemon/Operation.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Answers.h"
#include "components/kafka/daemon/Cancel.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Group.h"
#include "components/kafka/daemon/Messages.h"
#include "components/kafka/daemon/Options.h"
#include "components/kafka/daemon/Snapshot.h"
#include "components/kafka/daemon/StateReader.h"
#include "components/kafka/daemon/TimeOfDay.h"
#include "components/kafka/daemon/Topics.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

namespace timingwheel::inline v1::kafka {

namespace {

std::int32_t partitionsOfState(Options const& options) {
    std::int32_t const partitions = Topics{options}.partitionsOf(options.state);
    if (partitions == 0)
        throw std::runtime_error{"topic " + options.state + " is not there, or may not be seen"};
    return partitions;
}

/// Visits all that is pending, one partition after the other: memory holds one of them.
void visitPending(Options const& options,
                  std::function<void(std::string_view id, Due due)> const& visitor) {
    std::int32_t const partitions = partitionsOfState(options);
    for (std::int32_t number = 0; number < partitions; ++number) {
        Snapshot snapshot;
        StateReader{options, number}.readToEnd(
            [&](Message message) { snapshot.take(recordOf(*message)); });
        if (snapshot.foreign() > 0)
            spdlog::warn("{}/{}: {} foreign records, ignored", options.state, number,
                         snapshot.foreign());
        snapshot.visit(visitor);
    }
}

int list(Options const& options, Operation const& operation, Answers& answers) {
    Earliest earliest{operation.limit};
    visitPending(options, [&](std::string_view id, Due due) {
        if (operation.to.empty() || due.to == operation.to) earliest.add(id, due);
    });
    answers.list(earliest.timers(), earliest.count());
    return 0;
}

/// Keeps one record: the last of the id.
int show(Options const& options, Operation const& operation, Answers& answers) {
    std::int32_t const partition = partitionOf(operation.id, partitionsOfState(options));
    StateReader reader{options, partition};
    Message last;  // goes before the reader, which waits for its messages
    reader.readToEnd([&](Message message) {
        Record const record = recordOf(*message);
        if (record.key != operation.id) return;
        if (!record.value)
            last.reset();
        else if (std::holds_alternative<Command>(readState(record)))
            last = std::move(message);
    });
    if (!last) {
        answers.notPending(operation.id);
        return kFailed;
    }
    answers.timer(recordOf(*last), partition);
    return 0;
}

int cancel(Options const& options, Operation const& operation, Answers& answers) {
    Reply const reply = kafka::cancel(options, operation.id, operation.timeout);
    answers.reply(operation.id, reply);
    return reply.outcome == kCancelled ? 0 : kFailed;
}

int forecast(Options const& options, std::int64_t now, Answers& answers) {
    Forecast forecast{.now = now};
    visitPending(options, [&](std::string_view, Due due) { forecast.add(due.at); });
    answers.forecast(forecast);
    return 0;
}

int checkAll(Options const& options, Operation const& operation, Answers& answers) {
    Topics topics{options};
    if (options.createTopics > 0) topics.create();
    std::int32_t const partitions = topics.check();
    std::optional<Group> group;
    if (!operation.isOfTopicsOnly) group = Group::of(options, partitions);
    answers.check(partitions, options.group, group);
    bool const isWhole =
        !group || std::all_of(group->partitions.begin(), group->partitions.end(),
                              [](auto const& each) { return each.worker.has_value(); });
    return isWhole ? 0 : kFailed;
}

}  // namespace

int operate(Options const& options, Operation const& operation) {
    std::int64_t const now = nowInMilliseconds();
    Answers answers{std::cout, operation.isJson, now};
    int const status = [&] {
        switch (operation.kind) {
            case Operation::Kind::list:
                return list(options, operation, answers);
            case Operation::Kind::show:
                return show(options, operation, answers);
            case Operation::Kind::cancel:
                return cancel(options, operation, answers);
            case Operation::Kind::forecast:
                return forecast(options, now, answers);
            case Operation::Kind::check:
                return checkAll(options, operation, answers);
        }
        return kFailed;
    }();
    if (!std::cout.flush()) throw std::runtime_error{"the answer could not be written to stdout"};
    return status;
}

}  // namespace timingwheel::inline v1::kafka
