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
        // As in Asio, its slot is not cleared: another thread may be emitting it, which finds that
        // the wait is over.
        std::move(handler)(error);
    }

    Handler handler;
    ErrorCode error;
};

/// Work on a handler's executor. Asio's executor_work_guard does not compile for a strand of an
/// any_io_executor, which it takes for an executor of the Networking TS.
template <class Executor, class Net = NetTypes>
class Work {
public:
    explicit Work(Executor const& executor) : guard_{executor} {}
    Executor get_executor() const noexcept { return guard_.get_executor(); }

private:
    net::executor_work_guard<Executor> guard_;
};

template <class Executor, class Net>
    requires(net::execution::is_executor<Executor>::value)
class Work<Executor, Net> {
public:
    explicit Work(Executor const& executor)
        : executor_{executor},
          tracked_{net::prefer(executor, net::execution::outstanding_work.tracked)} {}
    Executor const& get_executor() const noexcept { return executor_; }

private:
    using Tracked = net::execution::outstanding_work_t::tracked_t;

    Executor executor_;
    std::decay_t<typename net::prefer_result<Executor const&, Tracked>::type> tracked_;
};

}  // namespace asio::detail
}  // namespace timingwheel::inline v1
