// The same for what takes no task.
// g++ says: When::When(NumberWithoutUnit)
// clang++ says: conversion function from 'int' to '
#include <timingwheel/SystemTimer.h>

timingwheel::Sleep f(timingwheel::SystemTimer& timer) { return timer.sleep(30); }
