#include "core/driver/run/RunFrame.h"

#include "core/driver/context/TimerContext.h"

namespace timingwheel::inline v1::detail {

namespace {
thread_local RunFrame* innermost = nullptr;
}

RunFrame::RunFrame(TimerContext& context) noexcept
    : RunningTask{thisThread()}, meter{context}, context_{context}, outer_{innermost} {
    context_.retain();
    innermost = this;
}

RunFrame::~RunFrame() {
    meter.finish();
    innermost = outer_;
    context_.release();  // last: the timer may be gone then
}

bool RunFrame::isInside(TimerContext const& context) noexcept {
    for (RunFrame const* frame = innermost; frame != nullptr; frame = frame->outer_)
        if (&frame->context_ == &context) return true;
    return false;
}

bool RunFrame::isRunningHere(TimeoutEntry const& entry) noexcept {
    for (RunFrame const* frame = innermost; frame != nullptr; frame = frame->outer_)
        if (frame->runs(entry)) return true;
    return false;
}

/// The address of a thread-local variable differs in each thread and is cheaper than an id.
void const* RunFrame::thisThread() noexcept { return &innermost; }

}  // namespace timingwheel::inline v1::detail
