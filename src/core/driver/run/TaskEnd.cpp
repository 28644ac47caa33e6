#include "core/driver/run/TaskEnd.h"

#include <chrono>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

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

void reportFailure(TimerContext const& context, TaskSubject const& subject, TaskFailure::Kind kind,
                   std::exception_ptr exception) noexcept {
    subject.withHandle([&](Timeout const& self) {
        context.reports.failure({kind, std::move(exception), self, subject.object});
    });
}

void callCancelled(TimerContext const& context, TimeoutNode& node) noexcept {
    if (node.task().cancelled == nullptr) return;
    BorrowedTimeout const self{node};
    try {
        node.task().cancelled(node.taskAddress(), self.get());
    } catch (...) {
        reportFailure(context, TaskSubject{node}, TaskFailure::Kind::threw,
                      std::current_exception());
    }
}

void callGivenUp(TimerContext const& context, TaskSubject const& hook) noexcept {
    try {
        hook.hook->givenUp(hook.object);
    } catch (...) {
        reportFailure(context, hook, TaskFailure::Kind::threw, std::current_exception());
    }
}

void destroyTask(TimerContext const& context, TimeoutNode& node) noexcept {
    if (node.hasDestructor()) {
        try {
            node.destroyTask();
        } catch (...) {
            reportFailure(context, TaskSubject{node}, TaskFailure::Kind::destructorThrew,
                          std::current_exception());
        }
    }
    node.setTaskGone();
}

void endCancelledTask(TimerContext const& context, TimeoutNode& node) noexcept {
    if (!node.callsUserWhenCancelled()) return node.setTaskGone();
    Ending const ending{node};
    callCancelled(context, node);
    destroyTask(context, node);
}

void awaitEnd(TimeoutNode const& node) noexcept {
    // Two threads cancel one timeout at the same moment: rare, and quickly over unless a capture's
    // destructor takes long. A notification would cost every cancel().
    for (unsigned round = 0; !node.isTaskGone() && !Ending::isInside(node); ++round) {
        if (round < 64)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
}

}  // namespace timingwheel::inline v1::detail
