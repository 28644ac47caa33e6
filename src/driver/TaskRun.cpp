#include "driver/TaskRun.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

/// Calls `call` with a handle to the subject's node, an empty one for a hook.
template <class Call>
void withHandle(TaskSubject const& subject, Call&& call) {
    if (subject.node == nullptr) return call(Timeout{});
    BorrowedTimeout const self{*subject.node};
    call(self.get());
}

void tellFailure(TimerContext const& context, TaskSubject const& subject, TaskFailure::Kind kind,
                 std::exception_ptr exception) noexcept {
    withHandle(subject, [&](Timeout const& self) {
        context.reportFailure({kind, std::move(exception), self, subject.object});
    });
}

/// While it lives, this thread destroys the task of a timeout that it cancelled.
class Ending {
public:
    explicit Ending(TimeoutNode const& node) noexcept : node_{node}, outer_{innermost_} {
        innermost_ = this;
    }
    Ending(Ending const&) = delete;
    Ending& operator=(Ending const&) = delete;
    ~Ending() { innermost_ = outer_; }

    static bool isInside(TimeoutNode const& node) noexcept {
        Ending const* ending = innermost_;
        while (ending != nullptr && &ending->node_ != &node) ending = ending->outer_;
        return ending != nullptr;
    }

private:
    static thread_local Ending const* innermost_;
    TimeoutNode const& node_;
    Ending const* outer_;
};
thread_local Ending const* Ending::innermost_ = nullptr;

}  // namespace

TaskSubject::TaskSubject(TimeoutEntry& entry) noexcept {
    if (entry.isHook()) {
        hook = static_cast<HookOperations const*>(entry.operations);
        object = static_cast<HookEntry&>(entry).object;
    } else {
        node = static_cast<TimeoutNode*>(&entry);
    }
}

TaskRun::TaskRun(TimerContext& context, std::uint32_t shard, TimeoutEntry& entry) noexcept
    : context_{context},
      entry_{&entry},
      subject_{entry},
      deadline_{entry.deadline()},
      shard_{shard} {}

void TaskRun::invoke(RunMeter& meter) noexcept {
    // When a periodic one ended decides when its next run is.
    if (meter.groups() && !isPeriodic()) {
        meter.begin(deadline_);
        return callTask();
    }
    meter.finish();
    started_ = context_.now();
    callTask();
    ended_ = context_.nowOrStopped();
    measure();
}

void TaskRun::callTask() noexcept {
    try {
        if (subject_.node == nullptr) return subject_.hook->run(subject_.object);
        BorrowedTimeout const self{*subject_.node};
        subject_.node->run(self.get());
    } catch (...) {
        tellFailure(context_, subject_, TaskFailure::Kind::threw, std::current_exception());
    }
}

void TaskRun::measure() noexcept {
    using std::chrono::nanoseconds;
    auto const due = context_.scale.timeOf(deadline_);
    lateness_ = std::max(nanoseconds{0}, TickScale::between(due, started_));
    duration_ = std::max(nanoseconds{0}, TickScale::between(started_, ended_));
    context_.recorder.wasLate(lateness_);
    context_.recorder.ranFor(duration_);
    if (duration_ >= context_.options.slowTaskThreshold.nanoseconds())
        withHandle(subject_, [&](Timeout const& self) {
            context_.reportSlow({duration_, self, subject_.object});
        });
}

TimerEvent TaskRun::event() const noexcept {
    return {.stage = TimerEvent::Stage::run,
            .isPeriodic = isPeriodic(),
            .shard = shard_,
            .deadline = deadline_,
            .entry = entry_,
            .time = started_,
            .lateness = lateness_,
            .duration = duration_};
}

void tellCancelled(TimerContext const& context, TimeoutNode& node) noexcept {
    if (node.task().cancelled == nullptr) return;
    BorrowedTimeout const self{node};
    try {
        node.task().cancelled(node.taskAddress(), self.get());
    } catch (...) {
        tellFailure(context, TaskSubject{node}, TaskFailure::Kind::threw, std::current_exception());
    }
}

void destroyTask(TimerContext const& context, TimeoutNode& node) noexcept {
    if (node.hasDestructor()) {
        try {
            node.destroyTask();
        } catch (...) {
            tellFailure(context, TaskSubject{node}, TaskFailure::Kind::destructorThrew,
                        std::current_exception());
        }
    }
    node.setTaskGone();
}

void endCancelled(TimerContext const& context, TimeoutNode& node) noexcept {
    if (node.task().cancelled == nullptr && !node.hasDestructor()) return node.setTaskGone();
    Ending const ending{node};
    tellCancelled(context, node);
    destroyTask(context, node);
}

void waitForCanceller(TimeoutNode const& node) noexcept {
    // Two threads that cancel one timeout at the same moment: rare, and over in no time unless a
    // destructor of a capture takes long. A notification would cost every cancel().
    for (unsigned round = 0; !node.isTaskGone() && !Ending::isInside(node); ++round) {
        if (round < 64)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
}

void tellRejected(TimerContext const& context, TaskSubject const& subject,
                  std::exception_ptr exception) noexcept {
    tellFailure(context, subject, TaskFailure::Kind::rejected, std::move(exception));
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
