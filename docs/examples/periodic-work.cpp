// When something is to happen again and again: every ten seconds, or ten seconds after it has
// ended.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;
using timingwheel::MissedTicks;
using timingwheel::Timeout;

int main() {
    // Before the timer, whose tasks write them, on its thread.
    std::string skip, shift, catchUp, polls;
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};
    auto const note = [start = clock.now(), &clock](std::string& log) {
        auto const second = std::chrono::duration_cast<std::chrono::seconds>(clock.now() - start);
        log += ' ' + std::to_string(second.count());
    };

    // At 10, 20, 30 s and so on. The three differ in what they do about runs whose time has passed
    // while they could not run: here, because the machine sleeps from 30 to 55 s.
    timer.scheduleAtFixedRate([&] { note(skip); }, 10s, 10s);  // MissedTicks::skip
    timer.scheduleAtFixedRate([&] { note(shift); }, 10s, 10s, MissedTicks::shift);
    timer.scheduleAtFixedRate([&] { note(catchUp); }, 10s, 10s, MissedTicks::catchUp);

    // Each time ten seconds after the last run has ended. A task that takes its own handle can end
    // itself.
    Timeout const poll = timer.scheduleWithFixedDelay(
        [&, left = 3](Timeout const& self) mutable {
            note(polls);
            if (--left == 0) self.cancel();
        },
        0s, 10s);

    clock.advance(30s);
    clock.jump(25s);
    clock.advance(25s);
    timer.stop();  // no task runs any more: what they wrote may be read

    std::printf("skip    :%s\n", skip.c_str());
    std::printf("shift   :%s\n", shift.c_str());
    std::printf("catch up:%s\n", catchUp.c_str());
    std::printf("3 polls :%s\n", polls.c_str());
    bool const asPromised = skip == " 10 20 30 55 60 70 80" && shift == " 10 20 30 55 65 75" &&
                            catchUp == " 10 20 30 55 55 60 70 80" && polls == " 0 10 20" &&
                            poll.isCancelled();
    return asPromised ? 0 : 1;
}
