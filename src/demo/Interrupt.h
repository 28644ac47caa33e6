#pragma once

namespace demo {

/// From here on the first Ctrl-C is only noted, for the program to finish with its report; a second
/// one ends it.
void noteInterrupts();

bool isInterrupted() noexcept;

}  // namespace demo
