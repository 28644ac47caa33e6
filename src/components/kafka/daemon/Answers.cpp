#include "components/kafka/daemon/Answers.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

namespace timingwheel::inline v1::kafka {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kReplace = Json::error_handler_t::replace;
constexpr char const* kGone = "it was delivered, cancelled, or never there";

void write(std::ostream& to, Json const& answer) {
    to << answer.dump(-1, ' ', false, kReplace) << '\n';
}

/// Bytes of a user's, for a terminal: in ASCII.
std::string shown(std::string_view bytes) {
    std::string const quoted = Json(std::string{bytes}).dump(-1, ' ', true, kReplace);
    return quoted.substr(1, quoted.size() - 2);
}

void put(Json& object, std::string const& name, std::optional<std::string_view> bytes) {
    if (!bytes) {
        object[name] = nullptr;
        return;
    }
    Json text(std::string{*bytes});
    try {
        (void)text.dump();  // throws if it is not UTF-8
        object[name] = std::move(text);
    } catch (Json::type_error const&) {
        std::string digits;
        for (char const byte : *bytes)
            fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned char>(byte));
        object[name + "_hex"] = std::move(digits);
    }
}

void putDue(Json& object, std::int64_t at) {
    object["due"] = inUtc(at);
    object["due_ms"] = at;
}

/// What the fields of an answer have not said.
bool isOther(Header const& header) {
    return header.name != header::kAt && header.name != header::kTo &&
           header.name != header::kKey && header.name != header::kValue;
}

}  // namespace

std::string inUtc(std::int64_t at) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::time_t{at / 1'000}),
                       at % 1'000);
}

std::string inUnits(std::int64_t milliseconds) {
    constexpr std::pair<std::int64_t, char const*> kUnits[] = {
        {86'400, "d"}, {3'600, "h"}, {60, "min"}, {1, "s"}};
    std::int64_t seconds = std::abs(milliseconds) / 1'000;
    auto const* unit = std::find_if(std::begin(kUnits), std::end(kUnits) - 1,
                                    [&](auto const& each) { return seconds >= each.first; });
    std::string text = fmt::format("{} {}", seconds / unit->first, unit->second);
    seconds %= unit->first;
    if (++unit != std::end(kUnits) && seconds >= unit->first)
        text += fmt::format(" {} {}", seconds / unit->first, unit->second);
    return milliseconds < 0 ? text + " ago" : "in " + text;
}

void Answers::list(std::vector<Earliest::Timer> const& timers, std::size_t count) {
    // Many: each is written by itself.
    if (isJson_) {
        to_ << R"({"pending":)" << count << R"(,"timers":[)";
        char const* separator = "\n";
        for (Earliest::Timer const& timer : timers) {
            Json each;
            put(each, "id", timer.id);
            putDue(each, timer.at);
            each["to"] = timer.to;
            to_ << std::exchange(separator, ",\n") << each.dump();
        }
        to_ << "]}\n";
        return;
    }
    std::size_t width = 0;
    for (Earliest::Timer const& timer : timers) width = std::max(width, timer.to.size());
    for (Earliest::Timer const& timer : timers)
        to_ << fmt::format("{}  {:<16}  {:<{}}  {}\n", inUtc(timer.at), inUnits(timer.at - now_),
                           timer.to, width, shown(timer.id));
    to_ << timers.size() << " of " << count << " pending\n";
}

