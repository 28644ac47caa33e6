#include "api/TraceWriter.h"

#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

TraceWriter::TraceWriter(TraceOutput output, TraceErrorHandler onError) noexcept
    : output_{std::move(output)}, onError_{std::move(onError)} {}

void TraceWriter::onEvent(TimerEvent const& event) noexcept {
    locked([&] {
        order_.add({event, thisThread()}, [this](TracedEvent const& traced) { take(traced); });
        output_.mayWrite();
    });
}

void TraceWriter::flush() noexcept {
    locked([&] { output_.write(); });
}

void TraceWriter::finish() noexcept {
    locked([&] {
        order_.finish([this](TracedEvent const& traced) { take(traced); });
        writeEnd();
        output_.write();
    });
}

/// A failure is told outside the lock.
template <class Write>
void TraceWriter::locked(Write&& write) noexcept {
    std::error_code failure;
    {
        std::lock_guard const lock{mutex_};
        if (output_.hasFailed()) return;
        try {
            write();
        } catch (std::bad_alloc const&) {
            output_.fail(std::make_error_code(std::errc::not_enough_memory));
        }
        failure = output_.takeFailure();
    }
    if (failure) tell(failure);
}

std::uint32_t TraceWriter::thisThread() {
    auto const number = static_cast<std::uint32_t>(threads_.size() + 1);
    auto const [at, isNew] = threads_.try_emplace(std::this_thread::get_id(), number);
    if (isNew) writeThread(number);
    return at->second;
}

void TraceWriter::take(TracedEvent const& traced) {
    std::uint64_t const entry = entries_.numberOf(traced.event);
    if (entry == 0 && traced.event.entry != nullptr) return;  // it has ended
    write(traced, entry);
}

void TraceWriter::tell(std::error_code failure) const noexcept {
    try {
        std::system_error const error{failure, output_.name()};
        if (onError_) return onError_(error);
        std::fprintf(stderr, "%s\n", error.what());
    } catch (...) {
        std::fprintf(stderr, "%s: its error handler threw\n", output_.name().c_str());
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
