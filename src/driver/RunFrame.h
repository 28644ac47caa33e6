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
/// entered. The frames of one thread form a chain: a task may drive another timer. A frame keeps
/// its timer in memory: the task may destroy it.
class RunFrame {
public:
    explicit RunFrame(TimerContext& context) noexcept;
    ~RunFrame();
    RunFrame(RunFrame const&) = delete;
    RunFrame& operator=(RunFrame const&) = delete;

    /// True when the calling thread runs tasks of this timer, or is its driver.
    static bool isInside(TimerContext const& context) noexcept;

    bool isOfThisThread() const noexcept { return thread_ == thisThread(); }

    TimeoutEntry const* entry = nullptr;  ///< what runs; null when the hook died in its own task
    std::uint64_t runs = 0;               ///< tells one run of an entry from the next

private:
    friend class RunFrameList;

    static void const* thisThread() noexcept;

    RunFrame* next_ = nullptr;  // in the shard
    TimerContext& context_;
    void const* thread_;
    RunFrame* outer_;
};

/// The frames that run tasks of one shard: as many as threads run at once, so a search is short.
class RunFrameList {
public:
    bool empty() const noexcept { return first_ == nullptr; }

    /// Begins a run of `frame.entry`.
    void add(RunFrame& frame) noexcept {
        ++frame.runs;
        frame.next_ = first_;
        first_ = &frame;
    }

    /// Ends it.
    void remove(RunFrame& frame) noexcept {
        RunFrame** place = &first_;
        while (*place != &frame) place = &(*place)->next_;
        *place = frame.next_;
        frame.entry = nullptr;
    }

    RunFrame* find(TimeoutEntry const& entry) const noexcept {
        RunFrame* frame = first_;
        while (frame != nullptr && frame->entry != &entry) frame = frame->next_;
        return frame;
    }

    bool hasOfOtherThread() const noexcept {
        RunFrame const* frame = first_;
        while (frame != nullptr && frame->isOfThisThread()) frame = frame->next_;
        return frame != nullptr;
    }

private:
    RunFrame* first_ = nullptr;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
