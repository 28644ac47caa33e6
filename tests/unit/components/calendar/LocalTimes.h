#pragma once

#include <timingwheel/Clock.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

/// For a test that uses zones: what was read of them is kept for the process.
inline void keepsZones() { testing::Test::RecordProperty("keeps", "time zones"); }

/// The system's zones: one name for each file that differs from the others.
inline std::vector<std::string> allZones() {
    std::filesystem::path const folder = "/usr/share/zoneinfo";
    std::map<std::string, std::string> names;  // by what is in their files
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator at{folder, error}, end; at != end; ++at) {
        std::string const name = at->path().lexically_relative(folder).generic_string();
        // "right" counts leap seconds; those of the files are no zones.
        if (name == "posix" || name == "right") at.disable_recursion_pending();
        if (!at->is_regular_file() || name == "localtime" || name == "posixrules" ||
            name == "Factory")
            continue;
        std::ostringstream content;
        content << std::ifstream{at->path(), std::ios::binary}.rdbuf();
        if (content.str().substr(0, 4) == "TZif") names.emplace(content.str(), name);
    }
    std::vector<std::string> found;
    for (auto const& [content, name] : names) found.push_back(name);
    std::sort(found.begin(), found.end());
    return found;
}

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
