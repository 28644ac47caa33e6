#pragma once

#include <timingwheel/TimerObserver.h>
#include <timingwheel/export.h>

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <system_error>

namespace timingwheel {
inline namespace v1 {

namespace detail {
class TraceWriter;
}

/// Hears of the first failure of a trace, and the timer goes on without it:
///
/// - a write failed, or the closing of the file: a full disk, say. Nothing more is written;
/// - there was no memory for an event, std::errc::not_enough_memory. What was traced before is
///   written, and the end, so that it is valid as it is.
///
/// Without a handler that is one line on stderr.
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
/// time       of the event, from the origin; a run's is when it began
/// entry      which timeout, from 1 in the order of their schedules: unlike its address it is not
///            used again. A wake has none
/// number     within the shard; the lines of a shard are in this order
/// thread     on which it happened, from 1; not used again when that has ended
/// periodic   is there, and true, if the timeout is periodic
/// others     as in `TimerEvent`, where the stage has them: lateness and duration of a run
///
/// Units          time, lateness and duration in nanoseconds; deadline and expiration in ticks
/// Memory         a buffer of 64 KiB; some 80 bytes for each timeout that has not ended, 40 for
///                each thread that ever told of something. Events that come before an earlier one
///                of their shard wait for it, 128 bytes each. When more than 65,536 of a shard
///                wait, 8 MiB, what they wait for is given up: it is left out if it comes after all
/// Thread safety  as TimerObserver
/// Lifetime       outlives the timer; a stream outlives it. For all events of one timer: one that
///                is kept from it is waited for as above
/// Errors         std::system_error with the path if the file cannot be opened
class TIMINGWHEEL_API JsonLinesTrace final : public TimerObserver {
public:
    explicit JsonLinesTrace(std::filesystem::path const& path, TraceErrorHandler onError = {});
    explicit JsonLinesTrace(std::ostream& stream, TraceErrorHandler onError = {});
    /// Writes what is in the buffer.
    ~JsonLinesTrace() override;

    void onEvent(TimerEvent const& event) noexcept override;
    /// Writes what is in the buffer, which is otherwise done when it is full.
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
/// A timeout is a span from its schedule to the end of its run, or to its cancel; a periodic one's
/// from schedule to cancel. Its other steps are marks on the span. Threads have tracks, with their
/// names: a run is a slice there as long as it took, a wake one without length, an arm a mark. A
/// counter, `pending`, shows how many spans are open.
///
/// The file is valid JSON once the trace has been destroyed. Before that the end of the array is
/// missing, which both programs forgive.
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

}  // namespace v1
}  // namespace timingwheel
