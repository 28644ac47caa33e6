/// timingwheel-demo: timing wheels at work on the real clock.

#include "apps/demo/FollowOneTask.h"
#include "apps/demo/Load.h"
#include "apps/demo/Options.h"
#include "apps/demo/Report.h"
#include "apps/terminal/Format.h"
#include "apps/terminal/Interrupt.h"
#include "apps/terminal/Terminal.h"

#include <cstdio>
#include <exception>
#include <string>

namespace demo {

namespace {

void introduceLoad(Options const& options, Terminal& terminal) {
    terminal.line(terminal.heading("2  A server's load for " + readable(options.duration)));
    terminal.line();
    for (char const* const line :
         {"   Request timeouts, most of them cancelled within milliseconds by the response.",
          "   Heartbeats, pushed back by every packet. Delayed orders, some called off.",
          "   Periodic jobs. Tasks run on the driver thread."})
        terminal.line(line);
    terminal.line("   The wheel has " + readable(options.tick) +
                  text(" x %lld slots; ", static_cast<long long>(options.wheelSize)) +
                  counted(options.threads, "thread") + " of load.");
    terminal.line();
}

int run(Options const& options) {
    Terminal terminal;
    noteInterrupts();
    bool isSound = true;
    std::uint64_t runs = 0;
    std::uint64_t early = 0;
    if (options.follow.count() > 0) {
        Followed const followed = followOneTask(options, terminal);
        runs += followed.runs;
        early += followed.early;
        isSound = followed.runs + followed.returned == 1;
        if (!isSound)
            reportVerdict(false, "", "The task was neither run nor returned, or twice.", terminal);
    }
    if (options.duration.count() > 0 && !isInterrupted()) {
        introduceLoad(options, terminal);
        Load load{options};
        LoadResult const result = load.run(terminal);
        if (isInterrupted()) terminal.line("   Interrupted: the timer was stopped.");
        terminal.line();
        reportLatenessAndCosts(result, terminal);
        terminal.line();
        isSound = reportLedger(load.ledger(), result, terminal) && isSound;
        runs += load.ledger().runs();
        early += load.ledger().early();
    }
    std::string const told = "Of " + counted(runs, "run") + " ";
    if (runs > 0)
        reportVerdict(early == 0, told + "none began before its time.",
                      told + grouped(early) + " began BEFORE their time.", terminal);
    if (!isSound || early > 0) return kFailed;
    return isInterrupted() ? kInterrupted : kFine;
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
