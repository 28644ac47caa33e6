#pragma once

#include "../Simulation.h"
#include "Scheduler.h"

#include <functional>

/// Between the simulated program and what simulates it. The program is compiled for the thread
/// sanitizer, so that each of its accesses calls a function; those functions, and the system's that
/// have to do with threads and time, are defined here. Of a thread that is not simulated, or just
/// now is not, they do what they always do.
namespace timingwheel::test::simulation {

/// The simulation of this process.
struct Machine {
    explicit Machine(Choices& by) noexcept : choices{by}, scheduler{by}, memory{by} {}
    Choices& choices;
    Scheduler scheduler;
    Memory memory;
};
void setMachine(Machine& machine) noexcept;
Machine& machine() noexcept;

/// True while the calling thread runs code of the simulated program.
bool isSimulated() noexcept;

/// Calls code of the simulated program.
void simulated(std::function<void()> const& body);

/// Starts a thread of the system's, which is not simulated yet.
void startRealThread(std::function<void()> body);

}  // namespace timingwheel::test::simulation