void Answers::timer(Record const& state, std::int32_t partition) {
    auto const read = readState(state);
    auto const& timer = std::get<Command>(read);
    if (isJson_) {
        Json answer;
        put(answer, "id", timer.id);
        answer["pending"] = true;
        putDue(answer, timer.at);
        answer["to"] = timer.to;
        put(answer, "key", timer.key.value_or(timer.id));
        Json headers = Json::array();
        for (Header const& header : state.headers)
            if (isOther(header)) {
                Json each;
                put(each, "name", header.name);
                put(each, "value", header.value);
                headers.push_back(std::move(each));
            }
        answer["headers"] = std::move(headers);
        put(answer, "value", timer.value);
        answer["partition"] = partition;
        return write(to_, answer);
    }
    auto const line = [this](std::string_view name, std::string const& text) {
        to_ << fmt::format("{:<11}{}\n", name, text);
    };
    line("id", shown(timer.id));
    line("due", inUtc(timer.at) + ", " + inUnits(timer.at - now_));
    line("to", std::string{timer.to});
    line("key", shown(timer.key.value_or(timer.id)));
    for (Header const& header : state.headers)
        if (isOther(header))
            line("header", shown(header.name) + ": " + shown(header.value.value_or("none")));
    line("value", timer.value ? std::to_string(timer.value->size()) + " bytes" : "none");
    line("partition", std::to_string(partition));
}

void Answers::notPending(std::string_view id) {
    if (!isJson_) {
        to_ << shown(id) << " is not pending: " << kGone << '\n';
        return;
    }
    Json answer;
    put(answer, "id", id);
    answer["pending"] = false;
    write(to_, answer);
}

void Answers::forecast(Forecast const& forecast) {
    std::size_t all = 0;
    Json rows = Json::array();
    if (!isJson_) to_ << fmt::format("{:<16}{:>14}{:>14}\n", "due", "timers", "up to then");
    for (Forecast::Row const& row : forecast.rows) {
        all += row.timers;
        if (!isJson_)
            to_ << fmt::format("{:<16}{:>14}{:>14}\n", row.when, row.timers, all);
        else
            rows.push_back({{"due", row.when}, {"timers", row.timers}, {"up_to_then", all}});
    }
    if (isJson_) {
        Json answer{{"pending", all}, {"forecast", std::move(rows)}, {"farthest", nullptr}};
        if (forecast.farthest) putDue(answer["farthest"], *forecast.farthest);
        return write(to_, answer);
    }
    if (forecast.farthest)
        to_ << "the farthest: " << inUtc(*forecast.farthest) << ", "
            << inUnits(*forecast.farthest - now_) << '\n';
}

void Answers::reply(std::string_view id, Reply const& reply) {
    std::string const reason = reply.outcome == kTooLate
                                   ? std::string{"nothing of that id was pending: "} + kGone
                                   : reply.reason;
    if (!isJson_) {
        to_ << reply.outcome << (reason.empty() ? "" : ": ") << shown(reason) << '\n';
        return;
    }
    Json answer;
    put(answer, "id", id);
    put(answer, "outcome", reply.outcome);
    put(answer, "reason", reason);
    write(to_, answer);
}

void Answers::check(std::int32_t partitions, std::string_view name,
                    std::optional<Group> const& group) {
    if (!isJson_) {
        to_ << "the topics are as they must be, with " << partitions << " partitions\n";
        if (!group) return;
        to_ << "group " << shown(name) << ": " << group->state << '\n'
            << fmt::format("{:>9}{:>16}{:>12}  {}\n", "partition", "offset", "lag", "worker");
    }
    Json rows = Json::array();
    for (std::size_t i = 0; group && i < group->partitions.size(); ++i) {
        auto const& [worker, offset, lag] = group->partitions[i];
        if (!isJson_) {
            to_ << fmt::format("{:>9}{:>16}{:>12}  {}\n", i,
                               offset ? std::to_string(*offset) : "none", lag,
                               worker ? shown(worker->id + " at " + worker->host) : "no worker");
            continue;
        }
        Json each{{"partition", i}, {"offset", nullptr}, {"lag", lag}, {"worker", nullptr}};
        if (offset) each["offset"] = *offset;
        if (worker) each["worker"] = {{"id", worker->id}, {"host", worker->host}};
        rows.push_back(std::move(each));
    }
    if (!isJson_) return;
    Json answer;
    answer["topics"]["partitions"] = partitions;
    if (group)
        answer["group"] = {
            {"name", name}, {"state", group->state}, {"partitions", std::move(rows)}};
    write(to_, answer);
}

}  // namespace timingwheel::inline v1::kafka
