// When one wants to see what a timer does: a trace in a file, for Perfetto or for a script.

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerTrace.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>

using namespace std::chrono_literals;

namespace {

// What a server might do with its timer.
void work(timingwheel::TimerObserver& trace) {
    timingwheel::ManualClock clock;  // so that this prints the same each time
    timingwheel::ManualTimer timer{{.clock = clock, .observer = &trace}};
    timer.newTimeout([] {}, 25ms);
    timingwheel::Timeout const answered = timer.newTimeout([] {}, 30s);
    clock.advance(10ms);
    answered.cancel();
    clock.advance(20ms);
}

}  // namespace

int main() {
    // A line for each step, for scripts. It goes to any stream, or to a file that it opens.
    std::ostringstream lines;
    {
        timingwheel::JsonLinesTrace trace{lines};
        work(trace);
    }
    std::cout << lines.str();

    // The same to look at: open the file in https://ui.perfetto.dev or chrome://tracing.
    std::filesystem::path const file = "timer-trace-example.json";
    {
        timingwheel::ChromeTrace trace{file};
        work(trace);
    }  // the array ends here
    bool const isWritten = std::filesystem::file_size(file) > 0;
    std::filesystem::remove(file);
    return isWritten ? 0 : 1;
}
