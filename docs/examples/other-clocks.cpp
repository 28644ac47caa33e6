// When people name the time: at 18:00, whatever the clock is set to meanwhile. And when the machine
// may sleep, and that time counts: a reminder in 30 minutes, on a laptop.

#include <timingwheel/SystemTimer.h>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>

using namespace std::chrono_literals;
using timingwheel::Clock;

// The deadlines of this timer are times of day. When somebody sets the clock, what lies behind then
// is due at once, and what lies ahead again waits again.
void byTheTimeOfDay() {
    timingwheel::SystemTimer timer{{.clock = Clock::wall()}};
    auto const today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    timingwheel::Timeout const closing =
        timer.newTimeout([] { std::puts("the market is closed"); },
                         Clock::wallTime(today + 24h + 18h));  // tomorrow, in UTC
    timingwheel::Timeout const bell =
        timer.newTimeout([] { std::puts("the bell rings"); },
                         Clock::wallTime(std::chrono::system_clock::now() + 20ms));
    while (!bell.isDone()) std::this_thread::sleep_for(1ms);
    std::puts(closing.isPending() ? "the market is open" : "the clock was set by a day");
    static_cast<void>(timer.stop());
}

// The steady clock, which timers have by default, stands still while the machine is suspended. This
// one goes on: had the laptop slept, both would be due when it wakes.
void throughSleep() {
    timingwheel::Clock& clock = Clock::continuous();
    timingwheel::SystemTimer timer{{.clock = clock}};
    timingwheel::Timeout const tea = timer.newTimeout([] { std::puts("the tea is ready"); }, 30ms);
    timingwheel::Timeout const stand = timer.newTimeout([] { std::puts("stand up"); }, 30min);
    while (!tea.isDone()) std::this_thread::sleep_for(1ms);
    std::puts(stand.isPending() ? "standing up can wait" : "it is time to stand up");

    // Its time points are its own: those of std::chrono::steady_clock are earlier.
    timer.newTimeout([] { std::puts("a deadline of this clock"); }, clock.now() + 10ms);
    stand.cancel();
    timer.drain();
}

int main() try {
    byTheTimeOfDay();
    throughSleep();
} catch (std::system_error const& error) {
    std::printf("~ this system has no such clock: %s\n", error.what());
    return 77;
}
