// timingwheel-kafka: delivers records of Kafka later.

#include "components/kafka/daemon/ActiveOptions.h"
#include "components/kafka/daemon/HttpServer.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/Options.h"
#include "components/kafka/daemon/Pages.h"
#include "components/kafka/daemon/Topics.h"
#include "components/kafka/daemon/Worker.h"

#include <timingwheel/version.h>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <optional>
#include <stdexcept>

namespace timingwheel::inline v1::kafka {

namespace {

std::atomic<bool> isStopping{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void stopAtSignals() {
    struct sigaction action {};
    action.sa_handler = [](int) { isStopping = true; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

void logToStderr(Options const& options) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("timingwheel-kafka"));
    spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    spdlog::set_level(spdlog::level::from_str(options.logLevel));
}

int run(CommandLine const& line) {
    Options const& options = line.options;
    if (line.exitStatus) return *line.exitStatus;
    logToStderr(options);
    std::signal(SIGPIPE, SIG_IGN);
    if (line.operation) return operate(options, *line.operation);
    stopAtSignals();

    Metrics metrics;
    Topics topics{options};
    if (options.createTopics > 0) topics.create();
    std::int32_t const partitions = topics.check();
    std::optional<HttpServer> server;
    if (!options.metrics.empty()) server.emplace(options.metrics, pagesOf(metrics, options.active));
    spdlog::info("timingwheel-kafka {}: group {}, {} with {} partitions",
                 TIMINGWHEEL_VERSION_STRING, options.group, options.commands, partitions);
    spdlog::info("options: {}", inOneLine(options.active));
    Worker worker{options, topics, metrics};
    worker.run(isStopping);
    return 0;
}

}  // namespace

}  // namespace timingwheel::inline v1::kafka

int main(int argc, char** argv) {
    namespace kafka = timingwheel::kafka;
    try {
        return kafka::run(kafka::parse(argc, argv));
    } catch (std::invalid_argument const& error) {
        spdlog::error("{}", error.what());
        return kafka::kBadConfiguration;
    } catch (std::exception const& error) {
        spdlog::error("{}", error.what());
        return kafka::kFailed;
    }
}
