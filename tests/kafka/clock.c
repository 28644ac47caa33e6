// A clock that somebody sets an hour ahead, and back: while the file $AN_HOUR_AHEAD_IF is there.
// It is preloaded into the program, whose C++ library asks it for the time of day.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* time) {
    long const result = syscall(SYS_clock_gettime, clock, time);
    char const* const file = getenv("AN_HOUR_AHEAD_IF");
    if (result == 0 && clock == CLOCK_REALTIME && file != NULL && access(file, F_OK) == 0)
        time->tv_sec += 3600;
    return (int)result;
}
