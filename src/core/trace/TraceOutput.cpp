#include "core/trace/TraceOutput.h"

#include "core/base/platform/File.h"

#include <cerrno>
#include <charconv>
#include <ostream>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

std::error_code lastError() noexcept { return {errno != 0 ? errno : EIO, std::generic_category()}; }

template <class Number>
void append(std::string& text, Number number) {
    char digits[24];
    auto const [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
    text.append(digits, end);
}

}  // namespace

TraceOutput::TraceOutput(std::filesystem::path const& path)
    : name_{"trace \"" + path.string() + '"'} {
    buffer_.reserve(kBufferSize);
    errno = 0;
    file_.reset(openToWrite(path));
    if (file_ == nullptr) throw std::system_error{lastError(), name_};
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // the buffer is here
}

TraceOutput::TraceOutput(std::ostream& stream) : name_{"trace"}, stream_{&stream} {
    buffer_.reserve(kBufferSize);
}

TraceOutput& TraceOutput::operator<<(std::int64_t number) {
    append(buffer_, number);
    return *this;
}

TraceOutput& TraceOutput::operator<<(std::uint64_t number) {
    append(buffer_, number);
    return *this;
}

void TraceOutput::write() noexcept {
    if (!hasFailed_)
        if (std::error_code const error = writeOut()) fail(error);
    wasWritten_ = !isEmpty();
    buffer_.clear();
    kept_ = 0;
}

void TraceOutput::close() noexcept {
    errno = 0;
    // Some file systems say only now that a write has failed.
    if (file_ != nullptr && std::fclose(file_.release()) != 0) fail(lastError());
}

std::error_code TraceOutput::writeOut() noexcept {
    errno = 0;
    if (file_ != nullptr) {
        std::size_t const written = std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get());
        return written == buffer_.size() ? std::error_code{} : lastError();
    }
    try {
        stream_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size())).flush();
        return stream_->good() ? std::error_code{} : lastError();
    } catch (...) {
        return lastError();  // a stream of the user's may throw
    }
}

void TraceOutput::fail(std::error_code error) noexcept {
    if (!std::exchange(hasFailed_, true)) failure_ = error;
}

}  // namespace timingwheel::inline v1::detail
