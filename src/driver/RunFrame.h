#pragma once

#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

class TimerContext;
class TimeoutEntry;

/// Who runs what: lies on the stack of the thread that runs tasks of a timer.
///
/// While a task runs the frame is linked into the task's shard and guarded by its lock. Whoever
/// waits for a run waits for the frame, so the entry itself need not be touched once its task was
/// entered. The frames of one thread form a chain: a task may drive another timer.
class RunFrame {
public:
    explicit RunFrame(TimerContext const& timerContext) noexcept;
    ~RunFrame();
    RunFrame(RunFrame const&) = delete;
    RunFrame& operator=(RunFrame const&) = delete;

    /// True when the calling thread runs tasks of this timer, or is its driver.
    static bool isInside(TimerContext const& context) noexcept;

    bool isOfThisThread() const noexcept { return thread_ == thisThread(); }

    TimeoutEntry const* entry = nullptr;  ///< what runs; null when the hook died in its own task
    std::uint64_t runs = 0;               ///< tells one run of an entry from the next
    RunFrame* next = nullptr;             ///< in the shard

private:
    static void const* thisThread() noexcept;

    TimerContext const* context_;
    void const* thread_;
    RunFrame* outer_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
