#include "components/kafka/client/Client.h"
#include "components/kafka/client/Headers.h"
#include "core/base/OptionChecks.h"
#include "core/base/TimeArithmetic.h"

#include <timingwheel/kafka/TimerClient.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

using timingwheel::detail::refuseOption;
using timingwheel::detail::requireAtMost;
using timingwheel::detail::requireWithin;

namespace {

using Headers = Owned<rd_kafka_headers_t, rd_kafka_headers_destroy>;

void add(rd_kafka_headers_t* headers, std::string_view name, std::string_view value) {
    check(rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                              static_cast<ssize_t>(value.size())),
          "a header");
}

void checkId(std::string_view id) {
    requireWithin("kafka: the length of id", id.size(), 1, kMaxId, " bytes");
}

void requireTopic(char const* option, std::string_view name) {
    if (!isTopic(name)) refuseOption(option, quoted(name), kTopicBound);
}

std::string inMilliseconds(TimerClient::TimePoint at) {
    std::int64_t const time = timingwheel::detail::deadlineToMilliseconds(at);
    std::int64_t const now =
        timingwheel::detail::nowToMilliseconds(std::chrono::system_clock::now());
    std::int64_t const earliest = std::max<std::int64_t>(now - kMaxPastDays * kDay, 0);
    std::int64_t const latest = now + kMaxDelayDays * kDay;
    requireWithin("kafka: at", time, earliest, latest, " ms since 1970");
    return std::to_string(time);
}

using HeaderPairs = std::vector<std::pair<std::string_view, std::string>>;

/// What a rule says, as headers. A default has none.
HeaderPairs headersOf(RecurrenceRule const& rule) {
    using Rule = RecurrenceRule;
    bool const isByCalendar = !rule.cron.empty() || !rule.onCalendar.empty();
    if (isByCalendar ? rule.every.count() != 0 || (!rule.cron.empty() && !rule.onCalendar.empty())
                     : rule.every.count() == 0)
        refuseOption("kafka: rule", isByCalendar ? "several" : "empty",
                     "one of every, cron and onCalendar");
    HeaderPairs headers;
    if (!isByCalendar) {
        requireWithin("kafka: every", std::int64_t{rule.every.count()}, kMinEvery,
                      kMaxDelayDays * kDay, " ms");
        if (!rule.zone.empty() || rule.gap != Rule::Gap::atItsEnd ||
            rule.overlap != Rule::Overlap::first)
            refuseOption("kafka: zone, gap or overlap", "set", "of cron or onCalendar");
        headers.emplace_back(header::kEvery, std::to_string(rule.every.count()));
    }
    for (auto const& [name, text] :
         {std::pair{header::kCron, &rule.cron}, std::pair{header::kCalendar, &rule.onCalendar},
          std::pair{header::kZone, &rule.zone}}) {
        requireAtMost("kafka: the length of " + std::string{name}, text->size(), kMaxRule,
                      " bytes");
        if (!text->empty()) headers.emplace_back(name, *text);
    }
    if (rule.gap == Rule::Gap::skip) headers.emplace_back(header::kGap, header::kSkip);
    if (rule.overlap == Rule::Overlap::last) headers.emplace_back(header::kOverlap, header::kLast);
    if (rule.overlap == Rule::Overlap::both) headers.emplace_back(header::kOverlap, header::kBoth);
    if (rule.missed == Rule::Missed::catchUp)
        headers.emplace_back(header::kMissed, header::kCatchUp);
    return headers;
}

void checkRecord(DelayedRecord const& record) {
    checkId(record.id);
    requireTopic("kafka: to", record.to);
    requireAtMost("kafka: the number of headers", record.headers.size(), kMaxHeaders);
    for (auto const& [name, value] : record.headers) {
        if (name.starts_with(header::kPrefix))
            refuseOption("kafka: the name of a header", name,
                         "without " + std::string{header::kPrefix} + " at its beginning");
        // librdkafka reads a name up to there.
        if (name.find('\0') != std::string::npos)
            refuseOption("kafka: the name of a header", name.c_str(), "without a zero byte");
    }
}

}  // namespace

