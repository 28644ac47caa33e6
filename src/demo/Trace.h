#pragma once

#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerTrace.h>

#include <memory>
#include <string>

namespace demo {

/// What --trace takes: empty, or what is wrong with the file's name.
inline std::string checkTrace(std::string const& file) {
    if (file.ends_with(".json") || file.ends_with(".jsonl")) return {};
    return file + " ends neither in .json, for Perfetto, nor in .jsonl, for JSON lines";
}

/// Writes every step of a timer into a file, in Chrome's format if it ends in .json and as JSON
/// lines if in .jsonl. Null without a file. Throws std::system_error if it cannot be opened.
inline std::unique_ptr<timingwheel::TimerObserver> makeTrace(std::string const& file) {
    if (file.empty()) return nullptr;
    if (file.ends_with(".jsonl")) return std::make_unique<timingwheel::JsonLinesTrace>(file);
    return std::make_unique<timingwheel::ChromeTrace>(file);
}

}  // namespace demo
