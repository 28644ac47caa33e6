#include "core/facade/HookAccess.h"
#include "core/timeout/TimeoutNode.h"

#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

namespace timingwheel::inline v1 {

TimerObserver::~TimerObserver() = default;

void const* TimerObserver::entryOf(Timeout const& timeout) noexcept {
    // Events carry the address of the entry, a base of the node.
    detail::TimeoutEntry const* const entry = detail::TimeoutAccess::node(timeout);
    return entry;
}

void const* TimerObserver::entryOf(TimerHookBase const& hook) noexcept {
    detail::TimeoutEntry const* const entry = &detail::HookAccess::entry(hook);
    return entry;
}

char const* toString(TimerEvent::Stage stage) noexcept {
    switch (stage) {
        case TimerEvent::Stage::schedule:
            return "schedule";
        case TimerEvent::Stage::intake:
            return "intake";
        case TimerEvent::Stage::place:
            return "place";
        case TimerEvent::Stage::arm:
            return "arm";
        case TimerEvent::Stage::wake:
            return "wake";
        case TimerEvent::Stage::cascade:
            return "cascade";
        case TimerEvent::Stage::expire:
            return "expire";
        case TimerEvent::Stage::dispatch:
            return "dispatch";
        case TimerEvent::Stage::run:
            return "run";
        case TimerEvent::Stage::cancel:
            return "cancel";
        case TimerEvent::Stage::restart:
            return "restart";
    }
    return "";
}

}  // namespace timingwheel::inline v1
