#pragma once

#include <timingwheel/detail/platform/Asio.h>

#include <type_traits>
#include <utility>

namespace timingwheel::inline v1 {
namespace asio::detail {

using ErrorCode = std::decay_t<decltype(std::declval<NetTypes::Wait&>().ec_)>;

/// The call of a handler, on its way to the handler's executor. A program may use both Asios with
/// handlers of one type. So what depends on Asio has `Net` in its name for the linker.
template <class Handler, class Net = NetTypes>
struct Completion {
    using allocator_type = net::associated_allocator_t<Handler>;
    allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }

    void operator()() {
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        auto slot = net::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.clear();
#endif
        std::move(handler)(error);
    }

    Handler handler;
    ErrorCode error;
};

}  // namespace asio::detail
}  // namespace timingwheel::inline v1
