/// timingwheel-demo: timing wheels at work on the real clock.

#include "apps/demo/FollowOneTask.h"
#include "apps/demo/Format.h"
#include "apps/demo/Interrupt.h"
#include "apps/demo/Load.h"
#include "apps/demo/Options.h"
#include "apps/demo/Outcome.h"
#include "apps/demo/Report.h"
#include "apps/demo/Terminal.h"
#include "apps/demo/Trace.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace demo {

namespace {

void introduceLoad(Options const& options, Terminal& terminal) {
    std::string const tasks = options.usePool
                                  ? "a pool of " + counted(options.poolThreads, "thread")
                                  : std::string{"the driver thread"};
    terminal.line(terminal.heading("2  A server's load for " + readable(options.duration)));
    terminal.line();
    terminal.line(
        "   Request timeouts, most of them cancelled within milliseconds by the response;");
    terminal.line("   the others run, and the request is sent again after a pause. Heartbeats,");
    terminal.line(
        "   pushed back by every packet. Delayed orders, some called off. Periodic jobs.");
    terminal.line("   The wheel has " + readable(options.tick) +
                  text(" x %lld slots; ", static_cast<long long>(options.wheelSize)) +
                  counted(options.threads, "thread") + (options.threads == 1 ? " makes" : " make") +
                  " the load;");
    terminal.line("   tasks run on " + tasks + ".");
    terminal.line();
}

void carryLoad(Options const& options, TraceFile& trace, Terminal& terminal, Outcome& outcome) {
    introduceLoad(options, terminal);
    Load load{options, trace};
    LoadResult const result = load.run(terminal);
    if (isInterrupted()) terminal.line("   Interrupted: the timer was stopped.");
    terminal.line();
    reportLateness(result.statistics, terminal);
    reportCosts(result, terminal);
    terminal.line();
    reportLedger(load.ledger(), result, terminal);
    outcome.add(load.ledger(), result.statistics);
}

int run(Options const& options) {
    Terminal terminal;
    noteInterrupts();
    TraceFile trace{options.trace};
    Outcome outcome;
    if (options.follow > std::chrono::nanoseconds{0}) {
        Followed const followed = followOneTask(options, trace, terminal);
        outcome.add(followed);
        if (followed.runs + followed.returned != 1)
            reportVerdict(false, "", "The task was neither run nor returned, or twice.", terminal);
    }
    if (options.duration > std::chrono::nanoseconds{0} && !isInterrupted())
        carryLoad(options, trace, terminal, outcome);
    if (outcome.runs > 0)
        reportVerdict(outcome.early == 0,
                      "Of " + counted(outcome.runs, "run") + " none began before its time.",
                      "Of " + counted(outcome.runs, "run") + ", " + grouped(outcome.early) +
                          " began BEFORE their time.",
                      terminal);
    outcome.isWritten = !trace.hasFailed();
    return outcome.exitStatus(isInterrupted());
}

/// The disk may be full: a reader must not take half of the output for the whole.
int afterWriting(int exitStatus) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exitStatus;
    std::fputs("timingwheel-demo: its output could not be written\n", stderr);
    return kFailed;
}

}  // namespace

}  // namespace demo

int main(int argc, char** argv) {
    try {
        demo::CommandLine const line = demo::parse(argc, argv);
        return demo::afterWriting(line.exitStatus ? *line.exitStatus : demo::run(line.options));
    } catch (std::exception const& exception) {
        std::fprintf(stderr, "timingwheel-demo: %s\n", exception.what());
        return demo::kFailed;
    }
}
