#include "apps/kafka/Options.h"

#include <timingwheel/version.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

constexpr char const* kAbout =
    "Delivers records of Kafka later: a worker of a group. Users write commands, with any Kafka "
    "client; each timer is delivered once, to those who read committed records. docs/beyond.md "
    "describes it.";

/// "key=value" pairs, as librdkafka's documentation names them.
std::string readSetting(std::string const& written, Options& options) {
    std::size_t const equals = written.find('=');
    if (equals == std::string::npos || equals == 0)
        return "--librdkafka " + written + ": it must be key=value";
    // What the promises rest on is not for settings to change.
    static constexpr char const* kOwn[] = {"bootstrap.servers",
                                           "metadata.broker.list",
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

template <class Number>
CLI::Validator between(Number least, Number most, char const* unit) {
    return CLI::Validator{[=](std::string const& written) -> std::string {
                              try {
                                  std::size_t used = 0;
                                  long long const value = std::stoll(written, &used);
                                  if (used == written.size() &&
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

void addCluster(CLI::App& app, Options& options, std::vector<std::string>& settings) {
    auto* const cluster = app.add_option_group("The cluster");
    cluster->add_option("--brokers", options.brokers, "host:port, and more of them after commas")
        ->required();
    cluster->add_option("--group", options.group,
                        "Workers of one group share the partitions. Also the beginning of the "
                        "transactional ids");
    cluster->add_option("--commands", options.commands, "The topic that users write to");
    cluster->add_option("--state", options.state, "The compacted topic of what is pending");
    cluster->add_option("--dead-letters", options.deadLetters,
                        "Where commands go that are refused, and deliveries that fail");
    cluster->add_option("--replies", options.replies,
                        "Where to say what became of commands that ask; empty: nowhere");
    cluster->add_option("--librdkafka", settings,
                        "key=value, for librdkafka: security.protocol=ssl and so on; repeatable");
}

void addLimits(CLI::App& app, Options& options, std::int64_t& session, std::int64_t& transaction) {
    auto* const limits = app.add_option_group("Limits");
    limits
        ->add_option("--session-timeout-ms", session,
                     "A worker that is silent for so long loses its partitions")
        ->check(between(1'000, 3'600'000, " ms"));
    limits
        ->add_option("--transaction-timeout-ms", transaction,
                     "The broker ends a transaction that is open for so long")
        ->check(between(1'000, 900'000, " ms"));
    limits->add_option("--batch", options.batch, "Records in one transaction, at most")
        ->check(between(1, 1'000'000, " records"));
    limits
        ->add_option("--memory-mb", options.memory,
                     "For what is pending. If it is full, commands wait until something is due")
        ->check(between(1, 1'000'000, " MB"));
    limits
        ->add_option("--max-delay-days", options.maxDelayDays,
                     "A timer that is due later than this is refused")
        ->check(between(1, 36'600, " days"));
}

void addTheRest(CLI::App& app, Options& options) {
    auto* const watching = app.add_option_group("Watching");
    watching->add_option("--metrics", options.metrics,
                         "address:port, where Prometheus finds /metrics; empty: nowhere");
    watching->add_option("--log-level", options.logLevel, "What to say on stderr")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
    auto* const setUp = app.add_option_group("Setting up");
    setUp
        ->add_option("--create-topics", options.createTopics,
                     "Make the topics that are missing, with so many partitions")
        ->check(between(1, 10'000, " partitions"));
    setUp->add_option("--replication", options.replication, "Of the topics that it makes")
        ->check(between(1, 100, " brokers"));
    setUp->add_flag("--check", options.isCheck, "Check the topics and their settings, and end");
}

/// What no option sees alone.
void checkTogether(Options& options, std::vector<std::string> const& settings) {
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
}

}  // namespace

CommandLine parse(int argc, char const* const* argv) {
    CommandLine line;
    Options& options = line.options;
    std::vector<std::string> settings;
    std::int64_t session = options.sessionTimeout.count();
    std::int64_t transaction = options.transactionTimeout.count();

    CLI::App app{kAbout, "timingwheel-kafka"};
    app.set_version_flag("--version",
                         std::string{"timingwheel-kafka "} + TIMINGWHEEL_VERSION_STRING);
    app.set_config("--config", "", "Read options from this file (TOML or INI), too");
    app.allow_config_extras(CLI::config_extras_mode::error);
    app.option_defaults()->always_capture_default();
    addCluster(app, options, settings);
    addLimits(app, options, session, transaction);
    addTheRest(app, options);
    try {
        app.parse(argc, argv);
        checkTogether(options, settings);
    } catch (CLI::ParseError const& error) {
        bool const isWanted = error.get_exit_code() == 0;  // help, version
        int const status = app.exit(error);
        line.exitStatus = isWanted ? status : kBadConfiguration;
    }
    options.sessionTimeout = std::chrono::milliseconds{session};
    options.transactionTimeout = std::chrono::milliseconds{transaction};
    return line;
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
