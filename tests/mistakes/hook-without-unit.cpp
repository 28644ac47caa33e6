// The same for a hook.
// g++ says: NumberWithoutUnit
// clang++ says: conversion function from 'int' to '
#include <timingwheel/TimerHook.h>

void f(timingwheel::TimerHookBase& hook) { hook.reschedule(30); }
