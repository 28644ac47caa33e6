// A compiler mode before C++20.
// options: -std=c++17
// says: timingwheel needs C++20
#include <timingwheel/SystemTimer.h>
