#include "core/trace/TraceWriter.h"

#include <atomic>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

/// Unlike a std::thread::id, a number is never used again.
std::uint64_t numberOfThisThread() noexcept {
    static std::atomic<std::uint64_t> last{0};
    thread_local std::uint64_t const number = ++last;
    return number;
}

}  // namespace

TraceWriter::TraceWriter(TraceOutput output, TraceErrorHandler onError)
    : output_{std::move(output)},
      onError_{std::move(onError)},
      outOfMemory_{std::make_error_code(std::errc::not_enough_memory), output_.name()} {}

void TraceWriter::onEvent(TimerEvent const& event) noexcept {
    locked([&] {
        order_.add({event, thisThread()}, [this](TracedEvent const& traced) { append(traced); });
        output_.mayWrite();
    });
}

void TraceWriter::flush() noexcept {
    locked([&] { output_.write(); });
}

void TraceWriter::finish() noexcept {
    locked([&] {
        order_.finish([this](TracedEvent const& traced) { append(traced); });
        end();
    });
}

void TraceWriter::end() noexcept {
    output_.write();
    writeEnd();
    output_.write();
    output_.close();
}

/// Reports a failure outside the lock, since it calls the user's handler.
template <class Write>
void TraceWriter::locked(Write&& write) noexcept {
    std::error_code failure;
    {
        std::lock_guard const lock{mutex_};
        if (output_.hasFailed()) return;
        try {
            write();
        } catch (std::bad_alloc const&) {
            // Without this event the order of those that follow is unknown. So the trace ends here,
            // with what is complete.
            output_.drop();
            end();
            output_.fail(std::make_error_code(std::errc::not_enough_memory));
        }
        failure = output_.takeFailure();
    }
    if (failure) report(failure);
}

std::uint32_t TraceWriter::thisThread() {
    auto const number = static_cast<std::uint32_t>(threads_.size() + 1);
    auto const [at, isNew] = threads_.try_emplace(numberOfThisThread(), number);
    if (isNew) {
        writeThread(number);
        output_.keep();
    }
    return at->second;
}

void TraceWriter::append(TracedEvent const& traced) {
    std::uint64_t const entry = entries_.numberOf(traced.event);
    if (entry == 0 && traced.event.entry != nullptr) return;  // it has ended
    write(traced, entry);
    output_.keep();
}

void TraceWriter::report(std::error_code failure) const noexcept {
    std::system_error const error = errorOf(failure);
    try {
        if (onError_) return onError_(error);
        std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
        std::fprintf(stderr, "%s: its error handler threw\n", output_.name().c_str());
    }
}

std::system_error TraceWriter::errorOf(std::error_code failure) const noexcept {
    try {
        return {failure, output_.name()};
    } catch (std::bad_alloc const&) {
        return outOfMemory_;
    }
}

}  // namespace timingwheel::inline v1::detail
