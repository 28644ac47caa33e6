#include "apps/terminal/Interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

namespace terminal {
namespace {

/// In a process of its own, whose standard output is what a death test looks at.
void endBy(int signal, int times) {
    rlimit const noCore{};
    setrlimit(RLIMIT_CORE, &noCore);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    for (int const each : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) std::signal(each, SIG_DFL);
    noteInterrupts();
    setFarewell("the terminal is restored");
    for (int i = 0; i < times; ++i) std::raise(signal);
    _exit(0);
}

// Bug pattern: the alternate screen stays on when the program is ended from outside.
TEST(InterruptDeathTest, RestoresTheTerminalWhateverEndsTheProgram) {
    for (int const signal : {SIGQUIT, SIGHUP})
        EXPECT_EXIT(endBy(signal, 1), testing::KilledBySignal(signal), "restored");
    for (int const signal : {SIGINT, SIGTERM})
        EXPECT_EXIT(endBy(signal, 2), testing::KilledBySignal(signal), "restored");
}

TEST(InterruptDeathTest, NotesTheFirstInterruptOnly) {
    for (int const signal : {SIGINT, SIGTERM})
        EXPECT_EXIT(endBy(signal, 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace terminal
