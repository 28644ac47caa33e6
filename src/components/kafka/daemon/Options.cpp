#include "components/kafka/daemon/Options.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/ActiveOptions.h"
#include "components/kafka/daemon/Targets.h"

#include <timingwheel/version.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <istream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

namespace {

constexpr char const* kAbout =
    "Delivers records of Kafka later: a worker of a group, or with a subcommand a question to such "
    "a group. Users write commands, with any Kafka client; each timer is delivered once, to those "
    "who read committed records. docs/beyond.md describes it.";

/// "key=value" pairs, as librdkafka's documentation names them.
std::string readSetting(std::string const& written, Options& options) {
    std::size_t const equals = written.find('=');
    if (equals == std::string::npos || equals == 0)
        return "--librdkafka " + written + ": it must be key=value";
    // What the promises rest on is not for settings to change.
    static constexpr char const* kOwn[] = {"bootstrap.servers",
                                           "metadata.broker.list",
                                           "delivery.report.only.error",
                                           "enable.auto.commit",
                                           "enable.auto.offset.store",
                                           "enable.idempotence",
                                           "enable.partition.eof",
                                           "group.id",
                                           "group.instance.id",
                                           "group.protocol",
                                           "isolation.level",
                                           "message.timeout.ms",
                                           "partitioner",
                                           "session.timeout.ms",
                                           "transactional.id",
                                           "acks",
                                           "auto.offset.reset",
                                           "partition.assignment.strategy",
                                           "transaction.timeout.ms"};
    std::string const key = written.substr(0, equals);
    if (std::find(std::begin(kOwn), std::end(kOwn), key) != std::end(kOwn))
        return "--librdkafka " + key + ": the program sets it itself";
    options.librdkafka[key] = written.substr(equals + 1);
    return {};
}

/// A number as it is printed: with a zero before it, it would be read as octal.
template <class Number>
CLI::Validator between(Number least, Number most, char const* unit) {
    return CLI::Validator{[=](std::string const& written) -> std::string {
                              try {
                                  long long const value = std::stoll(written);
                                  if (written == std::to_string(value) &&
                                      value >= static_cast<long long>(least) &&
                                      value <= static_cast<long long>(most))
                                      return {};
                              } catch (std::exception const&) {
                              }
                              return "is " + written + ": it must be " + std::to_string(least) +
                                     " to " + std::to_string(most) + unit;
                          },
                          "", "between"};
}

/// How many letters to add, remove or replace.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= to.size(); ++j) {
            std::size_t const replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j - 1] + 1, row[j] + 1, replaced}));
        }
    }
    return row.back();
}

/// The configuration file. An error of a key names the file, the line and the nearest key.
class ConfigurationFile : public CLI::ConfigBase {
public:
    explicit ConfigurationFile(CLI::App const& app) : app_{app} {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        std::stringstream copy;
        copy << input.rdbuf();
        std::string const text = copy.str();
        std::vector<CLI::ConfigItem> read = ConfigBase::from_config(copy);
        for (CLI::ConfigItem const& item : read) {
            if (!item.parents.empty())
                refuse(text, item.parents.front(), "there are no sections: leave it out");
            if (app_.get_option_no_throw("--" + item.name) == nullptr)
                refuse(text, item.name,
                       "there is no such option: did you mean " + nearest(item.name) + "?");
            // What is C reads a text up to there.
            for (std::string const& given : item.inputs)
                if (given.find('\0') != std::string::npos)
                    refuse(text, item.name, "it must be without a zero byte");
        }
        return read;
    }

private:
    [[noreturn]] void refuse(std::string const& text, std::string const& key,
                             std::string const& reason) const {
        std::istringstream lines{text};
        std::size_t number = 1;
        for (std::string line; std::getline(lines, line) && !hasKey(line, key);) ++number;
        throw CLI::ConfigError{app_.get_config_ptr()->as<std::string>() + ":" +
                               std::to_string(number) + ": " + key + ": " + reason};
    }
    static bool hasKey(std::string_view line, std::string_view key) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t[\"'"), line.size()));
        if (!line.starts_with(key)) return false;
        line.remove_prefix(key.size());
        return line.empty() || line.find_first_of(" \t\r]\"'=.") == 0;
    }
    std::string nearest(std::string const& key) const {
        std::vector<std::string> names;
        auto const isGroup = [](CLI::App const* each) { return each->get_name().empty(); };
        for (CLI::App const* const group : app_.get_subcommands(isGroup))
            for (CLI::Option const* const option : group->get_options())
                names.push_back(option->get_lnames().front());
        return *std::min_element(names.begin(), names.end(),
                                 [&](std::string const& one, std::string const& other) {
                                     return distance(key, one) < distance(key, other);
                                 });
    }

    CLI::App const& app_;
};

