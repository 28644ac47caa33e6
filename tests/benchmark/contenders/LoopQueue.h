#pragma once

#include "wheel/QueueLoads.h"
#include "wheel/VirtualTime.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace timingwheel::bench {

/// What the event loops share: they read a virtual clock, their timers are members of the user's,
/// and they call back a function without a type.
template <class Handle>
class LoopQueue {
public:
    explicit LoopQueue(Request const& request) : timers_(request.count) {}
    LoopQueue(LoopQueue const&) = delete;
    LoopQueue& operator=(LoopQueue const&) = delete;

    std::int64_t now() const { return time_.now(); }

protected:
    ~LoopQueue() = default;

    struct Timer {
        Handle handle;  // the first member: a pointer to it is one to the timer
        Payload payload{};
    };

    /// What fired() calls from now on.
    template <class Due>
    void callWhenDue(Due& due) noexcept {
        due_ = const_cast<void*>(static_cast<void const*>(&due));
        call_ = [](void* target, std::size_t i) { (*static_cast<Due*>(target))(i); };
    }
    void fired(Handle* handle) const {
        call_(due_, static_cast<std::size_t>(reinterpret_cast<Timer*>(handle) - timers_.data()));
    }

    VirtualTime time_;
    std::vector<Timer> timers_;

private:
    void* due_ = nullptr;
    void (*call_)(void*, std::size_t) = nullptr;
};

}  // namespace timingwheel::bench
