#pragma once

#include <timingwheel/TimerTrace.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Where a trace goes: a file of its own or the user's stream, through a buffer. After a write that
/// failed it takes nothing more.
///
/// Thread safety  none
class TraceOutput {
public:
    /// Throws std::system_error with the path if it cannot be opened.
    explicit TraceOutput(std::filesystem::path const& path);
    explicit TraceOutput(std::ostream& stream);

    TraceOutput& operator<<(std::string_view text) {
        buffer_ += text;
        return *this;
    }
    TraceOutput& operator<<(char character) {
        buffer_ += character;
        return *this;
    }
    TraceOutput& operator<<(std::int64_t number);
    TraceOutput& operator<<(std::uint64_t number);
    TraceOutput& operator<<(std::uint32_t number) { return *this << std::uint64_t{number}; }

    /// Between two events: writes what has become too much for the buffer.
    void mayWrite() noexcept {
        if (buffer_.size() >= kBufferSize) write();
    }
    void write() noexcept;
    void fail(std::error_code error) noexcept;
    bool hasFailed() const noexcept { return hasFailed_; }
    /// The failure, to the first who asks.
    std::error_code takeFailure() noexcept { return std::exchange(failure_, {}); }
    /// What errors are told with.
    std::string const& name() const noexcept { return name_; }

private:
    static constexpr std::size_t kBufferSize = 65'536;

    struct Closing {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };

    std::error_code writeOut() noexcept;

    std::string name_;
    std::unique_ptr<std::FILE, Closing> file_;
    std::ostream* stream_ = nullptr;
    std::string buffer_;
    std::error_code failure_;
    bool hasFailed_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