std::string problemWithTopic(std::string const& name) {
    if (isTopic(name)) return {};
    return "is " + kafka::quoted(name) + ": it must be " + kTopicBound;
}

std::string problemIfEmpty(std::string const& text) {
    return text.empty() ? "is empty: it must not be" : "";
}

void addCluster(CLI::App& app, Options& options, std::vector<std::string>& settings) {
    auto* const cluster = app.add_option_group("The cluster");
    cluster->add_option("--brokers", options.brokers, "host:port, and more of them after commas")
        ->required()
        ->check(problemIfEmpty);
    cluster
        ->add_option("--group", options.group,
                     "Workers of one group share the partitions. Also the beginning of the "
                     "transactional ids")
        ->check(problemIfEmpty);
    cluster->add_option("--commands", options.commands, "The topic that users write to")
        ->check(problemWithTopic);
    cluster->add_option("--state", options.state, "The compacted topic of what is pending")
        ->check(problemWithTopic);
    cluster
        ->add_option("--dead-letters", options.deadLetters,
                     "The topic of refused commands and failed deliveries")
        ->check(problemWithTopic);
    cluster
        ->add_option("--replies", options.replies,
                     "The topic of replies, to commands that ask for one; empty: none")
        ->check(
            [](std::string const& name) { return name.empty() ? name : problemWithTopic(name); });
    cluster
        ->add_option("--targets", options.targets,
                     "Topics that timers may be delivered to, and more of them after commas; a * "
                     "stands for any letters; repeatable")
        ->delimiter(',')
        ->check(CLI::Validator{problemWithTarget, "", "target"});
    cluster->add_option("--librdkafka", settings,
                        "key=value, for librdkafka: security.protocol=ssl and so on; repeatable");
}

