#pragma once

#include "core/trace/TraceEntries.h"
#include "core/trace/TraceOrder.h"
#include "core/trace/TraceOutput.h"

#include <timingwheel/TimerTrace.h>

#include <cstdint>
#include <mutex>
#include <system_error>
#include <unordered_map>

namespace timingwheel::inline v1::detail {

/// The common part of all traces: makes the events of several threads one sequence, in which
/// timeouts and threads have numbers, for a format to write.
class TraceWriter {
public:
    TraceWriter(TraceOutput output, TraceErrorHandler onError);
    TraceWriter(TraceWriter const&) = delete;
    TraceWriter& operator=(TraceWriter const&) = delete;
    virtual ~TraceWriter() = default;

    void onEvent(TimerEvent const& event) noexcept;
    void flush() noexcept;
    /// Writes what is left, and the end of the trace.
    void finish() noexcept;

protected:
    /// `entry` is the number of the event's timeout, 0 for none. If this throws, nothing of the
    /// event is written.
    virtual void write(TracedEvent const& traced, std::uint64_t entry) = 0;
    virtual void writeThread(std::uint32_t thread) = 0;
    /// Needs no memory when the buffer is empty.
    virtual void writeEnd() = 0;

    /// How many timeouts have not ended.
    std::size_t pending() const noexcept { return entries_.size(); }

    TraceOutput output_;

private:
    template <class Write>
    void locked(Write&& write) noexcept;
    std::uint32_t thisThread();
    void append(TracedEvent const& traced);
    void end() noexcept;
    void report(std::error_code failure) const noexcept;
    std::system_error errorOf(std::error_code failure) const noexcept;

    TraceErrorHandler const onError_;
    std::system_error const outOfMemory_;  // made while there is memory
    std::mutex mutex_;
    TraceOrder order_;
    TraceEntries entries_;
    std::unordered_map<std::uint64_t, std::uint32_t> threads_;
};

}  // namespace timingwheel::inline v1::detail
