/// The library's version: the one place where it is written. The build and the Conan recipe read
/// it.

#pragma once

#define TIMINGWHEEL_VERSION_MAJOR 0
#define TIMINGWHEEL_VERSION_MINOR 1
#define TIMINGWHEEL_VERSION_PATCH 0
