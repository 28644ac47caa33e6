// The same for a hook.
// g++ says: NumberWithoutUnit
// clang++ says: 'int' to 'timingwheel::Duration'
#include <timingwheel/TimerHook.h>

void f(timingwheel::TimerHookBase& hook) { hook.reschedule(30); }
