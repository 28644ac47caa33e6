#include "core/base/platform/Thread.h"
#include "core/trace/TraceWriter.h"

#include <timingwheel/TimerTrace.h>

#include <string>
#include <string_view>
#include <utility>

namespace timingwheel::inline v1 {

namespace {

using Stage = TimerEvent::Stage;
using std::chrono::nanoseconds;

/// Phases are named as in the format's description: b begins a span, n marks it, e ends it; X is a
/// slice of a thread's track, i a mark there, C a counter, M metadata.
class Chrome final : public detail::TraceWriter {
public:
    using TraceWriter::TraceWriter;

private:
    void write(detail::TracedEvent const& traced, std::uint64_t entry) override {
        TimerEvent const& event = traced.event;
        nanoseconds const time = event.time.time_since_epoch();
        switch (event.stage) {
            case Stage::schedule:
                begin("b", "timeout", "timeout", traced, time);
                span(event, entry);
                return count(time);
            case Stage::arm:
                begin("i", "bucket", "arm", traced, time);
                output_ << ",\"s\":\"t\"";
                return bucket(event);
            case Stage::wake:
                begin("X", "bucket", "wake", traced, time);
                output_ << ",\"dur\":0";
                return bucket(event);
            case Stage::restart:
                begin("i", "bucket", "restart", traced, time);
                output_ << ",\"s\":\"t\",\"args\":{\"shard\":" << event.shard
                        << ",\"expiration\":" << event.expiration.value() << "}}";
                return;
            case Stage::run:
                return run(traced, entry, time);
            case Stage::cancel:
                return endSpan(traced, entry, time);
            default:
                begin("n", "timeout", toString(event.stage), traced, time);
                return event.stage == Stage::place || event.stage == Stage::cascade
                           ? place(event, entry)
                           : span(event, entry);
        }
    }

    void run(detail::TracedEvent const& traced, std::uint64_t entry, nanoseconds time) {
        TimerEvent const& event = traced.event;
        begin("X", "run", "run", traced, time);
        output_ << ",\"dur\":";
        microseconds(event.duration);
        output_ << ",\"args\":{\"entry\":" << entry << ",\"deadline\":" << event.deadline.value()
                << ",\"lateness\":" << std::int64_t{event.lateness.count()} << "}}";
        if (!event.isPeriodic) return endSpan(traced, entry, time + event.duration);
        begin("n", "timeout", "run", traced, time);
        span(event, entry);
    }

    void endSpan(detail::TracedEvent const& traced, std::uint64_t entry, nanoseconds time) {
        begin("e", "timeout", "timeout", traced, time);
        output_ << ",\"id\":" << entry << ",\"args\":{\"ended\":\"" << toString(traced.event.stage)
                << "\"}}";
        count(time);
    }

    void span(TimerEvent const& event, std::uint64_t entry) {
        output_ << ",\"id\":" << entry << ",\"args\":{\"shard\":" << event.shard
                << ",\"deadline\":" << event.deadline.value() << "}}";
    }

    void place(TimerEvent const& event, std::uint64_t entry) {
        output_ << ",\"id\":" << entry;
        bucket(event);
    }

    void bucket(TimerEvent const& event) {
        output_ << ",\"args\":{\"shard\":" << event.shard;
        if (event.stage == Stage::cascade) output_ << ",\"fromLevel\":" << event.fromLevel;
        output_ << ",\"level\":" << event.level << ",\"slot\":" << event.slot
                << ",\"expiration\":" << event.expiration.value() << "}}";
    }

    void count(nanoseconds time) {
        object("C", "timeout", "pending");
        output_ << ",\"ts\":";
        microseconds(time);
        output_ << ",\"args\":{\"pending\":" << std::uint64_t{pending()} << "}}";
    }

    void writeThread(std::uint32_t thread) override {
        object("M", "__metadata", "thread_name");
        output_ << ",\"tid\":" << thread << ",\"args\":{\"name\":\"";
        for (char const c : detail::nameOfThisThread())
            output_ << (c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '_');
        output_ << "\"}}";
    }

    void writeEnd() override { output_ << (output_.isEmpty() ? "[]\n" : "\n]\n"); }

    /// Begins an object, with the comma before it: the array may end after any object.
    void object(char const* phase, char const* category, char const* name) {
        output_ << (output_.isEmpty() ? "[\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"cat\":\""
                << category << "\",\"name\":\"" << name << "\",\"pid\":1";
    }

    void begin(char const* phase, char const* category, char const* name,
               detail::TracedEvent const& traced, nanoseconds time) {
        object(phase, category, name);
        output_ << ",\"tid\":" << traced.thread << ",\"ts\":";
        microseconds(time);
    }

    void microseconds(nanoseconds time) {
        std::int64_t const count = time.count();
        std::uint64_t const size =
            count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
        if (count < 0) output_ << '-';
        std::string const fraction = std::to_string(1000 + size % 1000);
        output_ << size / 1000 << '.' << std::string_view{fraction}.substr(1);
    }
};

}  // namespace

ChromeTrace::ChromeTrace(std::filesystem::path const& path, TraceErrorHandler onError)
    : writer_{std::make_unique<Chrome>(detail::TraceOutput{path}, std::move(onError))} {}

ChromeTrace::ChromeTrace(std::ostream& stream, TraceErrorHandler onError)
    : writer_{std::make_unique<Chrome>(detail::TraceOutput{stream}, std::move(onError))} {}

ChromeTrace::~ChromeTrace() { writer_->finish(); }

void ChromeTrace::onEvent(TimerEvent const& event) noexcept { writer_->onEvent(event); }

void ChromeTrace::flush() noexcept { writer_->flush(); }

}  // namespace timingwheel::inline v1
