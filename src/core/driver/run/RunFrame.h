#pragma once

#include "core/driver/run/RunMeter.h"

#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

class TimerContext;
class TimeoutEntry;

/// Who runs what. A frame lies on the stack of the thread that runs tasks of a timer.
///
///   - While a task runs, the frame is linked into the task's keeper and guarded by its lock. To
///     wait for a run is to wait for its frame: the entry is not touched once its task was entered.
///   - The frames of one thread form a chain, since a task may drive another timer.
///   - A frame keeps its timer in memory, since the task may destroy it.
class RunFrame {
public:
    explicit RunFrame(TimerContext& context) noexcept;
    ~RunFrame();
    RunFrame(RunFrame const&) = delete;
    RunFrame& operator=(RunFrame const&) = delete;

    /// True if the calling thread runs tasks of this timer, or is its driver.
    static bool isInside(TimerContext const& context) noexcept;

    /// True if the calling thread is inside a run of `entry`.
    static bool isRunningHere(TimeoutEntry const& entry) noexcept;

    bool isOfThisThread() const noexcept { return thread_ == thisThread(); }

    TimeoutEntry* entry = nullptr;  ///< what runs; null if the hook died in its own task
    RunMeter meter;                 ///< of the runs in this frame

private:
    friend class RunFrameList;

    static void const* thisThread() noexcept;

    RunFrame* next_ = nullptr;  // in the shard
    std::uint64_t run_ = 0;     // the number of the run there
    TimerContext& context_;
    void const* thread_;
    RunFrame* outer_;
};

/// The frames that run tasks of one shard: one for each thread that runs one, so a search is short.
class RunFrameList {
public:
    bool empty() const noexcept { return first_ == nullptr; }

    /// Begins a run of `frame.entry`.
    void add(RunFrame& frame) noexcept {
        frame.run_ = ++runs_;
        frame.next_ = first_;
        first_ = &frame;
    }

    /// Ends the run.
    void remove(RunFrame& frame) noexcept {
        RunFrame** link = &first_;
        while (*link != &frame) link = &(*link)->next_;
        *link = frame.next_;
        frame.entry = nullptr;
    }

    /// How many runs have begun so far: the number of the last one.
    std::uint64_t runs() const noexcept { return runs_; }

    /// True while another thread runs `entry`, in a run that began no later than number `upTo`.
    bool runsElsewhere(TimeoutEntry const& entry, std::uint64_t upTo) const noexcept {
        return any([&](RunFrame const& frame) {
            return frame.entry == &entry && frame.run_ <= upTo && !frame.isOfThisThread();
        });
    }

    bool runs(TimeoutEntry const& entry) const noexcept {
        return any([&](RunFrame const& frame) { return frame.entry == &entry; });
    }

    /// Calls `visit(entry)` for what runs.
    template <class Visit>
    void forEach(Visit&& visit) const {
        for (RunFrame const* frame = first_; frame != nullptr; frame = frame->next_)
            if (frame->entry != nullptr) visit(*frame->entry);
    }

    /// The entry's object dies inside its own run. Its address may soon belong to another.
    void forget(TimeoutEntry const& entry) noexcept {
        for (RunFrame* frame = first_; frame != nullptr; frame = frame->next_)
            if (frame->entry == &entry) frame->entry = nullptr;
    }

    bool hasOfOtherThread() const noexcept {
        return any([](RunFrame const& frame) { return !frame.isOfThisThread(); });
    }

private:
    template <class Predicate>
    bool any(Predicate&& predicate) const noexcept {
        RunFrame const* frame = first_;
        while (frame != nullptr && !predicate(*frame)) frame = frame->next_;
        return frame != nullptr;
    }

    RunFrame* first_ = nullptr;
    std::uint64_t runs_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