void addLimits(CLI::App& app, Options& options, std::int64_t& session, std::int64_t& transaction,
               std::int64_t& horizon) {
    auto* const limits = app.add_option_group("Limits");
    limits
        ->add_option("--session-timeout-ms", session,
                     "A worker that is silent for this long loses its partitions. Brokers "
                     "allow 6,000 to 1,800,000, unless they are set otherwise")
        ->check(between(1'000, 3'600'000, " ms"));
    limits
        ->add_option("--transaction-timeout-ms", transaction,
                     "The broker ends a transaction that is open for this long")
        ->check(between(1'000, 900'000, " ms"));
    limits->add_option("--batch", options.batch, "Records in one transaction, at most")
        ->check(between(1, 1'000'000, " records"));
    limits
        ->add_option(
            "--memory-mb", options.memory,
            "Memory for pending timers. If it is full, schedules wait until something is due or "
            "cancelled")
        ->check(between(1, 1'000'000, " MB"));
    limits
        ->add_option("--horizon-s", horizon,
                     "Of what is due later than in this time memory holds 40 bytes; the state has "
                     "the rest, which is read when it comes near")
        ->check(between(1, 31'622'400, " s"));
    limits
        ->add_option("--standby", options.standby,
                     "1: follow the partitions of other workers, to take over at once; in memory "
                     "that is left. 0: read them when they are assigned")
        ->check(between(0, 1, ""));
    limits
        ->add_option("--max-delay-days", options.maxDelayDays,
                     "A timer that is due later than this is refused")
        ->check(between(std::int64_t{1}, kMaxDelayDays, " days"));
    limits
        ->add_option("--max-past-days", options.maxPastDays,
                     "A timer that was due earlier than this is refused")
        ->check(between(std::int64_t{1}, kMaxPastDays, " days"));
}

void addTheRest(CLI::App& app, Options& options) {
    auto* const watching = app.add_option_group("Watching");
    watching->add_option("--metrics", options.metrics,
                         "address:port, where /metrics is for Prometheus, /healthz and /readyz for "
                         "probes, and /config; empty: nowhere");
    watching->add_option("--log-level", options.logLevel, "The least severe messages on stderr")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
    auto* const setUp = app.add_option_group("Setting up");
    setUp
        ->add_option("--create-topics", options.createTopics,
                     "Make the topics that are missing, with this many partitions")
        ->check(between(1, 10'000, " partitions"));
    setUp->add_option("--replication", options.replication, "Replicas of the topics that it makes")
        ->check(between(1, 100, " brokers"));
}

constexpr char const* kMemory =
    " It reads the whole state. Its memory: up to 300 MB, and about 150 bytes for each pending "
    "timer of the largest partition";

/// The subcommands. `timeout` is in seconds.
void addOperations(CLI::App& app, Operation& operation, std::int64_t& timeout,
                   std::optional<Operation>& chosen) {
    app.require_subcommand(0, 1);
    using Kind = Operation::Kind;
    auto const add = [&](Kind kind, char const* name, std::string const& about) {
        CLI::App* const made = app.add_subcommand(name, about)->fallthrough();
        made->add_flag("--json", operation.isJson, "Answer in JSON");
        made->footer("Which set it asks: see the options in timingwheel-kafka --help.");
        made->callback([&operation, &chosen, kind] {
            operation.kind = kind;
            chosen = operation;
        });
        return made;
    };
    auto const addId = [&](CLI::App* made) {
        made->add_option("id", operation.id, "The timer's id")
            ->required()
            ->check(CLI::Validator{[](std::string const& id) -> std::string {
                                       if (!id.empty() && id.size() <= kMaxId) return {};
                                       return "has " + std::to_string(id.size()) +
                                              " bytes: it must have 1 to " + std::to_string(kMaxId);
                                   },
                                   "", "id"});
    };
    auto* const list = add(Kind::list, "list",
                           std::string{"List what is pending, the earliest due first."} + kMemory);
    list->add_option("--limit", operation.limit, "Timers in the list, at most")
        ->check(between(1, 1'000'000, " timers"));
    list->add_option("--to", operation.to, "Only those that are delivered to this topic");
    addId(add(Kind::show, "show",
              "Show a timer that is pending. Exits with 1 if there is none of that id"));
    auto* const cancel =
        add(Kind::cancel, "cancel",
            "Cancel a timer, and wait for the reply. Exits with 1 unless it is cancelled");
    addId(cancel);
    cancel->add_option("--timeout-s", timeout, "How long to wait for the reply")
        ->check(between(1, 3'600, " s"));
    add(Kind::forecast, "forecast", std::string{"Count what is due, and when."} + kMemory);
    add(Kind::check, "check",
        "Check the topics and their settings, and say which worker has which partition. Exits with "
        "1 if a partition has none")
        ->add_flag("--topics-only", operation.isOfTopicsOnly, "No worker need run");
}

/// Checks that concern several options.
void checkTogether(Options& options, std::vector<std::string> const& settings,
                   std::optional<Operation> const& operation) {
    for (std::string const& setting : settings)
        if (std::string const wrong = readSetting(setting, options); !wrong.empty())
            throw CLI::ValidationError{wrong};
    std::vector<std::string> topics{options.commands, options.state, options.deadLetters};
    if (!options.replies.empty()) topics.push_back(options.replies);
    std::sort(topics.begin(), topics.end());
    auto const twice = std::adjacent_find(topics.begin(), topics.end());
    if (twice != topics.end())
        throw CLI::ValidationError{
            "--commands, --state, --dead-letters and --replies must be different topics: " +
            *twice + " is there twice"};
    if (operation && operation->kind == Operation::Kind::cancel && options.replies.empty())
        throw CLI::ValidationError{"cancel waits for a reply: --replies must name the topic"};
}

}  // namespace

CommandLine parse(int argc, char const* const* argv) {
    CommandLine line;
    Options& options = line.options;
    std::vector<std::string> settings;
    std::int64_t session = options.sessionTimeout.count();
    std::int64_t transaction = options.transactionTimeout.count();
    std::int64_t horizon = std::chrono::floor<std::chrono::seconds>(options.horizon).count();
    Operation operation;
    std::int64_t timeout = operation.timeout.count();

    CLI::App app{kAbout, "timingwheel-kafka"};
    app.set_version_flag("--version",
                         std::string{"timingwheel-kafka "} + TIMINGWHEEL_VERSION_STRING);
    app.set_config("--config", "", "Read options from this file (TOML or INI), too");
    app.config_formatter(std::make_shared<ConfigurationFile>(app));
    app.option_defaults()->always_capture_default();
    addCluster(app, options, settings);
    addLimits(app, options, session, transaction, horizon);
    addTheRest(app, options);
    addOperations(app, operation, timeout, line.operation);
    try {
        app.parse(argc, argv);
        checkTogether(options, settings, line.operation);
        options.active = activeOptions(app, options);
    } catch (CLI::ParseError const& error) {
        bool const isWanted = error.get_exit_code() == 0;  // help, version
        int const status = app.exit(error);
        line.exitStatus = isWanted ? status : kBadConfiguration;
    }
    options.sessionTimeout = std::chrono::milliseconds{session};
    options.transactionTimeout = std::chrono::milliseconds{transaction};
    options.horizon = std::chrono::seconds{horizon};
    if (line.operation) line.operation->timeout = std::chrono::seconds{timeout};
    return line;
}

}  // namespace timingwheel::inline v1::kafka
