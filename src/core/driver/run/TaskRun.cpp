#include "core/driver/run/TaskRun.h"

#include "core/base/TimeArithmetic.h"
#include "core/base/platform/Probe.h"
#include "core/driver/run/TaskEnd.h"

#include <chrono>
#include <exception>

namespace timingwheel::inline v1::detail {

void TaskRun::invokeAlone(RunMeter& meter) noexcept {
    meter.finish();
    started_ = context_.now();
    callTask();
    ended_ = context_.clock.nowOrFrozen();
    measure();
}

void TaskRun::callTask() noexcept {
    TIMINGWHEEL_PROBE_5(run, entry_, deadline_, context_.scale.originAt(), context_.scale.tickAt(),
                        &context_);
    try {
        if (subject_.node == nullptr) return subject_.hook->run(subject_.object);
        if (subject_.node->isPeriodic()) subject_.node->noteLent();  // the task may copy `self`
        BorrowedTimeout const self{*subject_.node};
        subject_.node->run(self.get());
    } catch (...) {
        reportFailure(context_, subject_, TaskFailure::Kind::threw, std::current_exception());
    }
}

void TaskRun::measure() noexcept {
    using std::chrono::nanoseconds;
    auto const due = context_.scale.timeOf(deadline_);
    lateness_ = timeSince(due, started_);
    duration_ = timeSince(started_, ended_);
    context_.runs.wasLate(lateness_);
    context_.runs.ranFor(duration_);
    if (duration_ >= context_.options.slowTaskThreshold.nanoseconds())
        subject_.withHandle([&](Timeout const& self) {
            context_.reports.slow({duration_, self, subject_.object});
        });
}

TimerEvent TaskRun::event(std::uint32_t shard) const noexcept {
    return {.stage = TimerEvent::Stage::run,
            .isPeriodic = isPeriodic(),
            .shard = shard,
            .deadline = deadline_,
            .entry = entry_,
            .time = started_,
            .lateness = lateness_,
            .duration = duration_};
}

}  // namespace timingwheel::inline v1::detail
