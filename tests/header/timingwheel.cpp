// The one source file of a program that has the library in it.
#include "timingwheel.hpp"  // as something included before might do

#define TIMINGWHEEL_IMPLEMENTATION
#include "timingwheel.hpp"

#if defined(TIMINGWHEEL_PROBE) || defined(TIMINGWHEEL_PROBE_1)
#    error "a macro of the implementation is left"
#endif

timingwheel::Timeout inTheOtherFile(timingwheel::Timer& timer, bool& hasRun);

timingwheel::Timeout inTheOtherFile(timingwheel::Timer& timer, bool& hasRun) {
    return timer.newTimeout([&hasRun] { hasRun = true; }, std::chrono::milliseconds{1});
}
