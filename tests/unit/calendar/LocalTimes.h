#pragma once

#include <timingwheel/Clock.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

/// For a test that uses zones: what was read of them is kept for the process.
inline void keepsZones() { testing::Test::RecordProperty("keeps", "time zones"); }

/// "2026-03-29 01:00:00" as an instant of UTC.
inline std::chrono::sys_seconds utc(std::string const& text) {
    using namespace std::chrono;
    int y = 0;
    unsigned m = 0, d = 0, hour = 0, minute = 0, second = 0;
    if (std::sscanf(text.c_str(), "%d-%u-%u %u:%u:%u", &y, &m, &d, &hour, &minute, &second) < 5)
        throw std::invalid_argument{text};
    return sys_days{year{y} / static_cast<int>(m) / static_cast<int>(d)} + hours{hour} +
           minutes{minute} + seconds{second};
}

/// The same as a time of the wall clock.
inline timingwheel::Clock::TimePoint wall(char const* text) {
    return timingwheel::Clock::wallTime(utc(text));
}
