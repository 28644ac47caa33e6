#pragma once

#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerTrace.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace demo {

/// What --trace takes: empty, or what is wrong with the file's name.
inline std::string checkTrace(std::string const& file) {
    if (file.ends_with(".json") || file.ends_with(".jsonl")) return {};
    return file + " ends neither in .json, for Perfetto, nor in .jsonl, for JSON lines";
}

/// The file of --trace, if there is one.
class TraceFile {
public:
    explicit TraceFile(std::string name) : name_{std::move(name)} {}

    /// Writes every step of a timer into the file, in Chrome's format if it ends in .json and as
    /// JSON lines if in .jsonl. Null without a file. Throws std::system_error if it cannot be
    /// opened. What it returns does not outlive this.
    std::unique_ptr<timingwheel::TimerObserver> open() {
        if (name_.empty()) return nullptr;
        auto const onError = [this](std::system_error const& error) {
            std::fprintf(stderr, "timingwheel-demo: %s\n", error.what());
            hasFailed_ = true;
        };
        if (name_.ends_with(".jsonl"))
            return std::make_unique<timingwheel::JsonLinesTrace>(name_, onError);
        return std::make_unique<timingwheel::ChromeTrace>(name_, onError);
    }

    /// True if something is missing in the file, such as after a full disk. Certain only once what
    /// open() returned is gone.
    bool hasFailed() const noexcept { return hasFailed_; }

private:
    std::string const name_;
    std::atomic<bool> hasFailed_{false};
};

}  // namespace demo
