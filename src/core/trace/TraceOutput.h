#pragma once

#include <timingwheel/TimerTrace.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace timingwheel::inline v1::detail {

/// Where a trace goes: a file of its own or the user's stream, through a buffer. After a write that
/// failed it writes nothing more.
///
/// keep() keeps the text that was appended; drop() removes it.
///
/// Thread safety  none
/// Errors         appending throws std::bad_alloc, except to an empty buffer
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

    void keep() noexcept { kept_ = buffer_.size(); }
    void drop() noexcept { buffer_.resize(kept_); }
    /// True before anything was appended.
    bool isEmpty() const noexcept { return !wasWritten_ && buffer_.empty(); }

    /// Between two events: writes the buffer if it is full enough.
    void mayWrite() noexcept {
        if (buffer_.size() >= kBufferSize) write();
    }
    void write() noexcept;
    /// Closes the file that it opened.
    void close() noexcept;
    void fail(std::error_code error) noexcept;
    bool hasFailed() const noexcept { return hasFailed_; }
    /// The failure, once.
    std::error_code takeFailure() noexcept { return std::exchange(failure_, {}); }
    /// Its name in errors.
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
    std::size_t kept_ = 0;
    std::error_code failure_;
    bool wasWritten_ = false;
    bool hasFailed_ = false;
};

}  // namespace timingwheel::inline v1::detail
