// A compiler mode before C++20, whichever header comes first.
// options: -std=c++17
// headers: each
// says: timingwheel needs C++20
#include <timingwheel/SystemTimer.h>
