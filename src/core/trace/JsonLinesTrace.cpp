#include "core/trace/TraceWriter.h"

#include <timingwheel/TimerTrace.h>

#include <optional>
#include <utility>

namespace timingwheel::inline v1 {

namespace {

using Stage = TimerEvent::Stage;

class JsonLines final : public detail::TraceWriter {
public:
    using TraceWriter::TraceWriter;

private:
    void write(detail::TracedEvent const& traced, std::uint64_t entry) override {
        TimerEvent const& event = traced.event;
        if (!origin_) {
            origin_ = event.time;
            output_ << "{\"origin\":" << nanoseconds(event.time.time_since_epoch()) << "}\n";
        }
        output_ << "{\"time\":";
        sinceOrigin(event.time);
        output_ << ",\"stage\":\"" << toString(event.stage) << '"';
        if (entry != 0) output_ << ",\"entry\":" << entry;
        output_ << ",\"shard\":" << event.shard << ",\"number\":" << event.number
                << ",\"thread\":" << traced.thread;
        if (entry != 0) output_ << ",\"deadline\":" << event.deadline.value();
        if (event.isPeriodic) output_ << ",\"periodic\":true";
        writeOwn(event);
        output_ << "}\n";
    }

    /// The fields that only this stage has.
    void writeOwn(TimerEvent const& event) {
        switch (event.stage) {
            case Stage::cascade:
                output_ << ",\"fromLevel\":" << event.fromLevel;
                [[fallthrough]];
            case Stage::place:
            case Stage::arm:
            case Stage::wake:
                output_ << ",\"level\":" << event.level << ",\"slot\":" << event.slot
                        << ",\"expiration\":" << event.expiration.value();
                break;
            case Stage::restart:
                output_ << ",\"expiration\":" << event.expiration.value();
                break;
            case Stage::run:
                output_ << ",\"lateness\":" << nanoseconds(event.lateness)
                        << ",\"duration\":" << nanoseconds(event.duration);
                break;
            default:
                break;
        }
    }

    /// Unsigned: it may be twice as long as std::chrono::nanoseconds can express.
    void sinceOrigin(Clock::TimePoint time) {
        auto const from = static_cast<std::uint64_t>(nanoseconds(origin_->time_since_epoch()));
        auto const to = static_cast<std::uint64_t>(nanoseconds(time.time_since_epoch()));
        if (time < *origin_)
            output_ << '-' << from - to;
        else
            output_ << to - from;
    }

    void writeThread(std::uint32_t) override {}
    void writeEnd() override {}

    static std::int64_t nanoseconds(std::chrono::nanoseconds time) noexcept { return time.count(); }

    std::optional<Clock::TimePoint> origin_;
};

}  // namespace

JsonLinesTrace::JsonLinesTrace(std::filesystem::path const& path, TraceErrorHandler onError)
    : writer_{std::make_unique<JsonLines>(detail::TraceOutput{path}, std::move(onError))} {}

JsonLinesTrace::JsonLinesTrace(std::ostream& stream, TraceErrorHandler onError)
    : writer_{std::make_unique<JsonLines>(detail::TraceOutput{stream}, std::move(onError))} {}

JsonLinesTrace::~JsonLinesTrace() { writer_->finish(); }

void JsonLinesTrace::onEvent(TimerEvent const& event) noexcept { writer_->onEvent(event); }

void JsonLinesTrace::flush() noexcept { writer_->flush(); }

}  // namespace timingwheel::inline v1
