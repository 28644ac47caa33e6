// When the machine may sleep, and that time counts: a reminder in 30 minutes, on a laptop.

#include <timingwheel/SystemTimer.h>

#include <cstdio>
#include <system_error>
#include <thread>

using namespace std::chrono_literals;

int main() try {
    // The steady clock, which timers have by default, stands still while the machine is suspended.
    timingwheel::Clock& clock = timingwheel::Clock::continuous();
    timingwheel::SystemTimer timer{{.clock = clock}};
    timingwheel::Timeout const tea = timer.newTimeout([] { std::puts("the tea is ready"); }, 30ms);
    timingwheel::Timeout const stand = timer.newTimeout([] { std::puts("stand up"); }, 30min);

    // Had the laptop slept meanwhile, both would be due when it wakes.
    while (!tea.isDone()) std::this_thread::sleep_for(1ms);
    std::puts(stand.isPending() ? "standing up can wait" : "it is time to stand up");

    // Its time points are its own: those of std::chrono::steady_clock are earlier.
    timer.newTimeout([] { std::puts("a deadline of this clock"); }, clock.now() + 10ms);
    stand.cancel();
    timer.drain();
} catch (std::system_error const& error) {
    std::printf("~ this system has no such clock: %s\n", error.what());
    return 77;
}
