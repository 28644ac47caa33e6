#pragma once

#include <timingwheel/TimerHook.h>
#include <timingwheel/detail/TimeoutEntry.h>

namespace timingwheel::inline v1::detail {

/// Turns hooks into entries.
struct HookAccess {
    static HookEntry& entry(TimerHookBase& hook) noexcept { return hook.entry_; }
    static HookEntry const& entry(TimerHookBase const& hook) noexcept { return hook.entry_; }
};

}  // namespace timingwheel::inline v1::detail