/// librdkafka's producer, and the thread that receives the outcome of each write.
class TimerClient::Connection {
public:
    explicit Connection(TimerClientOptions const& options) : commands_{options.commands} {
        if (options.brokers.empty()) refuseOption("kafka: brokers", "empty", "host:port");
        requireTopic("kafka: commands", options.commands);
        Settings settings = options.librdkafka;
        settings["bootstrap.servers"] = options.brokers;
        // As Java does it: the worker of a timer is found by its id, whoever schedules it.
        settings["partitioner"] = "murmur2_random";
        // In order, and each once.
        settings["enable.idempotence"] = "true";
        // Otherwise the future of a success would never be ready.
        settings["delivery.report.only.error"] = "false";
        Configuration configuration{settings};
        rd_kafka_conf_set_dr_msg_cb(configuration.get(), onDelivery);
        producer_ = configuration.makeClient(RD_KAFKA_PRODUCER);
        listener_ = std::thread{[this] {
            while (!isStopping_) rd_kafka_poll(producer_.get(), 100);
        }};
    }
    ~Connection() {
        rd_kafka_flush(producer_.get(), 10'000);
        isStopping_ = true;
        listener_.join();
        // Futures that are not ready yet get an error: the outcome is unknown.
        rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(producer_.get(), 10'000);
    }

    std::future<void> write(std::string_view id, std::optional<std::string> const& value,
                            Headers headers) {
        auto confirmed = std::make_unique<std::promise<void>>();
        std::future<void> future = confirmed->get_future();
        rd_kafka_vu_t fields[6];
        std::size_t count = 0;
        auto const field = [&](rd_kafka_vtype_t type) -> auto& {
            fields[count].vtype = type;
            return fields[count++].u;
        };
        field(RD_KAFKA_VTYPE_TOPIC).cstr = commands_.c_str();
        field(RD_KAFKA_VTYPE_MSGFLAGS).i = RD_KAFKA_MSG_F_COPY;
        field(RD_KAFKA_VTYPE_OPAQUE).ptr = confirmed.get();
        field(RD_KAFKA_VTYPE_KEY).mem = {const_cast<char*>(id.data()), id.size()};
        field(RD_KAFKA_VTYPE_HEADERS).headers = headers.get();
        if (value)
            field(RD_KAFKA_VTYPE_VALUE).mem = {const_cast<char*>(value->data()), value->size()};
        auto const giveUpAt = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (true) {
            rd_kafka_error_t* const error = rd_kafka_produceva(producer_.get(), fields, count);
            if (error == nullptr) break;
            ClientError const failed{"to write a command to " + commands_, error};
            if (failed.code() != RD_KAFKA_RESP_ERR__QUEUE_FULL ||
                std::chrono::steady_clock::now() > giveUpAt)
                throw failed;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        [[maybe_unused]] rd_kafka_headers_t* const taken = headers.release();
        [[maybe_unused]] std::promise<void>* const awaited = confirmed.release();
        return future;
    }

private:
    static void onDelivery(rd_kafka_t*, rd_kafka_message_t const* message, void*) {
        std::unique_ptr<std::promise<void>> const confirmed{
            static_cast<std::promise<void>*>(message->_private)};
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            confirmed->set_value();
        else
            confirmed->set_exception(
                std::make_exception_ptr(ClientError{"a command was not confirmed", message->err}));
    }

    std::string const commands_;
    std::atomic<bool> isStopping_{false};
    Client producer_;
    std::thread listener_;
};

TimerClient::TimerClient(TimerClientOptions options)
    : connection_{std::make_unique<Connection>(options)} {}

TimerClient::~TimerClient() = default;

std::future<void> TimerClient::schedule(DelayedRecord const& record, std::string_view reply) {
    checkRecord(record);
    auto const rule = record.rule ? headersOf(*record.rule) : HeaderPairs{};
    bool const hasAt = !record.rule || record.at != TimePoint{};
    std::string const at = hasAt ? inMilliseconds(record.at) : std::string{};
    Headers headers{rd_kafka_headers_new(record.headers.size() + rule.size() + 5)};
    add(headers.get(), header::kCommand, header::kSchedule);
    if (hasAt) add(headers.get(), header::kAt, at);
    for (auto const& [name, value] : rule) add(headers.get(), name, value);
    add(headers.get(), header::kTo, record.to);
    if (record.key) add(headers.get(), header::kKey, *record.key);
    if (!reply.empty()) add(headers.get(), header::kReply, reply);
    for (auto const& [name, value] : record.headers) add(headers.get(), name, value);
    return connection_->write(record.id, record.value, std::move(headers));
}

std::future<void> TimerClient::pushBack(std::string_view id, TimePoint at, std::string_view reply) {
    checkId(id);
    std::string const time = inMilliseconds(at);
    Headers headers{rd_kafka_headers_new(3)};
    add(headers.get(), header::kCommand, header::kPushBack);
    add(headers.get(), header::kAt, time);
    if (!reply.empty()) add(headers.get(), header::kReply, reply);
    return connection_->write(id, std::nullopt, std::move(headers));
}

std::future<void> TimerClient::cancel(std::string_view id, std::string_view reply) {
    checkId(id);
    Headers headers{rd_kafka_headers_new(2)};
    add(headers.get(), header::kCommand, header::kCancel);
    if (!reply.empty()) add(headers.get(), header::kReply, reply);
    return connection_->write(id, std::nullopt, std::move(headers));
}

}  // namespace timingwheel::inline v1::kafka
