// A number where a length of time should be.
// g++ says: NumberWithoutUnit
// clang++ says: conversion function from 'int' to '
#include <timingwheel/SystemTimer.h>

void f(timingwheel::SystemTimer& timer) {
    timer.newTimeout([] {}, 30);
}
