#pragma once

#include <timingwheel/kafka/detail/platform/export.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// An error from librdkafka or a broker. The message says what was tried.
class TIMINGWHEEL_KAFKA_API KafkaError : public std::runtime_error {
public:
    KafkaError(std::string const& message, int code) : std::runtime_error{message}, code_{code} {}
    /// librdkafka's code, an rd_kafka_resp_err_t.
    int code() const noexcept { return code_; }

private:
    int code_;
};

/// When a record is delivered again: every so often, or by the calendar.
struct RecurrenceRule {
    enum class Gap { atItsEnd, skip };
    enum class Overlap { first, last, both };
    enum class Missed { skip, catchUp };

    /// One of these three. 1 s to 36,600 days; workers may refuse more (--max-delay-days).
    std::chrono::milliseconds every = {};
    /// Workers read the other two as calendar::CalendarExpression does, and refuse what they do not
    /// understand. At most 1,000 bytes.
    std::string cron = {};
    std::string onCalendar = {};
    /// Of cron and onCalendar: an IANA zone, UTC if it is empty, and what happens where its clocks
    /// change, as calendar::CalendarPolicy.
    std::string zone = {};
    Gap gap = Gap::atItsEnd;
    Overlap overlap = Overlap::first;
    /// What becomes of times that have passed when the record is delivered.
    Missed missed = Missed::skip;
};

/// A record that is to be delivered later.
struct DelayedRecord {
    /// The timer's id, 1 to 1,000 bytes. Scheduling an id again replaces its time and record.
    std::string id;
    /// At most 10,000 days past and 36,600 ahead; workers may refuse more (--max-past-days,
    /// --max-delay-days: 3,660 days by default). With a rule, the first time; if it is left out,
    /// the rule's first from now on.
    std::chrono::system_clock::time_point at = {};
    /// The topic to deliver to.
    std::string to;
    std::optional<std::string> value = {};
    /// The record's key; the id if there is none.
    std::optional<std::string> key = {};
    /// Delivered with the record. No name may begin with "timingwheel-". At most 100.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// Delivers it again and again, until it is cancelled or replaced.
    std::optional<RecurrenceRule> rule = {};
};

/// All are checked by the constructor, which throws std::invalid_argument with the option's name.
struct TimerClientOptions {
    /// host:port, and more of them after commas.
    std::string brokers;
    /// The topic that the workers read.
    std::string commands = "timers.commands";
    /// librdkafka's own settings: "security.protocol" and so on.
    std::map<std::string, std::string> librdkafka = {};
};

/// Schedules records on Kafka, for timingwheel-kafka to deliver. docs/beyond.md describes both.
///
///     kafka::TimerClient timers{{.brokers = "localhost:9092"}};
///     timers.schedule({.id = "4711",
///                      .at = std::chrono::system_clock::now() + 30min,
///                      .to = "orders.unpaid"}).get();
///     timers.cancel("4711").get();
///     timers.schedule({.id = "report",
///                      .to = "reports.due",
///                      .rule = kafka::RecurrenceRule{.cron = "0 9 * * MON",
///                                                    .zone = "Europe/Zurich"}}).get();
///
/// A call writes a command, with the right headers and into the right partition; any other client
/// of Kafka can do the same. Its future is ready when the brokers have the command, on all replicas
/// that are in sync. The outcome goes to the topic of replies, if the call asks for one:
/// scheduled, replaced, pushed-back, cancelled, too-late, or refused and why.
///
/// - One client's commands for one timer take effect in the order of the calls.
/// - A future throws KafkaError if the brokers did not confirm within five minutes. Then the
///   command may still be there.
///
/// Units          times to the millisecond, rounded up
/// Thread safety  every function from any thread
/// Lifetime       the destructor waits until the brokers have what was written, for at most ten
///                seconds; futures may outlive the client
/// Errors         std::invalid_argument names what is out of range, and nothing was written;
///                KafkaError if a command is larger than librdkafka's message.max.bytes, or its
///                queue of 100,000 commands is full for a minute
class TIMINGWHEEL_KAFKA_API TimerClient {
public:
    using TimePoint = std::chrono::system_clock::time_point;

    explicit TimerClient(TimerClientOptions options);
    TimerClient(TimerClient const&) = delete;
    TimerClient& operator=(TimerClient const&) = delete;
    ~TimerClient();

    /// `reply` asks for a reply, which carries that text. An empty one asks for none.
    [[nodiscard]] std::future<void> schedule(DelayedRecord const& record,
                                             std::string_view reply = {});
    /// Nothing changes if the timer is not pending when the command is read. The same holds for
    /// cancel.
    [[nodiscard]] std::future<void> pushBack(std::string_view id, TimePoint at,
                                             std::string_view reply = {});
    [[nodiscard]] std::future<void> cancel(std::string_view id, std::string_view reply = {});

private:
    class Connection;
    std::unique_ptr<Connection> connection_;
};

}  // namespace timingwheel::inline v1::kafka
