#pragma once

namespace demo {

/// From here on the first Ctrl-C is only noted, for the program to finish with its report; a second
/// one ends it.
void noteInterrupts();

bool isInterrupted() noexcept;

/// What the second Ctrl-C writes to standard output before it ends the program: what restores the
/// terminal. Null: nothing.
void setFarewell(char const* text) noexcept;

}  // namespace demo
