#pragma once

namespace terminal {

/// From here on the first Ctrl-C is only recorded, so that the program can finish with its report.
/// A second one ends it. Ctrl-\ and a terminal that goes away end it at once.
void noteInterrupts();

bool isInterrupted() noexcept;

/// What a signal that ends the program first writes to standard output, to restore the terminal.
/// Null: nothing.
void setFarewell(char const* text) noexcept;

}  // namespace terminal
