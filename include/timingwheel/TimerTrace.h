#pragma once

#include <timingwheel/TimerObserver.h>
#include <timingwheel/detail/platform/export.h>

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <system_error>

namespace timingwheel::inline v1 {

namespace detail {
class TraceWriter;
}

/// Receives the first failure of a trace, after which the timer goes on without the trace:
///
/// - A write failed, or closing the file did: a full disk, for instance. Nothing more is written.
/// - There was no memory for an event: std::errc::not_enough_memory. What was traced before is
///   written, with an end, so that the file is valid.
///
/// Without a handler the failure is one line on stderr.
using TraceErrorHandler = std::function<void(std::system_error const&)>;

/// Writes every event of a timer as a line of JSON, for scripts.
///
///     timingwheel::JsonLinesTrace trace{"timer.jsonl"};
///     timingwheel::SystemTimer timer{{.observer = &trace}};
///
/// The first line states the origin, the first event's time on the timer's clock: {"origin":0}.
/// Each other line is an event:
///
///     {"time":20000000,"stage":"cascade","entry":1,"shard":0,"number":5,"thread":1,
///      "deadline":25,"fromLevel":1,"level":0,"slot":5,"expiration":25}
///
/// time       of the event, from the origin; of a run, when it began
/// entry      which timeout, counted from 1 in the order of schedules; never reused, unlike an
///            address. A wake and a restart have none
/// number     within the shard; the lines of a shard are in this order
/// thread     on which it happened, from 1; never reused
/// periodic   present, and true, if the timeout is periodic
/// others     as in `TimerEvent`, where the stage has them: lateness and duration of a run
///
/// Units          time, lateness and duration in nanoseconds; deadline and expiration in ticks
/// Memory         a buffer of 64 KiB; some 80 bytes for each timeout that has not ended, and 40 for
///                each thread that reported an event. An event that arrives before an earlier one
///                of its shard waits for it, in 128 bytes. When more than 65,536 events of a shard
///                wait (8 MiB), the trace goes on without the missing one, and drops it if it
///                arrives after all
/// Thread safety  as TimerObserver
/// Lifetime       must outlive the timer, and a stream must outlive the trace. Give it all events
///                of one timer: it waits for a missing one, as above
/// Errors         std::system_error with the path if the file cannot be opened
class TIMINGWHEEL_API JsonLinesTrace final : public TimerObserver {
public:
    explicit JsonLinesTrace(std::filesystem::path const& path, TraceErrorHandler onError = {});
    explicit JsonLinesTrace(std::ostream& stream, TraceErrorHandler onError = {});
    /// Writes what is in the buffer.
    ~JsonLinesTrace() override;

    void onEvent(TimerEvent const& event) noexcept override;
    /// Writes what is in the buffer, without waiting until it is full.
    void flush() noexcept;

private:
    std::unique_ptr<detail::TraceWriter> writer_;
};

/// Writes the events of a timer in Chrome's trace event format, to look at the flow of a running
/// program in Perfetto (https://ui.perfetto.dev) or chrome://tracing.
///
///     timingwheel::ChromeTrace trace{"timer.json"};
///     timingwheel::SystemTimer timer{{.observer = &trace}};
///
/// A timeout is a span from its schedule to the end of its run or to its cancel; a periodic one's
/// ends with the cancel. Its other steps are marks on the span. Each thread has a track with its
/// name. On it a run is a slice as long as the run, a wake a slice without length, an arm a mark.
/// The counter `pending` shows how many spans are open.
///
/// The file is valid JSON once the trace has been destroyed. Until then the end of the array is
/// missing, which both programs accept.
///
/// Units          ts and dur in microseconds, as the format demands; lateness in nanoseconds;
///                deadline and expiration in ticks. ts is the time on the timer's clock
/// Memory, thread safety, lifetime, errors    as JsonLinesTrace
class TIMINGWHEEL_API ChromeTrace final : public TimerObserver {
public:
    explicit ChromeTrace(std::filesystem::path const& path, TraceErrorHandler onError = {});
    explicit ChromeTrace(std::ostream& stream, TraceErrorHandler onError = {});
    /// Ends the array and writes what is in the buffer.
    ~ChromeTrace() override;

    void onEvent(TimerEvent const& event) noexcept override;
    void flush() noexcept;

private:
    std::unique_ptr<detail::TraceWriter> writer_;
};

}  // namespace timingwheel::inline v1
