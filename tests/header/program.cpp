// Another source file of it.
#include "timingwheel.hpp"

timingwheel::Timeout inTheOtherFile(timingwheel::Timer& timer, bool& hasRun);

int main() {
    bool here = false;
    bool there = false;
    timingwheel::SystemTimer timer;
    timer.newTimeout([&here] { here = true; }, std::chrono::milliseconds{1});
    timingwheel::Timeout const timeout = inTheOtherFile(timer, there);
    timer.drain();
    return here && there && timeout.isExpired() ? 0 : 1;
}
