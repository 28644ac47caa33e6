#pragma once

namespace demo {

/// From here on the first Ctrl-C is only noted, for the program to finish with its report; a second
/// one ends it. Ctrl-\ and a terminal that goes away end it at once.
void noteInterrupts();

bool isInterrupted() noexcept;

/// What a signal that ends the program writes to standard output first: what restores the
/// terminal. Null: nothing.
void setFarewell(char const* text) noexcept;

}  // namespace demo
