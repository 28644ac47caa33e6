// When something is wrong: what errors say, where a task's exception goes, and what a timer
// tells of itself.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

std::atomic<int> errors = 0;  // counted here and on the timer's thread

// Does what is wrong, and prints what the error says.
template <class Wrong>
void attempt(Wrong&& wrong) {
    try {
        wrong();
    } catch (std::exception const& error) {
        ++errors;
        std::cout << error.what() << '\n';
    }
}

}  // namespace

int main() {
    using timingwheel::SystemTimer;

    // Options are checked by the constructor. The error names the option, its value and the bound.
    attempt([] { SystemTimer{{.wheelSize = 1}}; });
    attempt([] { SystemTimer{{.tick = 0ms}}; });
    attempt([] { SystemTimer{{.name = "a-name-of-20-letters"}}; });
    attempt([] { SystemTimer{{.shards = 3}}; });

    timingwheel::ManualClock clock;
    std::atomic<int> failures = 0;
    SystemTimer timer{{.name = "mail",
                       .clock = clock,
                       .maxPendingTimeouts = 2,
                       .errorHandler = [&](timingwheel::TaskFailure const& failure) {
                           // Without a handler this is one line on stderr, with the timer's name.
                           ++failures;
                           attempt([&] { std::rethrow_exception(failure.exception); });
                       }}};

    // A call that fails has changed nothing, and the timer goes on.
    attempt([&] { timer.newTimeout(std::function<void()>{}, 1s); });
    attempt([&] {
        std::chrono::duration<double> const unknown{std::numeric_limits<double>::quiet_NaN()};
        timer.newTimeout([] {}, unknown);
    });
    timer.newTimeout([] { throw std::runtime_error{"the mail server is down"}; }, 1s);
    timer.newTimeout([] { std::cout << "the next task runs all the same\n"; }, 2s);
    attempt([&] { timer.newTimeout([] {}, 1s); });
    clock.advance(2s);

    timer.newTimeout([&] { attempt([&] { timer.stop(); }); }, 1s);
    clock.advance(1s);
    timer.stop();
    attempt([&] { timer.newTimeout([] {}, 1s); });

    std::ostringstream report;
    report << timer.statistics();  // all that it did, for people
    std::cout << report.str().substr(0, report.str().find('\n', report.str().find('\n') + 1) + 1);
    return errors == 10 && failures == 1 ? 0 : 1;
}
